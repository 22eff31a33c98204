package launch

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// Addresses are the free addresses of subnets at one time, and those that launches since then may
// take. It is not safe for concurrent use.
type Addresses struct {
	// Free are the free addresses by the subnet's id. A subnet without an entry was not read.
	Free map[string]int
	// Taken are the addresses that launches since then may take, by the subnet's id.
	Taken map[string]int
}

// Reserve counts the addresses that the request's nodes may take, in each of its subnets. Only the
// answer shows which subnets the nodes are in.
func (a *Addresses) Reserve(request *Request) {
	if a.Taken == nil {
		a.Taken = map[string]int{}
	}
	for subnet := range subnetsOf(request) {
		a.Taken[subnet] += request.Count * request.PodsPerNode
	}
}

// Settle takes back the count of Reserve, except for the nodes that were launched. launched counts
// them by the subnet's id.
func (a *Addresses) Settle(request *Request, launched map[string]int) {
	for subnet := range subnetsOf(request) {
		a.Taken[subnet] -= (request.Count - launched[subnet]) * request.PodsPerNode
	}
}

func subnetsOf(request *Request) map[string]bool {
	subnets := map[string]bool{}
	for _, override := range request.Overrides() {
		subnets[override.SubnetID] = true
	}
	return subnets
}

// left is how many addresses the subnet has beside those that launches may take. It returns false
// where that is not known.
func (a *Addresses) left(subnet string) (int, bool) {
	if a == nil {
		return 0, false
	}
	free, known := a.Free[subnet]
	return free - a.Taken[subnet], known
}

// HasChoice returns whether a zone of the class has more than one subnet. Only then do their free
// addresses matter.
func HasChoice(class *api.EC2NodeClass) bool {
	zones := map[string]bool{}
	for _, subnet := range class.Status.Subnets {
		if zones[subnet.Zone] {
			return true
		}
		zones[subnet.Zone] = true
	}
	return false
}

// SubnetsWithChoice are the subnets of the classes that have more than one subnet in a zone.
func SubnetsWithChoice(classes []api.EC2NodeClass) []string {
	var subnets []string
	for i := range classes {
		if !HasChoice(&classes[i]) {
			continue
		}
		for _, subnet := range classes[i].Status.Subnets {
			subnets = append(subnets, subnet.ID)
		}
	}
	return subnets
}

// Has returns whether the free addresses of all the subnets are known.
func (a *Addresses) Has(subnets []string) bool {
	for _, subnet := range subnets {
		if _, known := a.Free[subnet]; !known {
			return false
		}
	}
	return true
}

// subnets are the subnets with most addresses left, by zone. They leave out subnets that EC2 was
// short of addresses in. The class's status has the subnets in the order of their free addresses
// when it was resolved. That order decides where nothing newer is known.
func (in *Input) subnets() map[string]string {
	var usable []api.Subnet
	for _, subnet := range in.Class.Status.Subnets {
		if !in.Unavailable.HasSubnet(subnet.ID, in.Now) {
			usable = append(usable, subnet)
		}
	}
	slices.SortStableFunc(usable, func(a, b api.Subnet) int {
		inA, knownA := in.Addresses.left(a.ID)
		inB, knownB := in.Addresses.left(b.ID)
		if !knownA || !knownB {
			return 0
		}
		return cmp.Compare(inB, inA)
	})
	byZone := map[string]string{}
	for _, subnet := range usable {
		if _, has := byZone[subnet.Zone]; !has {
			byZone[subnet.Zone] = subnet.ID
		}
	}
	return byZone
}
