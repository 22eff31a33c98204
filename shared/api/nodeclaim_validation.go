package api

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Validate returns every problem of a node claim, each a *FieldError, joined.
func (c *NodeClaim) Validate() error {
	f := &findings{kind: NodeClaimKind, name: c.Name}
	f.validateTaints("spec", c.Spec.Taints, c.Spec.StartupTaints)
	f.validateRequirements("spec.requirements", c.Spec.Requirements, false)
	f.validateNodeClassRef("spec.nodeClassRef", c.Spec.NodeClassRef)
	f.validateGracePeriod("spec.terminationGracePeriod", c.Spec.TerminationGracePeriod)
	f.validateNillableDuration("spec.expireAfter", c.Spec.ExpireAfter)
	for _, name := range resourceNames(c.Spec.Resources.Requests) {
		if quantity := c.Spec.Resources.Requests[name]; quantity.Sign() < 0 {
			f.add(fmt.Sprintf("spec.resources.requests[%s]", name), quantity.String(), "is negative: use zero or more")
		}
	}
	return f.err()
}

func (f *findings) validateNodeClassRef(path string, ref *NodeClassReference) {
	if ref == nil {
		f.addField(path, "is missing: name the node class by group, kind and name")
		return
	}
	if ref.Group == "" {
		f.addField(path+".group", "is empty: write the class's API group, such as %s", AWSGroup)
	} else if strings.Contains(ref.Group, "/") {
		f.add(path+".group", ref.Group, "has a slash: write the API group without its version, such as %s", AWSGroup)
	}
	if ref.Kind == "" {
		f.addField(path+".kind", "is empty: write the class's kind, such as %s", EC2NodeClassKind)
	}
	if ref.Name == "" {
		f.addField(path+".name", "is empty: write the class's name")
	}
}

func (f *findings) validateGracePeriod(path string, d *metav1.Duration) {
	if d != nil && d.Duration < 0 {
		f.add(path, d.Duration.String(), "is negative: use zero or more, or none to wait for ever")
	}
}

// resourceNames returns a resource list's names in order.
func resourceNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
