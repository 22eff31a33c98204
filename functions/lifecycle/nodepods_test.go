package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
)

// counted is a cluster that counts the reads of pods. Each node has one.
type counted struct {
	kubernetes
	nodes int
	reads []string
}

func (c *counted) pod(node string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "on-" + node}}
	pod.Spec.NodeName = node
	return pod
}

func (c *counted) Pods(context.Context) ([]corev1.Pod, error) {
	c.reads = append(c.reads, "all")
	pods := []corev1.Pod{c.pod("")}
	for i := range c.nodes {
		pods = append(pods, c.pod(fmt.Sprint("node-", i)))
	}
	return pods, nil
}

func (c *counted) PodsVersion(context.Context) (string, error) {
	c.reads = append(c.reads, "version")
	return "7", nil
}

func (c *counted) PodsOnNode(_ context.Context, node, version string) ([]corev1.Pod, error) {
	c.reads = append(c.reads, "node@"+version)
	return []corev1.Pod{c.pod(node)}, nil
}

// TestOneListServesTheNodesOfAPass reads the pods of some nodes of a cluster.
func TestOneListServesTheNodesOfAPass(t *testing.T) {
	for _, test := range []struct {
		nodes, all int
		want       string
	}{
		{1, 1, "node@"},
		{1, 5000, "node@"},
		{2, 12, "all"},
		{24, 25, "all"},
		{50, mostListed, "all"},
		{3, 17, "version node@7 node@7 node@7"},
		{3, 5000, "version node@7 node@7 node@7"},
		{3, 4, "all"},
		{0, 4, ""},
	} {
		client := &counted{nodes: test.all}
		pods := newNodePods(client, time.Now, test.nodes, test.all)
		for i := range test.nodes {
			node := fmt.Sprint("node-", i)
			found, _, err := pods.on(t.Context(), node)
			if err != nil || len(found) != 1 || found[0].Name != "on-"+node {
				t.Errorf("%d of %d: on %s are %v, error %v", test.nodes, test.all, node, found, err)
			}
		}
		if got := strings.Join(client.reads, " "); got != test.want {
			t.Errorf("%d of %d: read %q, want %q", test.nodes, test.all, got, test.want)
		}
	}
}

// TestManyNodesOfALargeClusterAreReadOneByOne bounds the pods in memory.
func TestManyNodesOfALargeClusterAreReadOneByOne(t *testing.T) {
	client := &counted{}
	pods := newNodePods(client, time.Now, mostListed+1, mostListed+1)
	_, _, err := pods.on(t.Context(), "node-1")
	if err != nil || !slices.Equal(client.reads, []string{"version", "node@7"}) {
		t.Errorf("read %v, error %v", client.reads, err)
	}
}

// TestAPodThatComesAfterTheListKeepsItsNode has a pass that comes to a node long after it has listed the
// pods. The node was marked less than minimumDrain before the list, so that a pod may have come since.
func TestAPodThatComesAfterTheListKeepsItsNode(t *testing.T) {
	began := time.Now()
	for name, test := range map[string]struct {
		marked time.Duration // before the list
		ends   bool
	}{"marked just before": {time.Second, false}, "marked long before": {time.Minute, true}} {
		t.Run(name, func(t *testing.T) {
			clock := began
			var views []nodeclaim.View
			for i := range 2 {
				view := leavingView(began)
				view.Claim.Name, view.Nodes[0].Name = fmt.Sprint("c-", i), fmt.Sprint("node-", i)
				view.Claim.DeletionTimestamp = &metav1.Time{Time: began.Add(-test.marked)}
				view.Claim.Status.Conditions[0].LastTransitionTime = *view.Claim.DeletionTimestamp
				views = append(views, view)
			}
			client := &emptied{}
			pods := newNodePods(client, func() time.Time { return clock }, 2, 2)
			contents := &contents{client: client, now: pods.now, pods: pods}
			for i := range views {
				if err := contents.read(t.Context(), &views[i]); err != nil {
					t.Fatal(err)
				}
				clock = clock.Add(20 * time.Second) // the first node takes a while
			}
			drained := func(step nodeclaim.Step) bool {
				patch, is := step.(nodeclaim.PatchClaimStatus)
				return is && strings.Contains(fmt.Sprint(patch.Patch), api.ConditionTypeDrained+" True")
			}
			if got := slices.ContainsFunc(nodeclaim.Next(views[1], clock).Steps, drained); got != test.ends {
				t.Errorf("drained is %t, steps %v", got, nodeclaim.Next(views[1], clock).Steps)
			}
		})
	}
}

// leavingView is a drain that goes on.
func leavingView(now time.Time) nodeclaim.View {
	views := stuck(now)
	return views[slices.IndexFunc(views, func(view nodeclaim.View) bool { return view.GoesOn() })]
}

// emptied is a cluster without pods on nodes and without volumes.
type emptied struct{ counted }

func (e *emptied) VolumeAttachments(context.Context) ([]storagev1.VolumeAttachment, error) {
	return nil, nil
}
