package release

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Node is a NodeClaim of the pool with its node, or nil, and the pods on it.
type Node struct {
	Claim *api.NodeClaim
	Node  *corev1.Node
	Pods  []*corev1.Pod
}

// ZoneOf is the zone of the claim's node, or empty before its launch.
func ZoneOf(claim *api.NodeClaim) string { return claim.Labels[corev1.LabelTopologyZone] }

func (n *Node) drifted() bool {
	return api.ConditionTrue(n.Claim.Status.Conditions, api.ConditionTypeDrifted)
}

func (n *Node) leaving() bool { return scheduling.IsDeletionRequested(n.Claim, n.Node) }

// replacedForDrift tells whether drift has begun to replace the node.
func (n *Node) replacedForDrift() bool {
	reason := api.GetCondition(n.Claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	if reason != nil {
		return reason.Reason == string(api.DisruptionReasonDrifted)
	}
	_, begun := n.Claim.Annotations[api.ReplacedByAnnotationKey]
	return begun && n.drifted()
}

// replaces tells whether the claim was made to replace others.
func (n *Node) replaces() bool { return n.Claim.Annotations[api.ReplacesAnnotationKey] != "" }

// initializedAt is when the node became ready for pods, or zero.
func (n *Node) initializedAt() time.Time { return n.since(api.ConditionTypeInitialized) }

func (n *Node) launchedAt() time.Time { return n.since(api.ConditionTypeLaunched) }

// since is when the claim's condition became true, or zero.
func (n *Node) since(condition string) time.Time {
	is := api.GetCondition(n.Claim.Status.Conditions, condition)
	if is == nil || is.Status != "True" {
		return time.Time{}
	}
	return is.LastTransitionTime.Time
}

const (
	// readyWithin is how long a node may take to be ready for pods, and Karpenter's time for a replacement. In
	// a pool whose nodes take long to boot it is twice their time, and an hour at most.
	readyWithin   = 10 * time.Minute
	longestWithin = time.Hour
	// givenUpAfter is when lifecycle deletes the claim of a node that has not joined. joinWithin is the most
	// that a node may take here, so that a pass still sees it.
	givenUpAfter = 15 * time.Minute
	joinWithin   = 12 * time.Minute
	// settles is how long a condition of a node, and a pod that is not ready, may last before it counts.
	settles = time.Minute
)

// limit is how long nodes may take to be ready, by the median of the nodes before.
func limit(before []Node) time.Duration {
	var boots []time.Duration
	for i := range before {
		node := &before[i]
		if launched, ready := node.launchedAt(), node.initializedAt(); !launched.IsZero() && !ready.IsZero() &&
			node.Claim.Annotations[api.RebootsAnnotationKey] == "" {
			boots = append(boots, ready.Sub(launched))
		}
	}
	if len(boots) == 0 {
		return readyWithin
	}
	slices.Sort(boots)
	return min(max(readyWithin, 2*boots[len(boots)/2]), longestWithin)
}

// late says that the node did not join or was not ready in time, or nothing.
func (n *Node) late(within time.Duration, now time.Time) string {
	launched, ready := n.launchedAt(), n.initializedAt()
	joining := min(within, joinWithin)
	switch {
	case launched.IsZero() || n.Claim.Annotations[api.RebootsAnnotationKey] != "":
		return ""
	case ready.IsZero() && n.since(api.ConditionTypeRegistered).IsZero() && now.Sub(launched) >= joining:
		return "it has not joined the cluster within " + joining.String()
	case ready.IsZero() && now.Sub(launched) >= within:
		return "it was not ready for pods within " + within.String()
	case !ready.IsZero() && ready.Sub(launched) >= within:
		return "it was ready for pods only after " + ready.Sub(launched).Round(time.Second).String()
	}
	return ""
}

// sick says which condition of the node tells that it does not work, or nothing.
func (n *Node) sick(now time.Time) string {
	if n.Node == nil || n.initializedAt().IsZero() {
		return "" // an instance that has ended, as spot instances do, shows nothing
	}
	for i := range n.Node.Status.Conditions {
		is := &n.Node.Status.Conditions[i]
		if now.Sub(is.LastTransitionTime.Time) < settles {
			continue
		}
		switch is.Type {
		case corev1.NodeReady, "StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady",
			"AcceleratedHardwareReady":
			if is.Status != corev1.ConditionTrue {
				return "its condition " + string(is.Type) + " is " + string(is.Status)
			}
		case corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable:
			if is.Status == corev1.ConditionTrue {
				return "its condition " + string(is.Type) + " is True"
			}
		}
	}
	return ""
}

// name is the node's name, or that of its claim before it has one.
func (n *Node) name() string {
	if n.Node != nil {
		return n.Node.Name
	}
	return cmp.Or(n.Claim.Status.NodeName, n.Claim.Name)
}
