package plantest

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// WithDaemonTerms gives apps affinity and anti-affinity to the pods of daemon sets, and daemon sets
// anti-affinity to apps, over hosts and zones. It changes the snapshot, the same for the same seed,
// and returns it.
func WithDaemonTerms(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0x6461656d6f6e))
	term := func(key, value, namespace string) []corev1.PodAffinityTerm {
		topology := corev1.LabelHostname
		if random.IntN(4) == 0 {
			topology = corev1.LabelTopologyZone
		}
		return []corev1.PodAffinityTerm{{TopologyKey: topology, Namespaces: []string{namespace},
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}}
	}
	for i := range s.DaemonSets {
		set := &s.DaemonSets[i]
		set.Spec.Template.Labels = map[string]string{"agent": set.Name}
		if random.IntN(4) == 0 {
			affinity := &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: term("role", "db", "default")}
			if set.Spec.Template.Spec.Affinity == nil {
				set.Spec.Template.Spec.Affinity = &corev1.Affinity{}
			}
			set.Spec.Template.Spec.Affinity.PodAntiAffinity = affinity
		}
	}
	labelRunning(s)
	// The pods of an app are alike.
	given := map[string]func(*corev1.Affinity){}
	for i := range s.Pods {
		pod := &s.Pods[i]
		app := pod.Namespace + "/" + pod.Labels["app"]
		give, known := given[app]
		if !known && len(s.DaemonSets) > 0 {
			agent := fmt.Sprintf("agent-%d", random.IntN(len(s.DaemonSets)))
			terms := term("agent", agent, metav1.NamespaceSystem)
			switch random.IntN(5) {
			case 0:
				give = func(a *corev1.Affinity) {
					terms[0].TopologyKey = corev1.LabelHostname // see the planner's README about zones
					a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
				}
			case 1:
				give = func(a *corev1.Affinity) {
					a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
				}
			}
		}
		given[app] = give
		if give != nil {
			affinity := &corev1.Affinity{}
			if pod.Spec.Affinity != nil {
				affinity = pod.Spec.Affinity.DeepCopy()
			}
			give(affinity)
			pod.Spec.Affinity = affinity
		}
	}
	return s
}

// labelRunning gives the running pods of daemon sets the labels of their templates.
func labelRunning(s *plan.Snapshot) {
	for i := range s.Nodes {
		for j := range s.Nodes[i].Pods {
			pod := &s.Nodes[i].Pods[j]
			for k := range s.DaemonSets {
				set := &s.DaemonSets[k]
				if owner := metav1.GetControllerOf(pod); owner != nil && owner.UID == set.UID {
					pod.Labels = set.Spec.Template.Labels
					pod.Spec.Affinity = set.Spec.Template.Spec.Affinity
				}
			}
		}
	}
}
