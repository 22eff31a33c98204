package plantest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// app is a template for replicas.
type app struct {
	name string
	meta metav1.ObjectMeta
	spec corev1.PodSpec
	// claimFor gives a replica a volume of its own. It may be nil.
	claimFor func(*corev1.Pod)
}

func (g *generator) makeApps() {
	for i := range 1 + g.IntN(6) {
		name := fmt.Sprintf("app-%d", i)
		a := app{name: name, meta: metav1.ObjectMeta{Namespace: oneOf(g, namespaceNames...), Labels: map[string]string{
			"app": name, "role": oneOf(g, "web", "db"), "version": oneOf(g, "v1", "v2"),
		}}}
		g.giveContainers(&a)
		g.giveNodeDemands(&a)
		g.giveTolerations(&a)
		g.giveSpread(&a)
		g.givePodAffinity(&a)
		g.giveVolumes(&a)
		if g.chance(10) {
			a.spec.Priority = pointer(int32(g.IntN(1000)))
		}
		g.apps = append(g.apps, a)
	}
}

func requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse(memory),
		},
	}
}

func (g *generator) giveContainers(a *app) {
	main := corev1.Container{
		Name: "main",
		Resources: requests(
			oneOf(g, "50m", "100m", "250m", "500m", "900m", "1", "1500m", "3", "7"),
			oneOf(g, "64Mi", "128Mi", "512Mi", "1Gi", "2Gi", "5Gi"),
		),
	}
	switch {
	case g.chance(6):
		main.Resources.Requests[api.ResourceNVIDIAGPU] = resource.MustParse(oneOf(g, "1", "1", "2"))
		main.Resources.Limits = corev1.ResourceList{api.ResourceNVIDIAGPU: main.Resources.Requests[api.ResourceNVIDIAGPU]}
	case g.chance(3):
		main.Resources.Requests[api.ResourceAWSNeuron] = resource.MustParse("1")
	case g.chance(4):
		main.Resources.Requests[api.ResourceAWSPodENI] = resource.MustParse("1")
	case g.chance(3):
		main.Resources.Requests["hugepages-2Mi"] = resource.MustParse("128Mi")
	case g.chance(8):
		main.Resources.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse(oneOf(g, "1Gi", "8Gi"))
	case g.chance(4):
		main.Resources = corev1.ResourceRequirements{} // best effort
	}
	if g.chance(8) {
		main.Ports = []corev1.ContainerPort{
			{
				ContainerPort: 8080,
				HostPort:      oneOf[int32](g, 8080, 9100),
				HostIP:        oneOf(g, "", "", "10.0.0.1"),
				Protocol:      oneOf(g, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
			},
		}
	}
	a.spec.Containers = []corev1.Container{main}
	if g.chance(15) {
		a.spec.Containers = append(a.spec.Containers, corev1.Container{Name: "second", Resources: requests("100m", "128Mi")})
	}
	if g.chance(10) {
		a.spec.InitContainers = append(
			a.spec.InitContainers,
			corev1.Container{Name: "init", Resources: requests(oneOf(g, "1", "2"), "256Mi")},
		)
	}
	if g.chance(10) {
		sidecar := corev1.Container{
			Name:          "sidecar",
			RestartPolicy: pointer(corev1.ContainerRestartPolicyAlways),
			Resources:     requests("150m", "200Mi"),
		}
		if g.chance(20) {
			sidecar.Ports = []corev1.ContainerPort{{ContainerPort: 15000, HostPort: 15000}}
		}
		a.spec.InitContainers = append(a.spec.InitContainers, sidecar)
	}
	if g.chance(6) {
		a.spec.Overhead = corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("120m"),
			corev1.ResourceMemory: resource.MustParse("120Mi"),
		}
	}
	if g.chance(5) {
		a.spec.Resources = pointer(requests("2", "3Gi"))
	}
}

// giveNodeDemands gives an app a node selector, and required and preferred node affinity.
func (g *generator) giveNodeDemands(a *app) {
	if g.chance(22) {
		key, value := g.label()
		a.spec.NodeSelector = map[string]string{key: value}
	}
	if g.chance(25) {
		var terms []corev1.NodeSelectorTerm
		for range 1 + g.IntN(2) {
			terms = append(terms, g.nodeTerm())
		}
		g.nodeAffinity(a).RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	if g.chance(15) {
		for range 1 + g.IntN(2) {
			affinity := g.nodeAffinity(a)
			affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
				affinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: int32(1 + g.IntN(100)), Preference: g.nodeTerm()},
			)
		}
	}
}

func (g *generator) nodeAffinity(a *app) *corev1.NodeAffinity {
	affinity := g.affinity(a)
	if affinity.NodeAffinity == nil {
		affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	return affinity.NodeAffinity
}

func (g *generator) affinity(a *app) *corev1.Affinity {
	if a.spec.Affinity == nil {
		a.spec.Affinity = &corev1.Affinity{}
	}
	return a.spec.Affinity
}

// label returns a node label that pods may ask for.
func (g *generator) label() (key, value string) {
	switch g.IntN(12) {
	case 0, 1:
		return corev1.LabelArchStable, oneOf(g, "amd64", "arm64")
	case 2, 3:
		return corev1.LabelTopologyZone, oneOf(g, g.zones...)
	case 4:
		return api.CapacityTypeLabelKey, oneOf(g, api.CapacityTypeOnDemand, api.CapacityTypeSpot, api.CapacityTypeReserved)
	case 5, 6:
		return teamLabel, oneOf(g, "red", "blue", "green")
	case 7:
		return api.LabelInstanceCategory, oneOf(g, "m", "c", "r")
	case 8:
		return "beta.kubernetes.io/arch", oneOf(g, "amd64", "arm64")
	case 9:
		return api.LabelTopologyZoneID, oneOf(g, "usw2-az1", "usw2-az2")
	case 10:
		return api.NodePoolLabelKey, "pool-0"
	default:
		if len(g.s.WellKnownLabels) > 0 {
			return rackLabel, oneOf(g, "r1", "r2")
		}
		return corev1.LabelInstanceTypeStable, oneOf(g, g.types...).Name
	}
}

func (g *generator) nodeTerm() corev1.NodeSelectorTerm {
	var term corev1.NodeSelectorTerm
	for range 1 + g.IntN(2) {
		e := corev1.NodeSelectorRequirement{}
		switch g.IntN(6) {
		case 0, 1:
			key, value := g.label()
			e = corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
			if other, value := g.label(); other == key && value != e.Values[0] {
				e.Values = append(e.Values, value)
			}
		case 2:
			key, value := g.label()
			e = corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: []string{value}}
		case 3:
			e = corev1.NodeSelectorRequirement{
				Key:      oneOf(g, teamLabel, api.LabelInstanceGPUCount, api.LabelInstanceCPU),
				Operator: corev1.NodeSelectorOpExists,
			}
		case 4:
			e = corev1.NodeSelectorRequirement{
				Key:      oneOf(g, teamLabel, api.LabelInstanceGPUCount, slotLabel),
				Operator: corev1.NodeSelectorOpDoesNotExist,
			}
		case 5:
			e = corev1.NodeSelectorRequirement{
				Key:      oneOf(g, api.LabelInstanceCPU, api.LabelInstanceMemory, slotLabel),
				Operator: corev1.NodeSelectorOpGt,
				Values:   []string{oneOf(g, "1", "3", "7")},
			}
			if g.chance(40) {
				e.Operator, e.Values = corev1.NodeSelectorOpLt, []string{oneOf(g, "5", "9", "40000")}
			}
		}
		term.MatchExpressions = append(term.MatchExpressions, e)
	}
	return term
}

// giveTolerations uses every operator, and tolerations without a key or an effect.
func (g *generator) giveTolerations(a *app) {
	if g.chance(35) {
		a.spec.Tolerations = append(a.spec.Tolerations, oneOf(
			g,
			corev1.Toleration{Key: "example.com/dedicated", Operator: corev1.TolerationOpExists},
			corev1.Toleration{
				Key:      "example.com/dedicated",
				Operator: corev1.TolerationOpEqual,
				Value:    "batch",
				Effect:   corev1.TaintEffectNoSchedule,
			},
			corev1.Toleration{Key: "example.com/dedicated", Value: "batch"},
			corev1.Toleration{Key: "example.com/dedicated", Operator: corev1.TolerationOpGt, Value: "3"},
			corev1.Toleration{Key: "example.com/dedicated", Operator: corev1.TolerationOpLt, Value: "3"},
			corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
			corev1.Toleration{Operator: corev1.TolerationOpExists},
		))
	}
}
