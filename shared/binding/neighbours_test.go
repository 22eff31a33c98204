package binding_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/binding"
)

// shop is a cluster with a node in each of three zones, and one more that joins in zone a.
type shop struct {
	place binding.Place
	pods  []*corev1.Pod
}

func inZone(name, zone string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelTopologyZone: zone, corev1.LabelHostname: name,
	}}}
}

func newShop() *shop {
	s := &shop{}
	s.place.Node = inZone("new", "a")
	s.place.Node.Status.Allocatable = amounts("64", "64Gi")
	s.place.Neighbours = &binding.Neighbours{
		Pods: map[binding.Selection][]*corev1.Pod{}, Planned: map[string]*corev1.Node{},
		Nodes: map[string]*corev1.Node{
			"new": s.place.Node, "a": inZone("a", "a"), "b": inZone("b", "b"), "c": inZone("c", "c"),
		},
	}
	return s
}

// has adds a pod of the application web: on a node, or planned for it.
func (s *shop) has(name, node string, planned bool) *corev1.Pod {
	made := asking(name, "100m")
	made.Labels = map[string]string{"app": "web"}
	if planned {
		s.place.Neighbours.Planned[name] = s.place.Neighbours.Nodes[node]
	} else {
		made.Spec.NodeName = node
	}
	s.pods = append(s.pods, made)
	return made
}

// choose tells why the pod is left, after the pods were read that it counts.
func (s *shop) choose(pod *corev1.Pod) string {
	for _, selection := range binding.Selections([]*corev1.Pod{pod}) {
		s.place.Neighbours.Pods[selection] = append(s.pods, pod)
	}
	_, left := binding.Choose(s.place, []*corev1.Pod{pod})
	if len(left) == 0 {
		return ""
	}
	return left[0].Reason
}

var web = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

func spread(key string, change ...func(*corev1.TopologySpreadConstraint)) func(*corev1.Pod) {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: web,
	}
	for _, f := range change {
		f(&c)
	}
	return func(p *corev1.Pod) { p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c) }
}

func term(key string, selector *metav1.LabelSelector) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: selector}}
}

func apart(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(key, web),
		}}
	}
}

func beside(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(key, web),
		}}
	}
}

// TestPodsThatCameSinceThePlanCount has a node that joins in zone a, and a pod that was planned for it.
func TestPodsThatCameSinceThePlanCount(t *testing.T) {
	zone, host := corev1.LabelTopologyZone, corev1.LabelHostname
	inA := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{zone: "a"} }
	ignore, honor, four := corev1.NodeInclusionPolicyIgnore, corev1.NodeInclusionPolicyHonor, int32(4)
	everyNode := func(c *corev1.TopologySpreadConstraint) { c.NodeAffinityPolicy = &ignore }
	taints := func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy = &honor }
	domains := func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &four }
	soft := func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway }
	revision := func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"hash"} }
	everything := func(p *corev1.Pod) {
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector =
			&metav1.LabelSelector{}
	}
	namespaces := func(p *corev1.Pod) {
		p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = web
	}
	type pod = []func(*corev1.Pod)
	for name, test := range map[string]struct {
		others string // their nodes; those after a slash are planned
		pod    pod
		want   string
	}{
		"even zones":                         {"a b c", pod{spread(zone)}, ""},
		"one that came to its zone":          {"a a b c", pod{spread(zone)}, "its spread by topology.kubernetes.io/zone"},
		"others that are still to come":      {"a/b c", pod{spread(zone)}, ""},
		"a zone that nobody is planned for":  {"a/b", pod{spread(zone)}, "its spread"},
		"a zone that is not the pod's":       {"a", pod{spread(zone), inA}, ""},
		"a zone that counts all the same":    {"a", pod{spread(zone, everyNode), inA}, "its spread"},
		"too few domains":                    {"a b c", pod{spread(zone, domains)}, "its spread"},
		"taints of nodes":                    {"", pod{spread(zone, taints)}, "taints of nodes"},
		"a preference":                       {"a a", pod{spread(zone, soft)}, ""},
		"a revision's own spread":            {"a a", pod{spread(zone, revision)}, ""},
		"a spread over nodes":                {"", pod{spread(host)}, ""},
		"a second pod of the node":           {"new", pod{spread(host)}, "its spread by kubernetes.io/hostname"},
		"a label that the node lacks":        {"", pod{spread("rack")}, "a node with the label rack"},
		"apart, with a pod elsewhere":        {"b", pod{apart(zone)}, ""},
		"apart, with one that came":          {"a", pod{apart(zone)}, "its anti-affinity"},
		"apart, with one planned":            {"/a", pod{apart(zone)}, "its anti-affinity"},
		"beside the first":                   {"a", pod{beside(zone)}, ""},
		"beside one that went elsewhere":     {"b", pod{beside(zone)}, "its affinity"},
		"beside itself, as the first":        {"", pod{beside(zone)}, ""},
		"beside a pod that is planned there": {"/a", pod{beside(zone)}, ""},
		"all pods of the namespace":          {"", pod{apart(zone), everything}, "counts all pods"},
		"namespaces by label":                {"", pod{beside(zone), namespaces}, "namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop()
			bound, planned, _ := strings.Cut(test.others, "/")
			for i, node := range strings.Fields(bound) {
				s.has("bound"+string(rune('0'+i)), node, false)
			}
			for i, node := range strings.Fields(planned) {
				s.has("planned"+string(rune('0'+i)), node, true)
			}
			wanted := asking("p", "100m")
			wanted.Labels = map[string]string{"app": "web", "hash": "2"}
			for _, change := range test.pod {
				change(wanted)
			}
			if reason := s.choose(wanted); (reason == "") != (test.want == "") || !strings.Contains(reason, test.want) {
				t.Errorf("the pod is left because %q, want %q", reason, test.want)
			}
		})
	}
}

// TestUnreadNeighboursBindNothing has a constraint whose pods were not read. Pods that have ended, and
// pending ones without a plan, count nowhere.
func TestUnreadNeighboursBindNothing(t *testing.T) {
	s := newShop()
	pod := asking("p", "100m")
	pod.Labels = map[string]string{"app": "web"}
	spread(corev1.LabelTopologyZone)(pod)
	for _, neighbours := range []*binding.Neighbours{nil, s.place.Neighbours} {
		place := s.place
		place.Neighbours = neighbours
		chosen, left := binding.Choose(place, []*corev1.Pod{pod})
		if len(chosen) != 0 || !strings.Contains(left[0].Reason, "not read") {
			t.Errorf("chosen %d, left %v", len(chosen), left)
		}
	}
	s.has("ended", "a", false).Status.Phase = corev1.PodSucceeded
	s.has("waiting", "", false)
	if reason := s.choose(pod); reason != "" {
		t.Errorf("the pod is left because %q", reason)
	}
}
