package launching

import (
	"errors"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/shared/fleet"
)

// answerOf is what package attempt decides by.
func answerOf(outcome fleet.Outcome, err error) attempt.Answer {
	answer := attempt.Answer{Earlier: outcome.Earlier}
	for _, instance := range outcome.Instances {
		answer.Instances = append(answer.Instances, attempt.Instance{
			ID: instance.ID, Type: instance.InstanceType, Zone: instance.Zone, CapacityType: instance.CapacityType,
			ReservationID: instance.ReservationID, ImageID: instance.ImageID,
		})
	}
	answer.Short = shortagesOf(outcome.Short)
	if err == nil {
		return answer
	}
	answer.Failure = &attempt.Failure{
		Message: err.Error(), Ended: errors.Is(err, fleet.ErrRefused), Unseen: errors.Is(err, fleet.ErrUnseen),
		Unfit: shortagesOf(outcome.Unfit),
	}
	if known := fleet.FailureIn(err); known != nil {
		answer.Failure.Reason, answer.Failure.Class, answer.Failure.Message = known.Reason, known.Condition, known.Error()
	}
	return answer
}

func shortagesOf(short []fleet.Shortage) []attempt.Shortage {
	var made []attempt.Shortage
	for _, shortage := range short {
		made = append(made, attempt.Shortage{
			Key: shortage.Key, For: shortage.For, Code: shortage.Code, Reason: shortage.Reason(), Advice: shortage.Advice(),
			Refused: shortage.Refused,
		})
	}
	return made
}

func countBySubnet(instances []fleet.Instance) map[string]int {
	counts := map[string]int{}
	for _, instance := range instances {
		counts[instance.SubnetID]++
	}
	return counts
}
