package snapshot_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

func TestOwnNominationsAreForgotten(t *testing.T) {
	nominated := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "web"}}
	nominated.Status.NominatedNodeName = "n"
	nominated.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	joined := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: "i-1"}}
	listing := func(uids string) api.NodeClaim {
		claim := api.NodeClaim{Status: api.NodeClaimStatus{ProviderID: "i-1"}}
		claim.Annotations = map[string]string{api.NominatedPodsAnnotationKey: uids}
		return claim
	}
	ends := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	leavingNode := func(o *snapshot.Objects) { o.Nodes[0].DeletionTimestamp = &ends }
	leavingClaim := func(o *snapshot.Objects) { o.NodeClaims[0].DeletionTimestamp = &ends }
	bound := func(o *snapshot.Objects) { o.Pods[0].Spec.NodeName = "n" }
	inManifest := func(o *snapshot.Objects) { o.Pods[0].UID = "" }
	for name, test := range map[string]struct {
		nodes   []corev1.Node
		claims  []api.NodeClaim
		pending bool
		change  func(*snapshot.Objects)
	}{
		"the claim of the node lists the pod": {[]corev1.Node{joined}, []api.NodeClaim{listing("other,web")}, true, nil},
		"the claim lists others":              {[]corev1.Node{joined}, []api.NodeClaim{listing("other")}, false, nil},
		"the node has no claim":               {[]corev1.Node{joined}, nil, false, nil},
		"the node has gone":                   {nil, []api.NodeClaim{listing("web")}, true, nil},
		"the node is leaving":                 {[]corev1.Node{joined}, nil, true, leavingNode},
		"the claim is leaving":                {[]corev1.Node{joined}, []api.NodeClaim{listing("")}, true, leavingClaim},
		"the pod is bound":                    {[]corev1.Node{joined}, nil, false, bound},
		"the pod is in no cluster yet":        {[]corev1.Node{joined}, []api.NodeClaim{listing("")}, false, inManifest},
	} {
		t.Run(name, func(t *testing.T) {
			o := &snapshot.Objects{
				Pods: []corev1.Pod{nominated}, Nodes: slices.Clone(test.nodes), NodeClaims: test.claims,
			}
			if test.change != nil {
				test.change(o)
			}
			o.ForgetOwnNominations()
			s := snapshot.Assemble(o, nil, nil, ends.Time)
			if pending := len(s.Pods) == 1; pending != test.pending {
				t.Errorf("pending is %t", pending)
			}
			if forgotten := o.Pods[0].Status.NominatedNodeName == ""; forgotten != test.pending {
				t.Errorf("forgotten is %t", forgotten)
			}
		})
	}
}
