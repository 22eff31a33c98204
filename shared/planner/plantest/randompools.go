package plantest

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func (g *generator) makePools() {
	for i := range 1 + g.IntN(3) {
		pool := g.newPool(fmt.Sprintf("pool-%d", i))
		types := g.types
		if g.chance(15) {
			// Some pools have a class that resolves to fewer types.
			types = nil
			for _, t := range g.types {
				if g.chance(70) {
					types = append(types, t)
				}
			}
		}
		g.s.InstanceTypes[pool.Name] = slices.Clone(types)
		g.s.NodePools = append(g.s.NodePools, pool)
	}
	g.s.NodeClasses = []api.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: uid("class")}}}
}

func (g *generator) newPool(name string) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid("pool", name)}}
	spec := &pool.Spec.Template.Spec
	spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	g.require(&pool)
	if g.chance(20) {
		spec.Taints = append(spec.Taints, g.dedicated())
	}
	if g.chance(10) {
		spec.Taints = append(spec.Taints, corev1.Taint{Key: "example.com/old", Effect: corev1.TaintEffectPreferNoSchedule})
	}
	if g.chance(20) {
		spec.StartupTaints = []corev1.Taint{
			{Key: "example.com/agent-not-ready", Effect: oneOf(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)},
		}
	}
	if g.chance(30) {
		pool.Spec.Weight = pointer(int32(1 + g.IntN(3)))
	}
	if g.chance(25) {
		pool.Spec.Limits = api.Limits{}
		for range 1 + g.IntN(2) {
			switch g.IntN(4) {
			case 0:
				pool.Spec.Limits[corev1.ResourceCPU] = *resource.NewQuantity(int64(4+g.IntN(60)), resource.DecimalSI)
			case 1:
				pool.Spec.Limits[corev1.ResourceMemory] = resource.MustParse(fmt.Sprintf("%dGi", 16+g.IntN(200)))
			case 2:
				pool.Spec.Limits[api.ResourceNodes] = *resource.NewQuantity(int64(g.IntN(8)), resource.DecimalSI)
			case 3:
				pool.Spec.Limits[api.ResourceNVIDIAGPU] = *resource.NewQuantity(int64(g.IntN(3)), resource.DecimalSI)
			}
		}
	}
	switch {
	case g.chance(4):
		pool.DeletionTimestamp = pointer(deletedAt())
		pool.Finalizers = []string{"karpenter.sh/termination"}
	case g.chance(4):
		pool.Status.Conditions = []metav1.Condition{
			{Type: api.ConditionReady, Status: metav1.ConditionFalse, Reason: "NodeClassNotReady"},
		}
	case g.chance(4):
		pool.Spec.Replicas, pool.Spec.Weight, pool.Spec.Limits = pointer(int64(1)), nil, nil
	case g.chance(50):
		pool.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}}
	}
	return pool
}

// require gives a pool some requirements. The clusters of many seeds use all operators.
func (g *generator) require(pool *api.NodePool) {
	g.requireOffering(pool)
	g.requireInstance(pool)
	g.requireCustomLabels(pool)
}

// addRequirement appends a requirement. A minValues of 0 means none.
func addRequirement(
	pool *api.NodePool,
	key string,
	operator corev1.NodeSelectorOperator,
	minValues int,
	values ...string,
) {
	r := api.NodeSelectorRequirementWithMinValues{Key: key, Operator: operator, Values: values}
	if minValues > 0 {
		r.MinValues = &minValues
	}
	pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements, r)
}

// requireOffering restricts architecture, capacity type and zone.
func (g *generator) requireOffering(pool *api.NodePool) {
	in := corev1.NodeSelectorOpIn
	if g.chance(40) {
		addRequirement(pool, corev1.LabelArchStable, in, 0, someOf(g, "amd64", "arm64")...)
	}
	if g.chance(70) {
		all := append(capacityTypes, api.CapacityTypeReserved)
		addRequirement(pool, api.CapacityTypeLabelKey, in, 0, someOf(g, all...)...)
	}
	if g.chance(25) {
		addRequirement(pool, corev1.LabelTopologyZone, in, 0, someOf(g, g.zones...)...)
	}
	if g.chance(10) {
		addRequirement(pool, corev1.LabelTopologyZone, corev1.NodeSelectorOpNotIn, 0, oneOf(g, g.zones...))
	}
}

// requireInstance restricts category, vCPUs and GPUs, or demands several families or types.
func (g *generator) requireInstance(pool *api.NodePool) {
	in, notIn, exists, doesNotExist := corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
		corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist
	gt, lt, gte, lte := corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, api.NodeSelectorOpGte, api.NodeSelectorOpLte
	if g.chance(20) {
		addRequirement(pool, api.LabelInstanceCategory, oneOf(g, in, notIn), 0, someOf(g, "m", "c", "r")...)
	}
	if g.chance(25) {
		operator, value := oneOf(g, gt, lt, gte, lte), oneOf(g, "1", "2", "4")
		if operator == lt || operator == lte {
			value = oneOf(g, "5", "8", "16")
		}
		addRequirement(pool, api.LabelInstanceCPU, operator, 0, value)
	}
	if g.chance(10) {
		addRequirement(pool, api.LabelInstanceGPUCount, oneOf(g, exists, doesNotExist, doesNotExist), 0)
	}
	if g.chance(12) {
		key := oneOf(g, api.LabelInstanceFamily, corev1.LabelInstanceTypeStable)
		addRequirement(pool, key, exists, 1+g.IntN(4))
	}
}

// requireCustomLabels gives the pool the team label as a template label or a requirement, and
// restricts the slot label.
func (g *generator) requireCustomLabels(pool *api.NodePool) {
	exists, notIn := corev1.NodeSelectorOpExists, corev1.NodeSelectorOpNotIn
	switch g.IntN(5) {
	case 0:
		pool.Spec.Template.Labels = map[string]string{teamLabel: oneOf(g, "red", "blue")}
	case 1:
		addRequirement(pool, teamLabel, corev1.NodeSelectorOpIn, 0, someOf(g, "red", "blue", "green")...)
	case 2:
		if operator := oneOf(g, exists, notIn); operator == notIn {
			addRequirement(pool, teamLabel, notIn, 0, "green")
		} else {
			addRequirement(pool, teamLabel, exists, 0)
		}
	}
	if g.chance(10) {
		addRequirement(pool, slotLabel, oneOf(g, corev1.NodeSelectorOpGt, api.NodeSelectorOpLte), 0, "3")
	}
}

// dedicated returns a taint of some pools and nodes, which some pods tolerate.
func (g *generator) dedicated() corev1.Taint {
	return corev1.Taint{
		Key:    "example.com/dedicated",
		Value:  oneOf(g, "batch", "5"),
		Effect: oneOf(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
	}
}

func (g *generator) makeDaemonSets() {
	for i := range g.IntN(3) {
		set := appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: fmt.Sprintf("agent-%d", i)},
		}
		set.UID = uid("ds", set.Name)
		spec := &set.Spec.Template.Spec
		amounts := corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(oneOf(g, "25m", "50m", "150m")),
			corev1.ResourceMemory: resource.MustParse(oneOf(g, "32Mi", "100Mi", "256Mi")),
		}
		spec.Containers = []corev1.Container{{Name: "agent", Resources: corev1.ResourceRequirements{Requests: amounts}}}
		if g.chance(25) {
			// The API server will set the requests to the limits.
			spec.Containers[0].Resources = corev1.ResourceRequirements{Limits: amounts}
		}
		if g.chance(25) {
			spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 9100, HostPort: 9100}}
		}
		if g.chance(60) {
			spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		if g.chance(20) {
			spec.NodeSelector = map[string]string{corev1.LabelArchStable: oneOf(g, "amd64", "arm64")}
		}
		if g.chance(15) {
			spec.Affinity = &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: api.LabelInstanceCPU, Operator: corev1.NodeSelectorOpGt, Values: []string{oneOf(g, "2", "4")}},
					}}, {MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{g.zones[0]}},
					}}},
				}},
			}
		}
		if g.later.IntN(100) < 15 {
			// An agent that waits until the node has started.
			if spec.NodeSelector == nil {
				spec.NodeSelector = map[string]string{}
			}
			keys := []string{api.NodeRegisteredLabelKey, api.NodeInitializedLabelKey}
			spec.NodeSelector[keys[g.later.IntN(len(keys))]] = "true"
		}
		g.s.DaemonSets = append(g.s.DaemonSets, set)
	}
}
