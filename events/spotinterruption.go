package events

const spotInterruptionType = "EC2 Spot Instance Interruption Warning"

// Actions that EC2 takes on an interrupted instance.
const (
	ActionTerminate = "terminate"
	ActionStop      = "stop"
	// ActionHibernate starts at once, without the two minutes.
	ActionHibernate = "hibernate"
)

// SpotInterruption announces that EC2 reclaims a spot instance within two minutes.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
type SpotInterruption struct {
	// InstanceID is the id of the instance.
	InstanceID string `json:"instance-id"`
	// Action is EC2's action as in the event: ActionTerminate, ActionStop or ActionHibernate. The
	// instance is lost in each case.
	Action string `json:"instance-action"`
}

// DetailType returns the event's detail-type.
func (d *SpotInterruption) DetailType() string { return spotInterruptionType }

// Instances returns the instance.
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
	// The ARN in resources has a zone instead of the region, so only the detail counts.
	if _, err := instanceID("detail.instance-id", d.InstanceID); err != nil {
		return nil, err
	}
	return &d, nil
}
