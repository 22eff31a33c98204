package disruption_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestWorkThatKeepsComingHoldsNothingUp has a pod that finds no room every few seconds, and a launch that
// is always under way. In each pass of an hour, empty nodes and nodes to replace are chosen.
func TestWorkThatKeepsComingHoldsNothingUp(t *testing.T) {
	for _, every := range []time.Duration{time.Minute, 25 * time.Second, 10 * time.Second} {
		for at := time.Duration(0); at < time.Hour; at += 20 * time.Second {
			now := monday.Add(at)
			s := &disruption.Cluster{Pools: []api.NodePool{pool("default", "30s", "100%")}, Nodes: []disruption.Node{
				node("empty", time.Hour), drifted("drifted", time.Hour, occupied), departing("departing", 5*time.Hour, occupied),
				node("joining", 0, joining),
			}}
			for born := time.Duration(0); born <= at; born += every {
				if at-born < 50*time.Second {
					pod := withUID(waitingPod(0), types.UID(fmt.Sprint(born)))
					pod.CreationTimestamp = metav1.NewTime(monday.Add(born))
					s.Waiting = append(s.Waiting, pod)
				}
			}
			if got := names(disruption.Empty(s, now).Remove); got != "empty" {
				t.Fatalf("with a pod each %s after %s the empty nodes %q go", every, at, got)
			}
			if chosen, _ := disruption.Candidates(s, now); len(chosen) != 2 {
				t.Fatalf("with a pod each %s after %s %d nodes are replaced, want 2", every, at, len(chosen))
			}
		}
	}
}

// TestPodsThatNeverComeKeepNoNode has a pod at all times that has room on an empty node, and that the
// scheduler never binds.
func TestPodsThatNeverComeKeepNoNode(t *testing.T) {
	for since := 30 * time.Second; ; since += 20 * time.Second {
		s := &disruption.Cluster{Pools: []api.NodePool{pool("default", "30s", "100%")},
			Nodes: []disruption.Node{node("a", since)}, Waiting: []*corev1.Pod{waitingPod(time.Second)}}
		s.Needed = map[string]*corev1.Pod{"a": s.Waiting[0]}
		if names(disruption.Empty(s, monday).Remove) == "a" {
			return
		}
		if since > 30*time.Second+2*time.Minute {
			t.Fatalf("the node is held %s", since)
		}
	}
}
