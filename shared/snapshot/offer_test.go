package snapshot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func class(name string, conditions ...metav1.Condition) api.EC2NodeClass {
	return api.EC2NodeClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: api.EC2NodeClassStatus{Conditions: conditions},
	}
}

func poolOf(name, class string) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: class,
	}
	return pool
}

func TestAPanicOverAClassStopsNoOther(t *testing.T) {
	ready := metav1.Condition{Type: api.ConditionReady, Status: metav1.ConditionTrue}
	objects := &snapshot.Objects{
		NodeClasses: []api.EC2NodeClass{class("broken", ready), class("waiting")},
		NodePools:   []api.NodePool{poolOf("a", "broken"), poolOf("b", "waiting")},
	}
	// Without a catalogue the types of a ready class cannot be resolved.
	offer := snapshot.NewOffer(objects, nil, catalog.Observed{}, noon)
	if len(offer.Unusable) != 2 {
		t.Fatalf("unusable %+v, want both pools", offer.Unusable)
	}
	for i, part := range []string{"a defect in Whittle", "is not ready"} {
		unusable := offer.Unusable[i]
		if unusable.Reason != api.ReasonNodeClassNotReady || !strings.Contains(unusable.Message, part) {
			t.Errorf("pool %s: %s: %s, want %q", unusable.Pool.Name, unusable.Reason, unusable.Message, part)
		}
	}
}

func TestPlansNameThePoolsThatGetNoNodes(t *testing.T) {
	objects := &snapshot.Objects{
		NodeClasses: []api.EC2NodeClass{class("default", metav1.Condition{
			Type: api.ConditionTypeSubnetsReady, Status: metav1.ConditionFalse, Message: "no subnet: check the tags",
		})},
		NodePools: []api.NodePool{poolOf("a", "default"), poolOf("b", "missing"), poolOf("c", "default")},
	}
	objects.NodePools[2].DeletionTimestamp = &metav1.Time{Time: noon}
	objects.Pods = append(objects.Pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	offer := snapshot.NewOffer(objects, &catalog.Catalog{}, catalog.Observed{}, noon)
	decided := planner.Solve(offer.Assemble(objects, noon))
	if len(decided.Unplaced) != 1 {
		t.Fatalf("unplaced %+v", decided.Unplaced)
	}
	var got []string
	for _, reason := range decided.Unplaced[0].Reasons {
		got = append(got, reason.String())
	}
	want := []string{
		`nodepool "a": EC2NodeClass "default" is not ready: SubnetsReady: no subnet: check the tags`,
		`nodepool "b": spec.template.spec.nodeClassRef names the EC2NodeClass "missing", which does not exist: ` +
			`create it, or name one that does`,
		`nodepool "c": it is being deleted`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("reasons\n%q, want\n%q", got, want)
	}
}
