package plantest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// giveSpread gives an app topology spread constraints with all their fields.
func (g *generator) giveSpread(a *app) {
	if !g.chance(35) {
		return
	}
	used := map[string]bool{}
	for range 1 + g.IntN(10)/7 {
		key := oneOf(
			g,
			corev1.LabelTopologyZone,
			corev1.LabelTopologyZone,
			corev1.LabelTopologyZone,
			corev1.LabelHostname,
			corev1.LabelHostname,
			api.CapacityTypeLabelKey,
			corev1.LabelArchStable,
			teamLabel,
		)
		if used[key] {
			continue
		}
		used[key] = true
		constraint := corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: int32(1 + g.IntN(10)/6), WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: g.podSelector(a),
		}
		if g.chance(25) {
			constraint.WhenUnsatisfiable = corev1.ScheduleAnyway
		} else if g.chance(20) {
			constraint.MinDomains = pointer(int32(1 + g.IntN(4)))
		}
		if g.chance(15) {
			constraint.MatchLabelKeys = []string{"version"}
		}
		if g.chance(20) {
			constraint.NodeAffinityPolicy = pointer(oneOf(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		if g.chance(20) {
			constraint.NodeTaintsPolicy = pointer(oneOf(g, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
		}
		a.spec.TopologySpreadConstraints = append(a.spec.TopologySpreadConstraints, constraint)
	}
}

// podSelector returns a selector that in most cases selects the app's own pods.
func (g *generator) podSelector(a *app) *metav1.LabelSelector {
	switch {
	case g.chance(80):
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": a.name}}
	case g.chance(60):
		return &metav1.LabelSelector{MatchLabels: map[string]string{"role": oneOf(g, "web", "db")}}
	default:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{
				Key:      "app",
				Operator: oneOf(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn),
				Values:   []string{"app-0", "app-1"},
			},
		}}
	}
}

// givePodAffinity gives an app affinity and anti-affinity between pods, required or preferred.
func (g *generator) givePodAffinity(a *app) {
	if g.chance(15) {
		affinity := &corev1.PodAffinity{}
		term := g.podTerm(a, 70)
		if g.chance(70) {
			affinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{term}
		} else {
			weighted := corev1.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(100)), PodAffinityTerm: term}
			affinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{weighted}
		}
		g.affinity(a).PodAffinity = affinity
	}
	if g.chance(22) {
		anti := &corev1.PodAntiAffinity{}
		term := g.podTerm(a, 30)
		if g.chance(70) {
			anti.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{term}
		} else {
			weighted := corev1.WeightedPodAffinityTerm{Weight: int32(1 + g.IntN(100)), PodAffinityTerm: term}
			anti.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{weighted}
		}
		g.affinity(a).PodAntiAffinity = anti
	}
}

// podTerm returns a term over zones with a probability of zonal percent. Most others are over
// hosts.
func (g *generator) podTerm(a *app, zonal int) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: g.podSelector(a)}
	if g.chance(zonal) {
		term.TopologyKey = corev1.LabelTopologyZone
	} else if g.chance(15) {
		term.TopologyKey = oneOf(g, corev1.LabelArchStable, api.CapacityTypeLabelKey, teamLabel)
	}
	switch {
	case g.chance(10):
		term.Namespaces = someOf(g, namespaceNames...)
	case g.chance(8):
		term.NamespaceSelector = &metav1.LabelSelector{}
	case g.chance(10):
		tier := "product"
		if len(a.spec.Containers)%2 == 0 {
			tier = "nobody" // which no namespace has
		}
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
		if g.chance(40) {
			term.Namespaces = []string{"default"}
		}
	}
	switch {
	case g.chance(10):
		term.MatchLabelKeys = []string{"version"}
	case g.chance(5):
		term.MismatchLabelKeys = []string{"version"}
	}
	return term
}
