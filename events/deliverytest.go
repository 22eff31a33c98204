package events

const deliveryTestType = "Delivery Test"

// DeliveryTest is the event by which an installation finds out whether events arrive. No node is
// concerned.
type DeliveryTest struct {
	// Cluster is the cluster whose installation asks.
	Cluster string `json:"cluster"`
	// ID is the id of the test.
	ID string `json:"id"`
}

// DetailType returns the event's detail-type.
func (d *DeliveryTest) DetailType() string { return deliveryTestType }

// Instances returns nothing.
func (d *DeliveryTest) Instances() []string { return nil }

func (d *DeliveryTest) source() string { return SourceInstall }

func (d *DeliveryTest) resources(string, string) []string { return nil }

func readDeliveryTest(e envelope) (Detail, error) {
	var d DeliveryTest
	if err := readDetail(e, &d); err != nil {
		return nil, err
	}
	switch "" {
	case d.Cluster:
		return nil, missing("detail.cluster", "the name of a cluster")
	case d.ID:
		return nil, missing("detail.id", "the id of the test")
	}
	return &d, nil
}
