package snapshot

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Disruption builds disruption's snapshot: the nodes of NodePools with the pods on them. It sets
// the defaults of pools and classes, and shares memory with the objects. The cluster's certificate
// authority is part of the hash of a class. The error is that of hashing.
func Disruption(o *Objects, certificateAuthority []byte) (*disruption.Cluster, error) {
	s := &disruption.Cluster{Pools: o.NodePools, Budgets: o.PodDisruptionBudgets}
	for i := range o.NodePools {
		o.NodePools[i].Default()
	}
	for i := range o.NodeClasses {
		o.NodeClasses[i].Default()
	}
	var err error
	if s.Origins, err = drift.Origins(o.NodePools, o.NodeClasses, certificateAuthority, nil); err != nil {
		return nil, err
	}
	on := map[string][]*corev1.Pod{}
	for i := range o.Pods {
		if name := o.Pods[i].Spec.NodeName; name != "" {
			on[name] = append(on[name], &o.Pods[i])
			s.Running = append(s.Running, &o.Pods[i])
		} else {
			s.Waiting = append(s.Waiting, &o.Pods[i])
		}
	}
	members := membership.Join(o.NodeClaims, o.Nodes)
	for i := range o.NodeClaims {
		claim := &o.NodeClaims[i]
		if claim.Labels[api.NodePoolLabelKey] == "" || !claim.Spec.NodeClassRef.IsEC2NodeClass() {
			continue
		}
		node := disruption.Node{Claim: claim, Node: members.Node(claim)}
		if node.Node != nil {
			node.Pods = on[node.Node.Name]
		}
		s.Nodes = append(s.Nodes, node)
	}
	return s, nil
}

// Without returns the objects as if the given claims were leaving, and as if replaced claims were
// gone, because the places of their pods are taken. The disruption's snapshot holds the changes of
// claims since the objects were read. Claims of unhealthy nodes have the deadline that their drain
// will get. A replaced claim that no other of its pool takes the room of counts against limits still,
// because it may stay after all.
func Without(o *Objects, s *disruption.Cluster, leaving []*api.NodeClaim, now time.Time) *Objects {
	replaced, inPool := s.Replaced(), replacedInPool(s)
	leaving = append(replaced, leaving...)
	current, unhealthy := map[types.UID]*api.NodeClaim{}, map[types.UID]bool{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		current[node.Claim.UID] = node.Claim
		unhealthy[node.Claim.UID] = node.Node != nil && !repair.IsHealthy(node.Node)
	}
	without := *o
	without.NodeClaims = slices.Clone(o.NodeClaims)
	for i := range without.NodeClaims {
		claim := &without.NodeClaims[i]
		if changed := current[claim.UID]; changed != nil {
			*claim = *changed
		}
		if claim.DeletionTimestamp == nil &&
			slices.ContainsFunc(leaving, func(other *api.NodeClaim) bool { return other.UID == claim.UID }) {
			claim.DeletionTimestamp = &metav1.Time{Time: now}
			isIt := func(other *api.NodeClaim) bool { return other.UID == claim.UID }
			if slices.ContainsFunc(replaced, isIt) && !inPool[claim.Name] {
				annotate(claim, scheduling.CountsAnnotationKey, "true")
			}
			if unhealthy[claim.UID] {
				annotate(claim, api.NodeClaimTerminationTimestampAnnotationKey, now.UTC().Format(time.RFC3339))
			}
		}
	}
	return &without
}

// annotate sets an annotation of a claim that shares its annotations with another.
func annotate(claim *api.NodeClaim, key, value string) {
	claim.Annotations = scheduling.Mark(claim.Annotations, key, value)
}

// replacedInPool are the names of the claims that another one of their pool was made to replace.
func replacedInPool(s *disruption.Cluster) map[string]bool {
	pools, replaced := map[string]string{}, map[string]bool{}
	for i := range s.Nodes {
		pools[s.Nodes[i].Claim.Name] = s.Nodes[i].Claim.Labels[api.NodePoolLabelKey]
	}
	for i := range s.Nodes {
		claim := s.Nodes[i].Claim
		for name := range strings.SplitSeq(claim.Annotations[api.ReplacesAnnotationKey], ",") {
			if pool, known := pools[name]; known && pool == claim.Labels[api.NodePoolLabelKey] {
				replaced[name] = true
			}
		}
	}
	return replaced
}
