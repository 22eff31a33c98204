package sight_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/sight"
)

// templates reads controllers whose pods ask for 3 cpu by their template, and counts the reads.
type templates struct {
	*sight.Given
	err   error
	reads atomic.Int32
}

func (t *templates) TemplateOf(_ context.Context, kind, namespace, name string) (*cluster.Template, error) {
	t.reads.Add(1)
	if t.err != nil || kind != "ReplicaSet" || namespace != "default" || strings.HasPrefix(name, "gone") {
		return nil, t.err
	}
	made := &cluster.Template{Pod: corev1.PodTemplateSpec{Spec: waiting("").Spec}}
	made.Pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")},
	}
	return made, nil
}

// changed is a pod of the ReplicaSet that was changed since it was made.
func changed(set string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Generation = 2
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, Controller: new(true),
		}}
	}
}

func cpu(pod *corev1.Pod) string {
	requests := scheduling.PodRequests(pod)
	return requests.Cpu().String()
}

// TestAResizedPodOfALeavingNodeComesBackWithItsTemplate counts the reads, because each delays the plan.
func TestAResizedPodOfALeavingNodeComesBackWithItsTemplate(t *testing.T) {
	for name, test := range map[string]struct {
		pod   corev1.Pod
		err   error
		reads int32
		want  string
	}{
		"resized":                   {waiting("web", on("first"), changed("web")), nil, 1, "3"},
		"unchanged":                 {waiting("web", on("first")), nil, 0, "1"},
		"of a controller that went": {waiting("web", on("first"), changed("gone")), nil, 1, "1"},
		"of a controller not read":  {waiting("web", on("first"), changed("web")), errors.New("try again"), 1, "1"},
		"marked by a person": {waiting("web", on("first"), func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{"whittle.dev/comes-back-with": `{"cpu":"100"}`}
		}), nil, 0, "1"},
		"waiting, its gates removed": {waiting("web", changed("web")), nil, 0, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			from := &templates{Given: given(test.pod), err: test.err}
			leaving := metav1.NewTime(now)
			from.Known.NodeClaims[0].DeletionTimestamp = &leaving
			stays, claim := node("stays")
			from.Known.Nodes, from.Known.NodeClaims = append(from.Known.Nodes, stays), append(from.Known.NodeClaims, claim)
			from.Known.Pods = append(from.Known.Pods, waiting("other", on("stays"), changed("other")))
			view, err := sight.Read(t.Context(), from, trial(), now)
			if err != nil || view.Incomplete != nil {
				t.Fatal(err, view.Incomplete)
			}
			if got := from.reads.Load(); got != test.reads {
				t.Errorf("%d reads, want %d", got, test.reads)
			}
			if len(view.Snapshot.Pods) != 1 || cpu(&view.Snapshot.Pods[0]) != test.want {
				t.Errorf("the plan is for %+v", view.Snapshot.Pods)
			}
		})
	}
}

// TestTemplatesOfPodsThatMayMove has pods of more controllers than one plan reads.
func TestTemplatesOfPodsThatMayMove(t *testing.T) {
	const most, sets = 500, 502
	var pods []corev1.Pod
	for i := range sets {
		set := fmt.Sprintf("set-%03d", i)
		pods = append(pods, waiting(set+"-a", on("first"), changed(set)), waiting(set+"-b", on("first"), changed(set)))
	}
	from := &templates{Given: given(append(pods, waiting("theirs", on("theirs"), changed("theirs")))...)}
	theirs, _ := node("theirs")
	from.Known.Nodes = append(from.Known.Nodes, theirs)
	fleet, err := sight.ReadFleet(t.Context(), from, trial(), now)
	if err != nil {
		t.Fatal(err)
	}
	var last *corev1.Pod
	for range 2 {
		made, err := fleet.Without(t.Context(), []*api.NodeClaim{fleet.Seen.Nodes[0].Claim}, now)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for i := range made.Pods {
			count[cpu(&made.Pods[i])]++
		}
		if count["3"] != 2*most || count["1"] != 2*(sets-most) {
			t.Errorf("pods by cpu: %v", count)
		}
		for i := range made.Nodes {
			for j := range made.Nodes[i].Pods {
				pod := &made.Nodes[i].Pods[j]
				if got := cpu(pod); got != "1" {
					t.Fatalf("%s takes %s of its node", pod.Name, got)
				}
				last = pod
				unread := pod.Name >= fmt.Sprintf("set-%03d", most) && pod.Name != "theirs"
				if why := scheduling.UnreadTemplate(pod); (why != "") != unread {
					t.Fatalf("%s is unread because of %q", pod.Name, why)
				}
			}
		}
	}
	if got := from.reads.Load(); got != most || last == nil {
		t.Errorf("%d reads, want %d", got, most)
	}
}
