package events

const spotInterruptionType = "EC2 Spot Instance Interruption Warning"

// Actions that EC2 takes on an interrupted instance.
const (
	ActionTerminate = "terminate"
	ActionStop      = "stop"
	// ActionHibernate begins at once, without the two minutes.
	ActionHibernate = "hibernate"
)

// SpotInterruption says that EC2 is about to take a spot instance back, in two minutes
// or sooner.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
type SpotInterruption struct {
	// InstanceID is the instance.
	InstanceID string `json:"instance-id"`
	// Action is what EC2 will do: ActionTerminate, ActionStop or ActionHibernate. It is
	// as the event has it, since the instance is lost whatever it says.
	Action string `json:"instance-action"`
}

// DetailType is the event's detail-type.
func (d *SpotInterruption) DetailType() string { return spotInterruptionType }

// Instances is the one instance.
func (d *SpotInterruption) Instances() []string { return []string{d.InstanceID} }

func (d *SpotInterruption) source() string { return SourceEC2 }

func (d *SpotInterruption) resources(account, region string) []string {
	return []string{instanceARN(account, region, d.InstanceID)}
}

func readSpotInterruption(e envelope) (Detail, error) {
	var d SpotInterruption
	if err := readDetail(e, &d); err != nil {
		return nil, err
	}
	// The ARN in resources has a zone in the place of the region: only the detail counts.
	if _, err := instanceID("detail.instance-id", d.InstanceID); err != nil {
		return nil, err
	}
	return &d, nil
}
