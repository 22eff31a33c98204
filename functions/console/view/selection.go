package view

import (
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/membership"
)

// Selection is the part of a cluster that somebody asks about.
type Selection struct {
	// Namespace is that of the pending pods; empty for all.
	Namespace string
	// Nodes selects nodes by their labels, and launching ones by those of their claims; nil for all.
	Nodes labels.Selector
}

// Of returns the objects with the selected ones alone. Pods stay on the nodes that stay.
func (s Selection) Of(all *Cluster) *Cluster {
	some := *all
	some.whole = all
	if s.Namespace != "" {
		some.Pods = slices.DeleteFunc(slices.Clone(all.Pods), func(pod corev1.Pod) bool {
			return pod.Spec.NodeName == "" && pod.Namespace != s.Namespace
		})
	}
	if s.Nodes == nil {
		return &some
	}
	members := membership.Join(all.NodeClaims, all.Nodes)
	some.Nodes = slices.DeleteFunc(slices.Clone(all.Nodes), func(node corev1.Node) bool {
		return !s.Nodes.Matches(labels.Set(node.Labels))
	})
	some.NodeClaims = slices.DeleteFunc(slices.Clone(all.NodeClaims), func(claim api.NodeClaim) bool {
		set := claim.Labels
		if node := members.Node(&claim); node != nil {
			set = node.Labels
		}
		return !s.Nodes.Matches(labels.Set(set))
	})
	return &some
}

// WriteNames writes the names of the nodes as kubectl takes them, and those of claims without a node.
func (v *View) WriteNames(out io.Writer) error {
	for _, node := range v.byImportance() {
		name := "node/" + node.Name
		if node.Name == "" {
			name = "nodeclaim/" + node.NodeClaim
		}
		if _, err := fmt.Fprintln(out, name); err != nil {
			return fmt.Errorf("writing the names: %w", err)
		}
	}
	return nil
}
