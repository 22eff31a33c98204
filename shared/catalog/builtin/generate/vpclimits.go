package main

import "github.com/aws/amazon-vpc-resource-controller-k8s/pkg/aws/vpc"

// limits are the network limits of one type.
type limits struct {
	interfaces       int
	ipv4PerInterface int
	branchInterfaces int
	defaultCard      int
	// cards has the maximum of interfaces of each card, by index.
	cards      []int
	hypervisor string
	bareMetal  bool
}

func networkLimits() map[string]limits {
	all := make(map[string]limits, len(vpc.Limits))
	for name, from := range vpc.Limits {
		l := limits{
			interfaces:       from.Interface,
			ipv4PerInterface: from.IPv4PerInterface,
			defaultCard:      from.DefaultNetworkCardIndex,
			hypervisor:       from.Hypervisor,
			bareMetal:        from.IsBareMetal,
			cards:            make([]int, len(from.NetworkCards)),
		}
		// The controller puts branch interfaces on nodes with a trunk interface only, whatever
		// number stands beside.
		if from.IsTrunkingCompatible {
			l.branchInterfaces = from.BranchInterface
		}
		complete := true
		for _, card := range from.NetworkCards {
			if card.NetworkCardIndex < 0 || card.NetworkCardIndex >= int64(len(l.cards)) {
				complete = false
				break
			}
			l.cards[card.NetworkCardIndex] = int(card.MaximumNetworkInterfaces)
		}
		if complete {
			all[name] = l
		}
	}
	return all
}
