package laws

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// World is a cluster and its account at one moment. Where reading them takes time, the instances come last,
// and pods before nodes: what an earlier object names is then still there.
type World struct {
	Now         time.Time
	Claims      []*api.NodeClaim
	Pools       []*api.NodePool
	Classes     []*api.EC2NodeClass
	Nodes       []*corev1.Node
	Pods        []*corev1.Pod
	Volumes     []*corev1.PersistentVolume
	Attachments []*storagev1.VolumeAttachment
	Instances   []ec2.Instance

	// Patience is how long a change may take in a world at rest.
	Patience time.Duration
	// Held reports whether something that Whittle waits for keeps a claim that is deleted; nil for nothing.
	Held func(*api.NodeClaim) bool
	// Stopped lets a claim have an instance that is stopped.
	Stopped bool

	owned map[string]string // what owners has returned
}

// Pointers are those of the values, as a World has them.
func Pointers[T any](values []T) []*T {
	var pointers []*T
	for i := range values {
		pointers = append(pointers, &values[i])
	}
	return pointers
}

// Live reports whether the instance runs or will.
func Live(instance *ec2.Instance) bool {
	return instance.State == ec2.Pending || instance.State == ec2.Running
}

// owners are the names of the claims of instances, by the ids of the instances: by the claim's status, or by
// the instance's tag. An instance has the tag when it joins, and its claim may be gone by then.
func (w *World) owners() map[string]string {
	if w.owned != nil {
		return w.owned
	}
	byID := map[string]string{}
	for _, claim := range w.Claims {
		if id := claim.Status.ProviderID; id != "" {
			byID[id] = claim.Name
		}
	}
	w.owned = make(map[string]string, len(w.Instances))
	for i := range w.Instances {
		instance := &w.Instances[i]
		name, known := byID[instance.ProviderID()]
		if !known {
			name = instance.Tags[api.NodeClaimTagKey]
		}
		if name != "" {
			w.owned[instance.ID] = name
		}
	}
	return w.owned
}

// live are the instances that run or will, by their provider IDs.
func (w *World) live() map[string]*ec2.Instance {
	live := map[string]*ec2.Instance{}
	for i := range w.Instances {
		if Live(&w.Instances[i]) {
			live[w.Instances[i].ProviderID()] = &w.Instances[i]
		}
	}
	return live
}

// Unclaimed are the ids of the instances that no claim has and that do not end. One that is stopped
// costs its volumes.
func (w *World) Unclaimed() []string {
	var ids []string
	owners, there := w.owners(), map[string]bool{}
	for _, claim := range w.Claims {
		there[claim.Name] = true
	}
	for i := range w.Instances {
		instance := &w.Instances[i]
		ends := instance.State == ec2.ShuttingDown || instance.State == ec2.Terminated
		if !ends && !there[owners[instance.ID]] {
			ids = append(ids, instance.ID)
		}
	}
	return ids
}
