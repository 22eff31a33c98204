package main

import (
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/snapshot"
)

// restFor is how long a fleet of which nothing is to be moved is not looked at again while
// it stays as it is: Karpenter's time. Prices change meanwhile, and pods settle.
const restFor = 5 * time.Minute

// rest remembers a fleet that was found to be at rest: a warm container's cache, which saves
// the search.
type rest struct {
	mutex sync.Mutex
	fleet uint64
	until time.Time
}

// same tells whether the fleet is the one that was found to be at rest of late.
func (r *rest) same(o *snapshot.Objects, now time.Time) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return now.Before(r.until) && r.fleet == fingerprint(o)
}

func (r *rest) remember(o *snapshot.Objects, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.fleet, r.until = fingerprint(o), now.Add(restFor)
}

// fingerprint is of what consolidation decides by, whatever the order: pods and where they
// are, nodes without their heartbeats, and all that people write.
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
