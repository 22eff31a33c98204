package state

import "strings"

// The planner has to see every pod that the moving pods count by spread or affinity, or that counts
// them. In a large fleet most nodes have no such pod. The planner sees one of these nodes for each
// pool and topology domain, so that it knows the domains without pods.

// RelatedTo returns the nodes whose pods spread or affinity relates to the pods of the leaving
// nodes. It adds the first of the other nodes in each domain of each NodePool.
func (f *Fleet) RelatedTo(leaving, nodes []*Node) map[*Node]bool {
	wanted := make([]bool, f.relations.Selectors())
	for _, n := range leaving {
		for _, pod := range n.Pods {
			for _, selector := range pod.selectors {
				wanted[selector] = true
			}
		}
	}
	related := map[*Node]bool{}
	seen := map[string]bool{}
	for _, n := range nodes {
		if n.hasSelector(wanted) {
			related[n] = true
			continue
		}
		if !seen[n.domains] {
			seen[n.domains] = true
			related[n] = true
		}
	}
	return related
}

// hasSelector tells whether one of the wanted selectors relates a pod of the node to others.
func (n *Node) hasSelector(wanted []bool) bool {
	for _, selector := range n.fixedSelectors {
		if wanted[selector] {
			return true
		}
	}
	for _, pod := range n.Pods {
		for _, selector := range pod.selectors {
			if wanted[selector] {
				return true
			}
		}
	}
	return false
}

// domainsOf is a key of the node's NodePool and its topology domains.
func (f *Fleet) domainsOf(n *Node) string {
	var kind strings.Builder
	if n.Pool != nil {
		kind.WriteString(n.Pool.API.Name)
	}
	for _, key := range f.relations.Topologies() {
		kind.WriteByte(0)
		kind.WriteString(n.Label(key))
	}
	return kind.String()
}
