package catalog

// Settings are what a person knows of the cluster's nodes and EC2 does not tell. They lie in the Snapshot, so that whoever plans plans by the same.
type Settings struct {
	// ReservedENIs is how many network interfaces of each node are not for pods: one with the VPC CNI's custom networking, whose first interface
	// carries no pod's address (Karpenter's RESERVED_ENIS).
	ReservedENIs int `json:"reservedENIs,omitempty"`
	// VMMemoryOverheadPercent is, as a fraction, the part of the memory an instance is sold with that the hypervisor and the operating system's kernel
	// keep from Linux' MemTotal (Karpenter's VM_MEMORY_OVERHEAD_PERCENT); nil is DefaultVMMemoryOverheadPercent. Where a node has been seen, its
	// real memory counts instead.
	VMMemoryOverheadPercent *float64 `json:"vmMemoryOverheadPercent,omitempty"`
}

// DefaultVMMemoryOverheadPercent is Karpenter's default: 7.5 %.
const DefaultVMMemoryOverheadPercent = 0.075

func (s Settings) memoryOverhead() float64 {
	if s.VMMemoryOverheadPercent == nil {
		return DefaultVMMemoryOverheadPercent
	}
	return *s.VMMemoryOverheadPercent
}
