package plantest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// Minimise removes parts of a cluster while wrong still reports the fault. It returns a copy.
func Minimise(s *plan.Snapshot, wrong func(*plan.Snapshot) bool) *plan.Snapshot {
	current := Clone(s)
	for changed := true; changed; {
		changed = false
		for _, parts := range removals {
			for i := 0; ; {
				candidate := Clone(current)
				if !parts(candidate, i) {
					break
				}
				if !same(candidate, current) && wrong(candidate) {
					current, changed = candidate, true
				} else {
					i++
				}
			}
		}
	}
	return current
}

// Clone copies a snapshot through its JSON form. A plan depends on nothing else.
func Clone(s *plan.Snapshot) *plan.Snapshot {
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("a snapshot has no JSON form: %v", err))
	}
	var c plan.Snapshot
	if err := json.Unmarshal(text, &c); err != nil {
		panic(fmt.Sprintf("a snapshot's JSON form cannot be read: %v", err))
	}
	return &c
}

func same(a, b *plan.Snapshot) bool {
	first, err := json.Marshal(a)
	if err != nil {
		return false
	}
	second, err := json.Marshal(b)
	return err == nil && bytes.Equal(first, second)
}

// removals each remove the i-th part of a kind, and report whether there is one.
var removals = []func(*plan.Snapshot, int) bool{
	func(s *plan.Snapshot, i int) bool { return drop(&s.Pods, i) },
	func(s *plan.Snapshot, i int) bool { return drop(&s.Nodes, i) },
	func(s *plan.Snapshot, i int) bool { return drop(&s.NodePools, i) },
	func(s *plan.Snapshot, i int) bool { return drop(&s.DaemonSets, i) },
	dropType,
	func(s *plan.Snapshot, i int) bool {
		return nth(s.Nodes, i, func(n *plan.Node) int { return len(n.Pods) }, func(n *plan.Node, j int) { drop(&n.Pods, j) })
	},
	dropOffering,
	func(s *plan.Snapshot, i int) bool { return nth(s.Pods, i, countPodParts, dropPodPart) },
	func(s *plan.Snapshot, i int) bool {
		var running []*corev1.Pod
		for n := range s.Nodes {
			for p := range s.Nodes[n].Pods {
				running = append(running, &s.Nodes[n].Pods[p])
			}
		}
		return nth(
			running,
			i,
			func(p **corev1.Pod) int { return countPodParts(*p) },
			func(p **corev1.Pod, j int) { dropPodPart(*p, j) },
		)
	},
	dropPoolPart,
	func(s *plan.Snapshot, i int) bool { return drop(&s.CSINodes, i) },
	func(s *plan.Snapshot, i int) bool { return drop(&s.PersistentVolumeClaims, i) },
	func(s *plan.Snapshot, i int) bool { return drop(&s.PersistentVolumes, i) },
	func(s *plan.Snapshot, i int) bool { return drop(&s.StorageClasses, i) },
	func(s *plan.Snapshot, i int) bool { return drop(&s.WellKnownLabels, i) },
}

func drop[T any](list *[]T, i int) bool {
	if i >= len(*list) {
		return false
	}
	*list = slices.Delete(*list, i, i+1)
	return true
}

// nth calls change for the i-th part of all elements together, and reports whether there is one.
func nth[T any](elements []T, i int, parts func(*T) int, change func(*T, int)) bool {
	for e := range elements {
		n := parts(&elements[e])
		if i < n {
			change(&elements[e], i)
			return true
		}
		i -= n
	}
	return false
}

// dropType removes the i-th instance type from the lists of all pools.
func dropType(s *plan.Snapshot, i int) bool {
	var names []string
	for _, types := range s.InstanceTypes {
		for _, t := range types {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if i >= len(names) {
		return false
	}
	for pool, types := range s.InstanceTypes {
		for j := range types {
			if types[j].Name == names[i] {
				s.InstanceTypes[pool] = slices.Delete(types, j, j+1)
				break
			}
		}
	}
	return true
}

// dropOffering makes the i-th available offering unavailable in its pool's list.
func dropOffering(s *plan.Snapshot, i int) bool {
	for _, pool := range s.NodePools {
		types := s.InstanceTypes[pool.Name]
		for t := range types {
			for o := range types[t].Offerings {
				if offering := &types[t].Offerings[o]; offering.Available {
					if i == 0 {
						offering.Available = false
						return true
					}
					i--
				}
			}
		}
	}
	return false
}

// podParts each remove one part of a pod's spec.
var podParts = []func(*corev1.PodSpec){
	func(spec *corev1.PodSpec) { spec.Affinity = nil },
	func(spec *corev1.PodSpec) { spec.TopologySpreadConstraints = nil },
	func(spec *corev1.PodSpec) { spec.NodeSelector = nil },
	func(spec *corev1.PodSpec) { spec.Tolerations = nil },
	func(spec *corev1.PodSpec) { spec.Volumes = nil },
	func(spec *corev1.PodSpec) { spec.InitContainers = nil },
	func(spec *corev1.PodSpec) { spec.Overhead, spec.Resources, spec.Priority = nil, nil, nil },
	func(spec *corev1.PodSpec) { spec.Containers = spec.Containers[:1] },
	func(spec *corev1.PodSpec) { spec.Containers[0].Ports = nil },
	onAffinity(func(a *corev1.Affinity) { a.NodeAffinity = nil }),
	onAffinity(func(a *corev1.Affinity) { a.PodAffinity = nil }),
	onAffinity(func(a *corev1.Affinity) { a.PodAntiAffinity = nil }),
	func(spec *corev1.PodSpec) {
		if n := len(spec.TopologySpreadConstraints); n > 1 {
			spec.TopologySpreadConstraints = spec.TopologySpreadConstraints[:n-1]
		}
	},
	func(spec *corev1.PodSpec) {
		if n := len(spec.TopologySpreadConstraints); n > 1 {
			spec.TopologySpreadConstraints = spec.TopologySpreadConstraints[1:]
		}
	},
}

func onAffinity(change func(*corev1.Affinity)) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		if spec.Affinity != nil {
			change(spec.Affinity)
		}
	}
}

func countPodParts(*corev1.Pod) int { return len(podParts) }

func dropPodPart(p *corev1.Pod, part int) { podParts[part](&p.Spec) }

// dropPoolPart removes the i-th part of all pools' specs.
func dropPoolPart(s *plan.Snapshot, i int) bool {
	for p := range s.NodePools {
		pool := &s.NodePools[p]
		template := &pool.Spec.Template
		if i < 5 {
			switch i {
			case 0:
				pool.Spec.Limits = nil
			case 1:
				pool.Spec.Weight = nil
			case 2:
				template.Spec.Taints = nil
			case 3:
				template.Spec.StartupTaints = nil
			case 4:
				template.Labels = nil
			}
			return true
		}
		i -= 5
		if drop(&template.Spec.Requirements, i) {
			return true
		}
		i -= len(template.Spec.Requirements)
	}
	return false
}
