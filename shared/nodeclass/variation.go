package nodeclass

import "github.com/whittle-dev/whittle/shared/api"

// Variation holds the differences between launches of one class and image. Each variation needs its
// own launch template. The zero value is an ordinary launch.
type Variation struct {
	// ReservationID is the capacity reservation of the instance. Empty launches outside
	// reservations, including open ones.
	ReservationID string
	// ReservationType is default or capacity-block.
	ReservationType string
	// Interruptible is true where the reservation's owner may reclaim the instance.
	Interruptible bool
	// Interfaces is the number of EFA interfaces of the instance, one on each network card. A class
	// with spec.networkInterfaces overrides it.
	Interfaces int
	// Enclaves enables Nitro Enclaves. So does the class.
	Enclaves bool
	// Tenancy is default or dedicated; empty is default.
	Tenancy string
	// Partition is the partition of the class's placement group, counted from 1; zero leaves it to
	// EC2.
	Partition int
	// Kubelet holds the kubelet settings for the instance type. The class overrides them. Nil is
	// none.
	Kubelet *api.KubeletConfiguration
	// SpotRequest is true where the launch makes a spot request, which then gets the tags. EC2
	// refuses tags for resources that a launch does not make.
	SpotRequest bool
}
