package consolidation

import (
	"strings"
)

// The planner has to see every pod that those which move count by their spread and affinity, or that counts them. In a large fleet most nodes have none of them: of these it
// sees one of each kind, so that every zone is there in which none is counted yet.

// concerned are those of the nodes, in their order, that the pods of some which leave have to do with by spread or affinity, and one of the others in each domain of each pool.
func (f *fleet) concerned(others, leaving []*node) map[*node]bool {
	asked := make([]bool, len(f.terms.selectors))
	for _, n := range leaving {
		for _, pod := range n.pods {
			for _, tie := range pod.ties {
				asked[tie] = true
			}
		}
	}
	concerned := map[*node]bool{}
	seen := map[string]bool{}
	for _, n := range others {
		if n.hasTies(asked) {
			concerned[n] = true
			continue
		}
		if !seen[n.domains] {
			seen[n.domains] = true
			concerned[n] = true
		}
	}
	return concerned
}

func (n *node) hasTies(asked []bool) bool {
	for _, tie := range n.fixedTies {
		if asked[tie] {
			return true
		}
	}
	for _, pod := range n.pods {
		for _, tie := range pod.ties {
			if asked[tie] {
				return true
			}
		}
	}
	return false
}

// domainsOf is the node's pool with its values of the labels that pods are counted by.
func (f *fleet) domainsOf(n *node) string {
	var kind strings.Builder
	if n.pool != nil {
		kind.WriteString(n.pool.api.Name)
	}
	for _, key := range f.terms.topologies {
		kind.WriteByte(0)
		kind.WriteString(n.label(key))
	}
	return kind.String()
}
