package catalog

// Settings are facts about the cluster's nodes that EC2 does not give. They are part of the
// Catalog, so that every planner uses the same.
type Settings struct {
	// ReservedENIs is the number of network interfaces of each node that are not for pods. It is 1
	// with the VPC CNI's custom networking, whose first interface has no pod addresses. Karpenter
	// calls it RESERVED_ENIS.
	ReservedENIs int `json:"reservedENIs,omitempty"`
	// VMMemoryOverheadPercent is the fraction of the advertised memory that hypervisor and kernel
	// keep from Linux. Nil means DefaultVMMemoryOverheadPercent. The observed memory of a node
	// replaces the estimate. Karpenter calls it VM_MEMORY_OVERHEAD_PERCENT.
	VMMemoryOverheadPercent *float64 `json:"vmMemoryOverheadPercent,omitempty"`
}

// DefaultVMMemoryOverheadPercent is Karpenter's default: 7.5%.
const DefaultVMMemoryOverheadPercent = 0.075

func (s Settings) memoryOverhead() float64 {
	if s.VMMemoryOverheadPercent == nil {
		return DefaultVMMemoryOverheadPercent
	}
	return *s.VMMemoryOverheadPercent
}
