package signal

import (
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
)

// Source is a part of the cluster that is watched.
type Source int

// The sources.
const (
	UnboundPods   Source = iota // metadata of the pods without a node
	StartingNodes               // nodes that are not initialized
	StartedNodes                // metadata of the initialized nodes
	NodeClaims
	NodePools
	NodeClasses
)

// Kind says how an object changed.
type Kind int

// The kinds of changes.
const (
	Added Kind = iota // the object is new, or has come into the source
	Modified
	Deleted // the object has gone, or has left the source
)

// Wake is a reason to wake a function.
type Wake int

// The wakes.
const (
	// WakePods wakes provision, which looks whether pods are pending.
	WakePods Wake = iota
	// WakePlan wakes provision, which plans even if no pod is pending.
	WakePlan
	// WakeClaims wakes lifecycle, which works on the NodeClaims that start or end.
	WakeClaims
	// WakeAll wakes lifecycle, which works on everything, as on a tick.
	WakeAll
	// WakeReplacements wakes disrupt.
	WakeReplacements
	numberOfWakes
)

// facts is the part of an object whose change concerns a function.
type facts struct {
	deleted, launched, initialized bool
	generation                     int64
	ready                          string // the status of the condition Ready
	writes                         int    // that wake provision for a pod, at most podWrites
	other                          string
}

// podWrites is how many changes of one pod wake provision: the end of its scheduling gates, and the
// scheduler's word that no node is free. Later words come with each node that joins, until a pod
// that is planned already has its node. A tick looks at a pod that still waits.
const podWrites = 2

// Tracker remembers the facts of each object, and so tells changes that concern a function from
// others. It is not safe for concurrent use.
type Tracker struct {
	known map[Source]map[string]facts // by UID
}

// NewTracker returns a tracker that knows no object. It takes the first change of each object for
// news.
func NewTracker() *Tracker { return &Tracker{known: map[Source]map[string]facts{}} }

// Learn remembers an object without a wake.
func (t *Tracker) Learn(source Source, object *Object) {
	if now, concerns := factsOf(source, object); concerns {
		t.of(source)[object.Metadata.UID] = now
	}
}

// Observe returns the wakes to which a change leads, and remembers the object.
func (t *Tracker) Observe(source Source, kind Kind, object *Object) []Wake {
	known := t.of(source)
	if kind == Deleted {
		delete(known, object.Metadata.UID)
		return nil
	}
	now, concerns := factsOf(source, object)
	before, seen := known[object.Metadata.UID]
	if source == UnboundPods && kind == Modified {
		now.writes = min(before.writes+1, podWrites)
	}
	if !concerns || seen && now == before {
		return nil
	}
	known[object.Metadata.UID] = now
	return wakes(source, kind, object, before)
}

// Known is the number of objects that the tracker remembers.
func (t *Tracker) Known() int {
	total := 0
	for _, known := range t.known {
		total += len(known)
	}
	return total
}

func (t *Tracker) of(source Source) map[string]facts {
	if t.known[source] == nil {
		t.known[source] = map[string]facts{}
	}
	return t.known[source]
}

// factsOf returns the facts of an object. They do not concern anybody where concerns is false.
func factsOf(source Source, object *Object) (of facts, concerns bool) {
	of.deleted = object.isDeleted()
	switch source {
	case UnboundPods:
		// The tracker counts its writes.
	case StartingNodes:
		// Registration needs the provider id, and initialization the rest.
		of.ready = object.condition(api.ConditionReady)
		of.other = fmt.Sprint(object.Spec.ProviderID, object.taints(), object.Status.Allocatable)
		return of, object.isOurs()
	case StartedNodes:
		return of, of.deleted
	case NodeClaims:
		of.launched = object.isTrue(api.ConditionTypeLaunched)
		of.initialized = object.isTrue(api.ConditionTypeInitialized)
	case NodePools, NodeClasses:
		of.generation, of.ready = object.Metadata.Generation, object.condition(api.ConditionReady)
	}
	return of, true
}

// wakes are those of an object whose facts are new. Before are its last ones, or none.
func wakes(source Source, kind Kind, object *Object, before facts) []Wake {
	switch source {
	case UnboundPods:
		return ofPod(kind, object)
	case StartingNodes:
		if object.isDeleted() {
			return []Wake{WakeAll}
		}
		return []Wake{WakeClaims}
	case StartedNodes:
		return []Wake{WakeAll}
	case NodeClaims:
		return ofClaim(kind, object)
	default:
		return ofPoolOrClass(object, before)
	}
}

// ofPod wakes provision once the scheduler has written that no node is free. It binds most new pods
// to nodes within milliseconds, and they leave the source.
func ofPod(kind Kind, object *Object) []Wake {
	if kind == Added || object.isDeleted() {
		return nil
	}
	return []Wake{WakePods}
}

func ofClaim(kind Kind, object *Object) []Wake {
	switch {
	case object.isDeleted():
		return []Wake{WakeClaims}
	case kind == Added && object.isByHand() && !object.isTrue(api.ConditionTypeLaunched):
		return []Wake{WakePlan}
	case object.isTrue(api.ConditionTypeInitialized) && object.isReplacement():
		return []Wake{WakeReplacements}
	}
	return nil
}

// ofPoolOrClass wakes lifecycle for what a person has changed, because lifecycle resolves classes
// and writes which pools are ready. It wakes provision for what can launch.
func ofPoolOrClass(object *Object, before facts) []Wake {
	var result []Wake
	if object.Metadata.Generation != before.generation || object.isDeleted() {
		result = append(result, WakeAll)
	}
	if object.isTrue(api.ConditionReady) && !object.isDeleted() {
		result = append(result, WakePlan)
	}
	return result
}
