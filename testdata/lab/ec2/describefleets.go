package ec2

import (
	"slices"

	"github.com/whittle-dev/whittle/testdata/lab/lag"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// madeFleet is an instant fleet with the answer that its creation got.
type madeFleet struct {
	token  string
	result *createFleetResult
	shown  lag.Value[bool]
}

// describeFleets shows the fleets of the ids. EC2 shows instant fleets by their ids only.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeFleets.html
func (s *Service) describeFleets(_ *wire.Call, in *describeFleetsRequest) (any, error) {
	if len(in.Filters) > 0 || in.NextToken != "" {
		return nil, refuse(codeInvalidParameterValue, "The local EC2 shows fleets by their ids, without filters and tokens")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &describeFleetsResult{}
	v := s.view()
	for _, id := range slices.Sorted(slices.Values(in.FleetIDs)) {
		made := s.fleets[id]
		if made != nil {
			if known, _ := made.shown.Get(v.now, v.replica); !known {
				made = nil
			}
		}
		if made == nil {
			return nil, refuse("InvalidFleetId.NotFound", "The fleet ID '%s' does not exist", id)
		}
		out.Fleets.Items = append(out.Fleets.Items, made.show())
	}
	return out, nil
}

func (m *madeFleet) show() fleetXML {
	shown := fleetXML{
		FleetID: m.result.FleetID, ClientToken: m.token, Type: "instant", FleetState: "active", ActivityStatus: "fulfilled",
	}
	for _, failed := range m.result.Errors.Items {
		shown.ActivityStatus = "error"
		shown.Errors.Items = append(shown.Errors.Items, fleetFailureXML(failed))
	}
	for _, launched := range m.result.Instances.Items {
		shown.Instances.Items = append(shown.Instances.Items, fleetLaunchXML{
			TemplateAndOverrides: launched.TemplateAndOverrides, Lifecycle: launched.Lifecycle,
			InstanceIDs: launched.InstanceIDs, InstanceType: launched.InstanceType,
		})
	}
	return shown
}
