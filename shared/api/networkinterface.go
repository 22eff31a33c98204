package api

// NetworkInterface is one network interface that an instance is launched with.
type NetworkInterface struct {
	// The network card that carries the interface.
	// +kubebuilder:validation:Minimum=0
	// +required
	NetworkCardIndex int32 `json:"networkCardIndex"`
	// The interface's place on its card.
	// +kubebuilder:validation:Minimum=0
	// +required
	DeviceIndex int32 `json:"deviceIndex"`
	// The type: interface has addresses, efa-only carries only Elastic Fabric Adapter traffic.
	// +required
	InterfaceType InterfaceType `json:"interfaceType"`
}

// InterfaceType is the type of a network interface.
//
// +kubebuilder:validation:Enum=interface;efa-only
type InterfaceType string

const (
	InterfaceTypeInterface InterfaceType = "interface"
	InterfaceTypeEFAOnly   InterfaceType = "efa-only"
)
