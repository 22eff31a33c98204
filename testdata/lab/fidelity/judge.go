package fidelity

// Claim is a NodeClaim of a burst.
type Claim struct {
	Name string
	Node string // of the Node, empty before it has joined
	// Pods are the UIDs of the pods that it was planned for.
	Pods []string
	// Price is in dollars an hour.
	Price float64
	// Second is set for a claim that was created after a pod of the burst was bound, and after all pods
	// had been planned. The first plan did not have it.
	Second bool
}

// Result is what became of one burst, or of several.
type Result struct {
	Bursts, Pods int
	// AsPlanned counts the bursts whose pods all run on nodes of the first plan, and Relaunched those
	// with a second launch.
	AsPlanned, Relaunched int
	// Nodes are those of first plans, and SecondLaunches the others.
	Nodes, SecondLaunches int
	// OnTheirNode counts the pods that run on the very node that they were planned for.
	OnTheirNode int
	// Unplaced counts the pods without a node.
	Unplaced int
	// Refused counts the pods that a kubelet did not admit, by its reason.
	Refused map[string]int
	// Preempted counts the pods that the scheduler deleted for others.
	Preempted int
	// Planned is the price of the first plans' nodes, and Paid that of all nodes, in dollars an hour.
	Planned, Paid float64
}

// Judge scores one burst. nodes has the node of each pod by its UID, empty for none.
func Judge(claims []Claim, nodes map[string]string) Result {
	result := Result{Bursts: 1, Pods: len(nodes)}
	first, planned := map[string]bool{}, map[string]string{}
	for _, claim := range claims {
		result.Paid += claim.Price
		if claim.Second {
			result.SecondLaunches++
			continue
		}
		result.Nodes++
		result.Planned += claim.Price
		if claim.Node == "" {
			continue
		}
		first[claim.Node] = true
		for _, uid := range claim.Pods {
			planned[uid] = claim.Node
		}
	}
	strayed := 0
	for uid, node := range nodes {
		switch {
		case node == "":
			result.Unplaced++
		case !first[node]:
			strayed++
		case planned[uid] == node:
			result.OnTheirNode++
		}
	}
	if result.Unplaced+strayed == 0 {
		result.AsPlanned = 1
	}
	if result.SecondLaunches > 0 {
		result.Relaunched = 1
	}
	return result
}

// Add adds another result.
func (r *Result) Add(other Result) {
	r.Bursts, r.Pods = r.Bursts+other.Bursts, r.Pods+other.Pods
	r.AsPlanned, r.Relaunched = r.AsPlanned+other.AsPlanned, r.Relaunched+other.Relaunched
	r.Nodes, r.SecondLaunches = r.Nodes+other.Nodes, r.SecondLaunches+other.SecondLaunches
	r.OnTheirNode, r.Unplaced = r.OnTheirNode+other.OnTheirNode, r.Unplaced+other.Unplaced
	r.Preempted += other.Preempted
	for reason, count := range other.Refused {
		if r.Refused == nil {
			r.Refused = map[string]int{}
		}
		r.Refused[reason] += count
	}
	r.Planned, r.Paid = r.Planned+other.Planned, r.Paid+other.Paid
}
