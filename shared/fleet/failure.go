package fleet

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// Failure is a launch that EC2 refused for a reason other than a lack of capacity.
type Failure struct {
	// Reason is Karpenter's reason for the condition Launched of the NodeClaim.
	Reason string
	// Code and Message are EC2's.
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
	Code, Message string
	// Remedy names the wrong field, the missing right or the quota, and what a person does. It is
	// empty where the failure passes without a person.
	Remedy string
	// Condition is the condition of the EC2NodeClass that the failure contradicts. It is empty
	// where the failure is not about the class.
	Condition string
}

// Error returns EC2's code and message, and the remedy.
func (f *Failure) Error() string {
	text := f.Code + ": " + f.Message
	if f.Remedy != "" {
		text += " (" + f.Remedy + ")"
	}
	return text
}

// KnownFailures returns the failures with a reason of their own, without codes and messages, for
// the table of event reasons.
func KnownFailures() []Failure {
	var known []Failure
	for _, row := range answers() {
		failure := Failure{Reason: row.reason, Remedy: row.remedy, Condition: row.condition}
		if row.remedy != "" && row.reason != api.ReasonLaunchFailed && !slices.Contains(known, failure) {
			known = append(known, failure)
		}
	}
	return known
}

// failureOf classifies EC2's code and message. An unknown failure has the reason LaunchFailed. Its
// claim is tried again less and less often, and an offering that is refused twice is left out.
func failureOf(code, message string) *Failure {
	failure := &Failure{Reason: api.ReasonLaunchFailed, Code: code, Message: message}
	switch row, known := answerTo(code, message); {
	case known && row.reason != "":
		failure.Reason, failure.Remedy, failure.Condition = row.reason, row.remedy, row.condition
	case isThrottling(code):
		failure.Reason = "RequestLimitExceeded"
	case isPassingCode(code):
		failure.Reason = api.EventReasonInternalError
	}
	return failure
}

// Advice returns the remedy of a shortage that does not pass without a person, or an empty text.
// Several offerings that EC2 refuses for one reason have one advice: that of the first has a message.
func (s Shortage) Advice() string {
	row, _ := answerTo(s.Code, s.Message)
	switch {
	case row.remedy == "" || s.Refused && s.Message == "":
		return ""
	case !s.Refused:
		return row.remedy
	case row.reason == unauthorized:
		return s.Message + " (" + row.remedy + ". Or leave the type out of the NodePool's requirements)"
	}
	return s.Message + " (" + row.remedy + ")"
}

// Reason returns Karpenter's reason for a shortage that does not pass without a person, else
// InsufficientCapacityError.
func (s Shortage) Reason() string {
	if s.Advice() == "" {
		return "InsufficientCapacityError"
	}
	return failureOf(s.Code, s.Message).Reason
}
