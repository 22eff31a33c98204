package events

const rebalanceRecommendationType = "EC2 Instance Rebalance Recommendation"

// RebalanceRecommendation announces an elevated risk that EC2 interrupts a spot instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
type RebalanceRecommendation struct {
	// InstanceID is the id of the instance.
	InstanceID string `json:"instance-id"`
}

// DetailType returns the event's detail-type.
func (d *RebalanceRecommendation) DetailType() string { return rebalanceRecommendationType }

// Instances returns the instance.
func (d *RebalanceRecommendation) Instances() []string { return []string{d.InstanceID} }

func (d *RebalanceRecommendation) source() string { return SourceEC2 }

func (d *RebalanceRecommendation) resources(account, region string) []string {
	return []string{instanceARN(account, region, d.InstanceID)}
}

func readRebalanceRecommendation(e envelope) (Detail, error) {
	var d RebalanceRecommendation
	if err := readDetail(e, &d); err != nil {
		return nil, err
	}
	if _, err := instanceID("detail.instance-id", d.InstanceID); err != nil {
		return nil, err
	}
	return &d, nil
}
