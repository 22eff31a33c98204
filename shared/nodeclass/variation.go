package nodeclass

import "github.com/whittle-dev/whittle/shared/api"

// Variation is what launches of one class and image differ in, so that each needs a launch template
// of its own. The zero value is an ordinary launch.
type Variation struct {
	// ReservationID is the capacity reservation that the instance comes from; empty launches
	// outside of reservations, open ones too.
	ReservationID string
	// ReservationType is the reservation's: default or capacity-block.
	ReservationType string
	// Interruptible tells that the reservation's owner may take the instance back.
	Interruptible bool
	// Interfaces is how many network interfaces for EFA the instance gets, one on each network
	// card. A class with spec.networkInterfaces has its own.
	Interfaces int
	// Enclaves makes the instance able to run Nitro Enclaves.
	Enclaves bool
	// Tenancy is default or dedicated; empty is default.
	Tenancy string
	// Partition is the partition of the class's placement group, counted from 1; zero leaves it to
	// EC2.
	Partition int
	// Kubelet is what the kubelet is told of its instance type, before what the class says; nil is
	// nothing.
	Kubelet *api.KubeletConfiguration
	// SpotRequest tells that a spot request is made, which then gets the tags as well: EC2 refuses
	// a tag for what a launch does not make.
	SpotRequest bool
}
