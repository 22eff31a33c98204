package membership

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Members pairs claims with their Nodes.
type Members struct {
	claims map[string]*api.NodeClaim
	nodes  map[string][]*corev1.Node
}

// Join pairs the claims with the Nodes. It keeps pointers into both.
func Join(claims []api.NodeClaim, nodes []corev1.Node) *Members {
	m := &Members{claims: map[string]*api.NodeClaim{}, nodes: map[string][]*corev1.Node{}}
	for i := range claims {
		claim := &claims[i]
		id := claim.Status.ProviderID
		// Of two claims for one instance, which only a person can have written, the first by name
		// has it.
		if other := m.claims[id]; id != "" && (other == nil || strings.Compare(claim.Name, other.Name) < 0) {
			m.claims[id] = claim
		}
	}
	for i := range nodes {
		if id := nodes[i].Spec.ProviderID; id != "" {
			m.nodes[id] = append(m.nodes[id], &nodes[i])
		}
	}
	return m
}

// Node is the claim's Node, or nil. A registered claim names it. Before that it is the only one with the
// claim's providerID, which lifecycle compares with EC2 before it registers the Node.
func (m *Members) Node(claim *api.NodeClaim) *corev1.Node {
	own, _ := m.Nodes(claim, "")
	if len(own) != 1 {
		return nil
	}
	return own[0]
}

// Nodes divides the Nodes with the claim's providerID into those that may be the claim's, and others. The
// host name is the instance's in its VPC, which EKS makes the name of its Node; empty where nobody has
// asked EC2. Without it and before the registration all of them may be. A mapping of {{SessionName}} in
// aws-auth makes the instance's id the name.
func (m *Members) Nodes(claim *api.NodeClaim, hostName string) (own, others []*corev1.Node) {
	if claim.Status.ProviderID == "" {
		return nil, nil
	}
	all := m.nodes[claim.Status.ProviderID]
	if claim.Status.NodeName == "" && hostName == "" {
		return all, nil
	}
	for _, node := range all {
		if Named(claim, hostName, node.Name) {
			own = append(own, node)
		} else {
			others = append(others, node)
		}
	}
	return own, others
}

// Named reports whether the name is that of the claim's Node: the registered one, else the instance's host
// name, which is empty where nobody knows it, or the instance's id.
func Named(claim *api.NodeClaim, hostName, name string) bool {
	if registered := claim.Status.NodeName; registered != "" {
		return name == registered
	}
	id, launched := api.InstanceID(claim.Status.ProviderID)
	return hostName != "" && name == hostName || launched && name == id
}

// Disputed are the names of the Nodes beside the claim's own that have its providerID. Nobody knows which
// kubelet brings them, so that no decision on the claim is safe.
func (m *Members) Disputed(claim *api.NodeClaim) []string {
	own, others := m.Nodes(claim, "")
	if len(own) > 1 {
		others = own
	}
	names := make([]string, len(others))
	for i, node := range others {
		names[i] = node.Name
	}
	return names
}

// Claim is the claim whose Node this is, or nil. A Node with the providerID of a claim that has another
// Node, or several, belongs to no claim: see Stranger.
func (m *Members) Claim(node *corev1.Node) *api.NodeClaim {
	if claim := m.claims[node.Spec.ProviderID]; claim != nil && m.Node(claim) == node {
		return claim
	}
	return nil
}

// Stranger is the claim whose providerID the Node has without being its Node; nil for other Nodes.
func (m *Members) Stranger(node *corev1.Node) *api.NodeClaim {
	if claim := m.claims[node.Spec.ProviderID]; claim != nil && m.Node(claim) != node {
		return claim
	}
	return nil
}

// InFlight reports whether the claim has an instance and no Node.
func (m *Members) InFlight(claim *api.NodeClaim) bool {
	id := claim.Status.ProviderID
	return id != "" && m.claims[id] == claim && m.Node(claim) == nil
}

// Is reports whether the Node is the claim's, of which the caller has read both by their names.
func Is(claim *api.NodeClaim, node *corev1.Node) bool {
	return node.Spec.ProviderID == claim.Status.ProviderID &&
		(claim.Status.NodeName == "" || claim.Status.NodeName == node.Name)
}
