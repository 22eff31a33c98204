package disrupt

import (
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/snapshot"
)

// settledFor is how long an unchanged fleet without a move is not searched again: Karpenter's
// interval. It ends because prices change and pods become old enough to move.
const settledFor = 5 * time.Minute

// settledFleet remembers a fleet in which consolidation found no move. It is a cache of the warm
// container that saves the search, and it is safe for concurrent use.
type settledFleet struct {
	mutex sync.Mutex
	fleet uint64
	until time.Time
}

// unchanged reports whether the fleet is the remembered one.
func (s *settledFleet) unchanged(o *snapshot.Objects, now time.Time) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return now.Before(s.until) && s.fleet == fingerprint(o)
}

func (s *settledFleet) remember(o *snapshot.Objects, now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.fleet, s.until = fingerprint(o), now.Add(settledFor)
}

// fingerprint hashes what consolidation decides on, in any order: pods and their nodes, nodes
// without their heartbeats, and every object that people write.
func fingerprint(o *snapshot.Objects) uint64 {
	sum := uint64(0)
	add := func(format string, args ...any) {
		one := fnv.New64a()
		_, _ = fmt.Fprintf(one, format, args...)
		sum += one.Sum64()
	}
	for i := range o.Pods {
		pod := &o.Pods[i]
		add("pod %s %s %s %d %v", pod.UID, pod.Spec.NodeName, pod.Status.Phase, pod.Generation, pod.DeletionTimestamp)
	}
	for i := range o.Nodes {
		node := &o.Nodes[i]
		add("node %s %v %v %v", node.UID, node.Spec.Taints, node.Labels, node.Annotations)
	}
	for i := range o.NodeClaims {
		add("claim %s %s", o.NodeClaims[i].UID, o.NodeClaims[i].ResourceVersion)
	}
	for i := range o.NodePools {
		add("pool %s %d %v", o.NodePools[i].UID, o.NodePools[i].Generation, o.NodePools[i].Annotations)
	}
	for i := range o.NodeClasses {
		add("class %s %s", o.NodeClasses[i].UID, o.NodeClasses[i].ResourceVersion)
	}
	for i := range o.DaemonSets {
		add("daemonset %s %d", o.DaemonSets[i].UID, o.DaemonSets[i].Generation)
	}
	for i := range o.PodDisruptionBudgets {
		add("budget %s %s", o.PodDisruptionBudgets[i].UID, o.PodDisruptionBudgets[i].ResourceVersion)
	}
	for i := range o.NodeOverlays {
		add("overlay %s %d", o.NodeOverlays[i].UID, o.NodeOverlays[i].Generation)
	}
	return sum
}
