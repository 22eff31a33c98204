package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
)

const (
	// nodesListed is of how many nodes a list of all pods may have those, for each request that it saves. A
	// list of twenty pods takes about as long as their part of a longer one.
	nodesListed = 4
	// mostListed bounds the nodes of a cluster whose pods are listed as a whole, because they are in memory
	// at once.
	mostListed = 200
)

// nodePods reads the pods of nodes for one pass, after the pass has read the nodes. It tells when it has
// read them, because a pod may come later: a node counts as drained only if it was marked long enough
// before that time (nodeclaim.View.PodsRead).
//
// One list of all pods serves the pass where it is shorter than reads of the nodes one by one. Else each
// node's pods are read when the pass comes to the node, because in a storm it comes to a part of the nodes
// only. They are as they were at the version of the pass's first read, or later.
type nodePods struct {
	client  kubernetes
	now     func() time.Time
	several bool // whether the pass reads the pods of more than one node
	whole   bool // whether one list serves

	once    sync.Once
	at      time.Time // before the first read
	version string
	byNode  map[string][]*corev1.Pod
	err     error
}

// newNodePods is for so many nodes out of all.
func newNodePods(client kubernetes, now func() time.Time, count, all int) *nodePods {
	return &nodePods{client: client, now: now, several: count > 1, whole: listsAll(count, all)}
}

// listsAll reports whether one list of all pods costs less than those of the nodes.
func listsAll(count, all int) bool {
	return count > 1 && all <= mostListed && all <= nodesListed*(count+1)
}

// countNodes is how many nodes the pass reads the pods of, at most.
func countNodes(views []nodeclaim.View, now time.Time) int {
	count := 0
	for i := range views {
		switch view := &views[i]; {
		case needsContents(view):
			count += len(view.Nodes)
		case view.WantsPlace(now), view.WantsRefused(now):
			count++
		}
	}
	return count
}

// on returns the pods of the node, which nobody may change, and a time at which or after which they were
// those.
func (n *nodePods) on(ctx context.Context, node string) (pods []*corev1.Pod, at time.Time, err error) {
	at = n.now()
	if n.several {
		n.once.Do(func() { n.begin(ctx) })
		at = n.at
	}
	if n.err != nil {
		return nil, at, n.err
	}
	if n.whole {
		return n.byNode[node], at, nil
	}
	read, err := n.client.PodsOnNode(ctx, node, n.version)
	if err != nil {
		return nil, at, fmt.Errorf("reading the pods of node %q: %w", node, err)
	}
	return pointers(read), at, nil
}

// begin is the pass's first read of pods.
func (n *nodePods) begin(ctx context.Context) {
	n.at = n.now()
	if !n.whole {
		n.version, n.err = n.client.PodsVersion(ctx)
		return
	}
	pods, err := n.client.Pods(ctx)
	n.byNode, n.err = map[string][]*corev1.Pod{}, err
	for i := range pods {
		if node := pods[i].Spec.NodeName; node != "" {
			n.byNode[node] = append(n.byNode[node], &pods[i])
		}
	}
}

func pointers(pods []corev1.Pod) []*corev1.Pod {
	made := make([]*corev1.Pod, len(pods))
	for i := range pods {
		made[i] = &pods[i]
	}
	return made
}
