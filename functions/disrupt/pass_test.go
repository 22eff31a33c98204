package disrupt

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/sight"
)

// filled says that a pod has come to every node.
type filled struct{ kubernetes }

func (filled) PodsOnNode(context.Context, string, string) ([]corev1.Pod, error) {
	return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "late"}}}, nil
}

// emptyFor is a cluster with one node that has been empty for the time, in a pool with a
// consolidateAfter of a minute.
func emptyFor(now time.Time, been time.Duration) *disruption.Cluster {
	minute := time.Minute
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption.ConsolidateAfter.Duration = &minute
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{api.NodePoolLabelKey: "default"},
		Annotations: map[string]string{disruption.EmptySinceAnnotationKey: now.Add(-been).UTC().Format(time.RFC3339)},
	}}
	claim.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeInitialized, Status: metav1.ConditionTrue}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{api.NodeInitializedLabelKey: "true"},
	}}
	return &disruption.Cluster{
		Pools: []api.NodePool{pool}, Nodes: []disruption.Node{{Claim: claim, Node: node}},
	}
}

// A pass is due again at the earliest of the times that its stages ask for. Here a stage has asked
// for restart, the time at which a restarted Deployment is looked at.
func TestEmptyNodesKeepTheTimeOfAPendingRestart(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	restart := now.Add(10 * time.Second)
	for _, test := range []struct {
		name    string
		cluster *disruption.Cluster
		want    time.Time
	}{
		{"without empty nodes", &disruption.Cluster{}, restart},
		{"with a node that is due later", emptyFor(now, 20*time.Second), restart},
		{"with a node that is due earlier", emptyFor(now, 55*time.Second), now.Add(5 * time.Second)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &pass{performer: performer{now: func() time.Time { return now }, again: restart}}
			p.fleet = &sight.Fleet{Seen: test.cluster}
			if err := p.removeEmpty(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !p.again.Equal(test.want) {
				t.Errorf("the next pass is due at %s, want %s", p.again, test.want)
			}
		})
	}
}

func TestAPodThatComesToAnEmptyNodeKeepsAnEarlierTime(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name        string
		again, want time.Time
	}{
		{"nothing is due", time.Time{}, now.Add(disruption.EmptyAfter)},
		{"a restart is due earlier", now.Add(time.Second), now.Add(time.Second)},
		{"a restart is due later", now.Add(10 * time.Second), now.Add(disruption.EmptyAfter)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &performer{client: filled{}, now: func() time.Time { return now }, again: test.again}
			node := &disruption.Node{Claim: &api.NodeClaim{}, Node: &corev1.Node{}}
			if err := p.do(t.Context(), decide.Task{Node: node, Steps: []decide.Step{decide.RequireEmpty{}}}); err != nil {
				t.Fatal(err)
			}
			if !p.again.Equal(test.want) {
				t.Errorf("the next pass is due at %s, want %s", p.again, test.want)
			}
		})
	}
}
