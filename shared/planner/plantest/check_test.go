package plantest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner"

	appsv1 "k8s.io/api/apps/v1"

	corev1 "k8s.io/api/core/v1"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// A mutation breaks a plan, or the cluster under it, in one way. It reports whether the cluster is
// one that it can be done to.
type mutation struct {
	name string
	// want is the class of what Check must find.
	want  string
	apply func(*plan.Snapshot, *plan.Plan) bool
}

var mutations = []mutation{
	{"drop a pod", "pods", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool { c.Pods = c.Pods[1:]; return true })
	}},
	{"double a pod", "pods", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool { c.Pods = append(c.Pods, c.Pods[0]); return true })
	}},
	{"make a pod up", "pods", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			c.Pods = append(c.Pods, plan.PodRef{Namespace: "default", Name: "no-such-pod"})
			return true
		})
	}},
	{"leave a pod out", "left out", leaveOut},
	{"leave a pod out and say nothing", "reasons", func(s *plan.Snapshot, p *plan.Plan) bool {
		return leaveOut(s, p) && setReasons(p, nil)
	}},
	{"say nothing of a pool", "reasons", func(s *plan.Snapshot, p *plan.Plan) bool {
		return leaveOut(s, p) && setReasons(p, []plan.Reason{{NodePool: "another", Message: "it is full"}})
	}},
	{"nominate a node that does not exist", "nomination", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onNomination(
			p,
			func(n *plan.Nomination) bool { n.NodeName, n.NodeClaimName = "no-such-node", ""; return true },
		)
	}},
	{"nominate a node that goes away", "leaving", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onNominatedNode(s, p, func(n *plan.Node, _ *corev1.Pod) bool {
			if n.NodeClaim == nil {
				return false
			}
			n.NodeClaim.DeletionTimestamp = pointer(deletedAt())
			return true
		})
	}},
	{"taint a node", "taints", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onNominatedNode(s, p, func(n *plan.Node, pod *corev1.Pod) bool {
			if n.Node == nil || n.Node.Labels[api.NodeRegisteredLabelKey] != "true" || len(pod.Spec.Tolerations) > 0 {
				return false
			}
			n.Node.Spec.Taints = append(
				n.Node.Spec.Taints,
				corev1.Taint{Key: "example.com/new", Effect: corev1.TaintEffectNoSchedule},
			)
			return true
		})
	}},
	{"shrink a node", "resources", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onNominatedNode(s, p, func(n *plan.Node, _ *corev1.Pod) bool {
			if n.Node == nil || n.Node.Labels[api.NodeRegisteredLabelKey] != "true" {
				return false
			}
			n.Node.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(int64(len(n.Pods)), resource.DecimalSI)
			return n.Node.Labels[api.NodeInitializedLabelKey] == "true"
		})
	}},
	{"let a node attach nothing", "attachments", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onNominatedNode(s, p, func(n *plan.Node, pod *corev1.Pod) bool {
			if n.Node == nil || len(pod.Spec.Volumes) > 0 {
				return false
			}
			pod.Spec.Volumes = []corev1.Volume{
				{Name: "new", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
					VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec("gp3")},
				}}},
			}
			s.CSINodes = []storagev1.CSINode{csiNode(n.Node.Name, 0)}
			return true
		})
	}},
	{"allow a smaller type", "resources", allowSmallerType},
	{"grow a pod", "resources", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onPlannedPod(s, p, func(_ *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k")}
			pod.Spec.Resources = nil
			return true
		})
	}},
	{"let a daemon set grow", "resources", func(s *plan.Snapshot, p *plan.Plan) bool {
		set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "large"}}
		set.Spec.Template.Spec.Containers = []corev1.Container{
			{
				Name:      "large",
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100")}},
			},
		}
		set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		s.DaemonSets = append(s.DaemonSets, set)
		return onPlannedPod(s, p, func(_ *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
			_, asks := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
			return asks
		})
	}},
	{"select another zone", "labels", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onPlannedPod(s, p, func(_ *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-west-2z"}
			return true
		})
	}},
	{"open a claim to a zone that a pod cannot use", "labels", openZone},
	{"taint a pool", "taints", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onPlannedPod(s, p, func(c *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
			taint := corev1.Taint{Key: "example.com/new", Effect: corev1.TaintEffectNoExecute}
			c.NodeClaim.Spec.Taints = append(slices.Clone(c.NodeClaim.Spec.Taints), taint)
			template := &poolNamed(s, c).Spec.Template.Spec
			template.Taints = append(template.Taints, taint)
			return len(pod.Spec.Tolerations) == 0
		})
	}},
	{"forget a taint", "claim", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			poolNamed(s, c).Spec.Template.Spec.Taints = []corev1.Taint{
				{Key: "example.com/new", Effect: corev1.TaintEffectNoSchedule},
			}
			return true
		})
	}},
	{"forget a label", "claim", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			poolNamed(s, c).Spec.Template.Labels = map[string]string{"example.com/new": "label"}
			return true
		})
	}},
	{"use a pool that is being deleted", "claim", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			poolNamed(s, c).DeletionTimestamp = pointer(deletedAt())
			return true
		})
	}},
	{"use what its pool excludes", "claim", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			template := &poolNamed(s, c).Spec.Template.Spec
			template.Requirements = append(template.Requirements, api.NodeSelectorRequirementWithMinValues{
				Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{c.Offerings[0].Zone},
			})
			return true
		})
	}},
	{"keep an empty node", "claim", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool { c.Pods = nil; return true })
	}},
	{"change the expected zone", "offerings", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool { c.Offerings[0].Zone = "us-west-2z"; return true })
	}},
	{"swap the expected type", "offerings", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool { c.Offerings[0].InstanceType = "m5.huge"; return true })
	}},
	{"expect what is not the cheapest", "offerings", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			if len(c.Offerings) < 2 || c.Offerings[0].Price == c.Offerings[1].Price {
				return false
			}
			c.Offerings = c.Offerings[1:]
			return true
		})
	}},
	{"expect what is unavailable", "offerings", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			choice, types := c.Offerings[0], s.InstanceTypes[poolNamed(s, c).Name]
			for i := range types {
				for j := range types[i].Offerings {
					if o := &types[i].Offerings[j]; types[i].Name == choice.InstanceType && o.Zone == choice.Zone &&
						o.CapacityType == choice.CapacityType {
						o.Available = false
					}
				}
			}
			return len(c.Offerings) > 1
		})
	}},
	{"miscount the price", "price", func(_ *plan.Snapshot, p *plan.Plan) bool { p.PricePerHour += 0.01; return true }},
	{
		"bound too high",
		"price",
		func(_ *plan.Snapshot, p *plan.Plan) bool { p.LowerBoundPerHour = p.PricePerHour + 0.01; return true },
	},
	{"ask for too little", "requests", func(_ *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			delete(c.NodeClaim.Spec.Resources.Requests, corev1.ResourcePods)
			return true
		})
	}},
	{"lower the limit", "limits", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			poolNamed(s, c).Spec.Limits = api.Limits{corev1.ResourceMemory: resource.MustParse("1Mi")}
			return true
		})
	}},
	{"allow no node", "limits", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			poolNamed(s, c).Spec.Limits = api.Limits{api.ResourceNodes: resource.MustParse("0")}
			return true
		})
	}},
	{"demand more values", "minValues", func(s *plan.Snapshot, p *plan.Plan) bool {
		s.MinValuesPolicy = plan.MinValuesStrict
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool {
			template := &poolNamed(s, c).Spec.Template.Spec
			template.Requirements = append(template.Requirements, api.NodeSelectorRequirementWithMinValues{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: pointer(30),
			})
			return true
		})
	}},
	{"use up a reservation", "reservations", func(s *plan.Snapshot, p *plan.Plan) bool {
		for i := range p.NodeClaims {
			for j := range p.NodeClaims[i].Offerings {
				p.NodeClaims[i].Offerings[j].ReservationID = "cr-used-up"
			}
		}
		return len(p.NodeClaims) > 0
	}},
	{"double-book a port", "ports", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool {
			for _, ref := range c.Pods[:2] {
				podNamed(s, ref).Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 1, HostPort: 4711}}
			}
			return true
		})
	}},
	{"lose a claim", "volumes", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onPlannedPod(s, p, func(_ *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
			pod.Spec.Volumes = []corev1.Volume{
				{
					Name: "gone",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "gone"},
					},
				},
			}
			return true
		})
	}},
	{"move a volume", "volumes", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onPlannedPod(s, p, func(_ *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
			g := &generator{s: s}
			claim := corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "moved"},
				Spec:       claimSpec("gp3"),
			}
			g.bind(
				&claim,
				corev1.PersistentVolume{
					ObjectMeta: metav1.ObjectMeta{Name: "moved", Labels: map[string]string{corev1.LabelTopologyZone: "us-west-2z"}},
				},
			)
			s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, claim)
			pod.Spec.Volumes = []corev1.Volume{
				{
					Name: "moved",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "moved"},
					},
				},
			}
			return true
		})
	}},
	{"part two pods of a node", "topology", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool {
			first, second := podNamed(s, c.Pods[0]), podNamed(s, c.Pods[1])
			first.Labels = map[string]string{"parted": "yes"}
			second.Spec.Affinity = &corev1.Affinity{
				PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: first.Labels},
					NamespaceSelector: &metav1.LabelSelector{},
				}}},
			}
			return true
		})
	}},
	{"be where a running pod wants nobody", "topology", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onNominatedNode(s, p, func(n *plan.Node, pod *corev1.Pod) bool {
			alone := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "alone"}}
			alone.Spec.Affinity = &corev1.Affinity{
				PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{},
				}}},
			}
			n.Pods = append(n.Pods, alone)
			return true
		})
	}},
	{"seek company that there is none of", "topology", func(s *plan.Snapshot, p *plan.Plan) bool {
		return onPlannedPod(s, p, func(_ *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
			pod.Spec.Affinity = &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey:   corev1.LabelTopologyZone,
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "no-such-app"}},
				}}},
			}
			return true
		})
	}},
	{"spread what is together", "topology", func(s *plan.Snapshot, p *plan.Plan) bool {
		// Two pods of a kind on one node, none of it on another node that counts.
		return len(p.NodeClaims) > 1 && onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool {
			if c.Pods[0].Namespace != c.Pods[1].Namespace {
				return false
			}
			for _, ref := range c.Pods[:2] {
				pod := podNamed(s, ref)
				pod.Labels = map[string]string{"spread": "yes"}
				pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
					TopologyKey: corev1.LabelHostname, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule,
					NodeAffinityPolicy: pointer(corev1.NodeInclusionPolicyIgnore),
					LabelSelector:      &metav1.LabelSelector{MatchLabels: pod.Labels},
				}}
			}
			return true
		})
	}},
	{"pile up in one zone", "spread-opened", pileUp},
}

// TestCheckFindsWhatIsBroken breaks plans that are legal in every way there is, and wants Check to
// find it each time.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	const times, seeds = 5, 3000
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			done := 0
			for seed := uint64(0); seed < seeds && done < times; seed++ {
				s := quiet(Random(seed))
				p := planner.Solve(s)
				if len(Check(s, p)) > 0 {
					continue
				}
				s = Clone(s)
				if !m.apply(s, p) {
					continue
				}
				done++
				violations := Check(s, p)
				if !slices.ContainsFunc(violations, func(v string) bool { return Class(v) == m.want }) {
					t.Errorf("cluster %d: no violation of class %q among %q", seed, m.want, violations)
				}
			}
			if done < times {
				t.Errorf("only %d clusters could be broken so", done)
			}
		})
	}
}

// quiet takes out of a cluster what makes a mutation's outcome depend on the reading: nodes that
// leave, pods that end, demands among pods.
func quiet(s *plan.Snapshot) *plan.Snapshot {
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n plan.Node) bool {
		return isLeaving(&n) || n.NodeClaim != nil && n.NodeClaim.Status.ProviderID == ""
	})
	for i := range s.Nodes {
		s.Nodes[i].Pods = slices.DeleteFunc(s.Nodes[i].Pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		for j := range s.Nodes[i].Pods {
			s.Nodes[i].Pods[j].Spec.Affinity = nil
		}
	}
	for i := range s.Pods {
		s.Pods[i].Spec.TopologySpreadConstraints = nil
		if a := s.Pods[i].Spec.Affinity; a != nil {
			a.PodAffinity, a.PodAntiAffinity = nil, nil
		}
	}
	return s
}

func onClaim(p *plan.Plan, pods int, f func(*plan.PlannedNodeClaim) bool) bool {
	for i := range p.NodeClaims {
		if len(p.NodeClaims[i].Pods) >= pods && f(&p.NodeClaims[i]) {
			return true
		}
	}
	return false
}

func onPlannedPod(s *plan.Snapshot, p *plan.Plan, f func(*plan.PlannedNodeClaim, *corev1.Pod) bool) bool {
	return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool { return f(c, podNamed(s, c.Pods[0])) })
}

func onNomination(p *plan.Plan, f func(*plan.Nomination) bool) bool {
	return len(p.Nominations) > 0 && f(&p.Nominations[0])
}

func onNominatedNode(s *plan.Snapshot, p *plan.Plan, f func(*plan.Node, *corev1.Pod) bool) bool {
	return slices.ContainsFunc(p.Nominations, func(n plan.Nomination) bool {
		for i := range s.Nodes {
			node := &s.Nodes[i]
			if node.Node != nil && node.Node.Name == n.NodeName ||
				node.NodeClaim != nil && n.NodeClaimName == node.NodeClaim.Name {
				return f(node, podNamed(s, n.Pod))
			}
		}
		return false
	})
}

func podNamed(s *plan.Snapshot, ref plan.PodRef) *corev1.Pod {
	return &s.Pods[slices.IndexFunc(s.Pods,
		func(p corev1.Pod) bool { return p.Name == ref.Name && p.Namespace == ref.Namespace })]
}

func poolNamed(s *plan.Snapshot, c *plan.PlannedNodeClaim) *api.NodePool {
	return &s.NodePools[slices.IndexFunc(s.NodePools,
		func(p api.NodePool) bool { return p.Name == c.NodeClaim.Labels[api.NodePoolLabelKey] })]
}

func setReasons(p *plan.Plan, reasons []plan.Reason) bool {
	p.Unplaced[len(p.Unplaced)-1].Reasons = reasons
	return true
}

// leaveOut takes a pod from a node that keeps another.
func leaveOut(_ *plan.Snapshot, p *plan.Plan) bool {
	return onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool {
		p.Unplaced = append(p.Unplaced, plan.Unplaced{Pod: c.Pods[0], Reasons: []plan.Reason{{Message: "it was not wanted"}}})
		c.Pods = c.Pods[1:]
		return true
	})
}

// allowSmallerType lets a claim be launched as a type of its pool that has less CPU than its first
// pod asks for.
func allowSmallerType(s *plan.Snapshot, p *plan.Plan) bool {
	return onPlannedPod(s, p, func(c *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
		asks := podRequests(pod)[corev1.ResourceCPU]
		for _, typ := range s.InstanceTypes[poolNamed(s, c).Name] {
			if slices.Contains(c.InstanceTypes, typ.Name) || typ.Allocatable.Cpu().MilliValue() >= asks {
				continue
			}
			for i := range c.NodeClaim.Spec.Requirements {
				r := &c.NodeClaim.Spec.Requirements[i]
				if r.Key == corev1.LabelInstanceTypeStable {
					r.Values = append(slices.Clone(r.Values), typ.Name)
				}
			}
			if slices.ContainsFunc(
				plannedNodeOf(s, p, c).variants,
				func(v variant) bool { return v.instanceType.Name == typ.Name },
			) {
				return true
			}
		}
		return false
	})
}

// openZone makes a pod select the zone that its node is expected in, and takes the claim's
// requirement of a zone away.
func openZone(s *plan.Snapshot, p *plan.Plan) bool {
	return onPlannedPod(s, p, func(c *plan.PlannedNodeClaim, pod *corev1.Pod) bool {
		pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: c.Offerings[0].Zone}
		c.NodeClaim.Spec.Requirements = slices.DeleteFunc(
			c.NodeClaim.Spec.Requirements,
			func(r api.NodeSelectorRequirementWithMinValues) bool {
				return r.Key == corev1.LabelTopologyZone || r.Key == api.LabelTopologyZoneID
			},
		)
		delete(c.NodeClaim.Labels, corev1.LabelTopologyZone)
		delete(c.NodeClaim.Labels, api.LabelTopologyZoneID)
		return slices.ContainsFunc(
			plannedNodeOf(s, p, c).variants,
			func(v variant) bool { return v.offering.Zone != c.Offerings[0].Zone },
		)
	})
}

// plannedNodeOf is a claim as Check sees it.
func plannedNodeOf(s *plan.Snapshot, p *plan.Plan, c *plan.PlannedNodeClaim) *plannedNode {
	hosts := newChecker(s, p).hosts
	return hosts[slices.IndexFunc(hosts, func(h *host) bool { return h.planned != nil && h.planned.claim == c })].planned
}

// pileUp demands of two pods of a node that they are in different zones, where the only nodes that
// there are lie in one.
func pileUp(s *plan.Snapshot, p *plan.Plan) bool {
	if len(p.NodeClaims) != 1 ||
		slices.ContainsFunc(s.NodePools, func(pool api.NodePool) bool { return pool.Spec.Limits != nil }) {
		return false
	}
	for i := range s.Nodes {
		if s.Nodes[i].Node == nil || s.Nodes[i].Node.Labels[corev1.LabelTopologyZone] != p.NodeClaims[0].Offerings[0].Zone {
			return false
		}
	}
	return onClaim(p, 2, func(c *plan.PlannedNodeClaim) bool {
		first, second := podNamed(s, c.Pods[0]), podNamed(s, c.Pods[1])
		if first.Namespace != second.Namespace {
			return false
		}
		for _, pod := range []*corev1.Pod{first, second} {
			pod.Labels = map[string]string{"spread": "yes"}
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				TopologyKey: corev1.LabelTopologyZone, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			}}
		}
		checker := newChecker(s, p)
		for _, pod := range []*corev1.Pod{first, second} {
			if len(
				checker.reach(checker.waiting[fmt.Sprintf("%s/%s", pod.Namespace, pod.Name)], corev1.LabelTopologyZone, true),
			) < 2 {
				return false
			}
		}
		return true
	})
}

// TestNotesTellOfWeight gives the pool of a node of the plan less weight than another that is like
// it.
func TestNotesTellOfWeight(t *testing.T) {
	noted := 0
	for seed := uint64(0); seed < 500 && noted < 5; seed++ {
		s := quiet(Random(seed))
		p := planner.Solve(s)
		if len(p.NodeClaims) == 0 || len(Check(s, p)) > 0 {
			continue
		}
		heavy := *poolNamed(s, &p.NodeClaims[0]).DeepCopy()
		heavy.Name, heavy.Spec.Weight, heavy.Spec.Limits = "heavy", pointer(int32(100)), nil
		s.InstanceTypes["heavy"] = s.InstanceTypes[poolNamed(s, &p.NodeClaims[0]).Name]
		s.NodePools = append(s.NodePools, heavy)
		notes := Notes(s, p)
		if !slices.ContainsFunc(notes, func(note string) bool { return Class(note) == "weight" }) {
			// Only a pod that asks for the lighter pool by name may stay there.
			if !hasText(s.Pods, api.NodePoolLabelKey) && !hasText(s.NodePools, "minValues") {
				t.Errorf("cluster %d: no note of weight among %q", seed, notes)
			}
			continue
		}
		noted++
	}
	if noted == 0 {
		t.Error("no cluster to note anything of")
	}
}
