package signal

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Object is what the watch reads of an object of any kind. Absent parts are empty.
type Object struct {
	Metadata Metadata `json:"metadata"`
	Spec     Spec     `json:"spec"`
	Status   Status   `json:"status"`
}

// Metadata is a part of an object's metadata.
type Metadata struct {
	Name              string            `json:"name"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	Generation        int64             `json:"generation"`
	DeletionTimestamp string            `json:"deletionTimestamp"` // empty unless the object is being deleted
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
}

// Spec is a part of a Node's spec.
type Spec struct {
	ProviderID string  `json:"providerID"`
	Taints     []Taint `json:"taints"`
}

// Taint is a part of a Node's taint.
type Taint struct {
	Key    string `json:"key"`
	Effect string `json:"effect"`
}

// Status is a part of the status of a Node, NodeClaim, NodePool or EC2NodeClass.
type Status struct {
	Conditions  []Condition       `json:"conditions"`
	Allocatable map[string]string `json:"allocatable"` // of a Node, by resource
}

// Condition is a condition's type and its status: True, False or Unknown.
type Condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

// Version is the object's resourceVersion.
func (o Object) Version() string { return o.Metadata.ResourceVersion }

func (o *Object) isDeleted() bool { return o.Metadata.DeletionTimestamp != "" }

// isTrue reports whether the condition of that type is True.
func (o *Object) isTrue(kind string) bool { return o.condition(kind) == "True" }

// condition is the status of the condition of that type, or empty.
func (o *Object) condition(kind string) string {
	for _, condition := range o.Status.Conditions {
		if condition.Type == kind {
			return condition.Status
		}
	}
	return ""
}

// taints are a Node's taints in an order that the list's order does not change.
func (o *Object) taints() []Taint {
	return slices.SortedFunc(slices.Values(o.Spec.Taints), func(a, b Taint) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Effect, b.Effect))
	})
}

// isOurs reports whether a Node was launched for a NodeClaim. A node that has just joined has the
// unregistered taint, and any later one a label. Nodes of others stay for months without Karpenter's
// labels, and change all the time.
func (o *Object) isOurs() bool {
	for _, taint := range o.Spec.Taints {
		if taint.Key == api.UnregisteredTaintKey {
			return true
		}
	}
	return o.Metadata.Labels[api.NodePoolLabelKey] != "" || o.Metadata.Labels[api.NodeRegisteredLabelKey] != ""
}

// isByHand reports whether a person created the NodeClaim. Whittle and Karpenter write the hash of
// the NodePool on theirs.
func (o *Object) isByHand() bool { return o.Metadata.Annotations[api.NodePoolHashAnnotationKey] == "" }

// isReplacement reports whether the NodeClaim replaces others.
func (o *Object) isReplacement() bool {
	return strings.TrimSpace(o.Metadata.Annotations[api.ReplacesAnnotationKey]) != ""
}
