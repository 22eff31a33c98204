package plantest

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// A mutation breaks a plan, or the cluster under it, in one way.
type mutation struct {
	name string
	// want is the class of fault that Check must find.
	want string
	// apply reports whether the mutation is possible for this cluster and plan.
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
	{"miscount the extras", "price", func(_ *plan.Snapshot, p *plan.Plan) bool { p.ExtrasPerHour += 0.01; return true }},
	{"miscount the risk", "price", func(_ *plan.Snapshot, p *plan.Plan) bool { p.RiskPerHour += 0.01; return true }},
	{"forget the risk of a node", "price", func(_ *plan.Snapshot, p *plan.Plan) bool {
		p.RiskPerHour += 0.01
		return onClaim(p, 1, func(c *plan.PlannedNodeClaim) bool { c.RiskPerHour += 0.01; return true })
	}},
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
	{"use up a reservation", "stocks", func(s *plan.Snapshot, p *plan.Plan) bool {
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
		// Two pods of one node are spread by hostname, and another node has none of them.
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
