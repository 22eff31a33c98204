package world_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// zonalShift shifts the cluster away from the zone us-east-1a. Pods that may run elsewhere do. A pod
// of the zone waits, and an empty node there stays, until the shift is cancelled. The local EKS does
// not cordon the zone's nodes, so that pod is too large for those.
func zonalShift(t *testing.T, w *world.World, setup scenario.Setup) {
	const zone, id = "us-east-1a", "use1-az1"
	if err := setup.Client.Apply(t.Context(), manifest(setup, "zonalshift.yaml"), nil); err != nil {
		t.Fatal(err)
	}
	scale := func(name string, replicas int) {
		t.Helper()
		if err := setup.Client.Scale(t.Context(), "default", name, replicas); err != nil {
			t.Fatal(err)
		}
	}
	scale("bound", 2)
	wait(t, "the first pods of the zone to run", setup.Client.Running("default", "app=bound", 2))
	wait(t, "their nodes to be initialized", initialized(setup))
	shift, err := w.ARC.Start("arn:aws:eks:"+world.Region+":"+world.AccountID+":cluster/"+setup.Name, id, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	// A function believes ARC's last answer for five seconds.
	time.Sleep(6 * time.Second)
	tickLifecycle(t, w, setup)
	scale("late", 1)
	scale("free", 3)
	wait(t, "the free pods to run", setup.Client.Running("default", "app=free", 3))
	wait(t, "the shift to be announced", announced(setup, "ZonalShiftActive", id))
	scale("bound", 1)
	// An empty node goes after less than half of this time.
	time.Sleep(30 * time.Second)
	if in := nodesIn(t, setup, zone); len(in) != 2 {
		t.Errorf("the shifted zone has the nodes %v, want the two from before", in)
	}
	if pods, err := setup.Client.Pods(t.Context(), "default", "app=late"); err != nil || len(pods) != 1 ||
		pods[0].Spec.NodeName != "" {
		t.Errorf("the pods of the shifted zone are %v, %v", pods, err)
	}
	if err := w.ARC.Cancel(shift); err != nil {
		t.Fatal(err)
	}
	wait(t, "the pod of the zone to run", setup.Client.Running("default", "app=late", 1))
	wait(t, "the end to be announced", announced(setup, "ZonalShiftCleared", id))
	for _, name := range []string{"bound", "late", "free"} {
		scale(name, 0)
	}
	wait(t, "the cluster to be empty", empty(setup))
}

// nodesIn returns the names of the nodes in the zone.
func nodesIn(t *testing.T, setup scenario.Setup, zone string) []string {
	t.Helper()
	nodes, err := setup.Client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range nodes {
		if nodes[i].Labels[corev1.LabelTopologyZone] == zone {
			names = append(names, nodes[i].Name)
		}
	}
	return names
}

// announced reports whether a NodePool has an event of the reason that names the zone.
func announced(setup scenario.Setup, reason, zone string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		events, err := setup.Client.Core.CoreV1().Events("default").List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.kind=NodePool,reason=" + reason,
		})
		if err != nil {
			return false, "", err
		}
		return slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
			return strings.Contains(event.Message, zone)
		}), fmt.Sprintf("%d events", len(events.Items)), nil
	}
}
