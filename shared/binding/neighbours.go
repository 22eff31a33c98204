package binding

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Selection names the pods of a namespace that a constraint counts: by a label selector in its text form.
type Selection struct{ Namespace, Selector string }

// Neighbours are what required constraints of spread and affinity count. Pods that came after the plan are among
// them, and so are those that are planned for nodes that have not joined.
type Neighbours struct {
	// Pods are those of each Selection that was read.
	Pods map[Selection][]*corev1.Pod
	// Nodes are all of the cluster by name, and those that are still to join.
	Nodes map[string]*corev1.Node
	// Planned are the nodes that pods without one are planned for, by UID.
	Planned map[string]*corev1.Node
}

// constraint is a required constraint of spread or affinity.
type constraint struct {
	field      string
	key        string
	selector   labels.Selector
	namespaces []string
	// judge returns whether the pod may join its node's domain.
	judge func(c *constraint, pod *corev1.Pod, at counted) bool
	// maxSkew, minDomains and anyNode belong to spreads. anyNode counts nodes that the pod cannot have, too.
	maxSkew, minDomains int
	anyNode             bool
}

// counted is how many pods a constraint counts: in the node's domain, in all, and in each domain.
type counted struct {
	here    int
	all     int
	domains map[string]int
}

// Selections returns what has to be read before the pods are chosen, each once.
func Selections(pods []*corev1.Pod) []Selection {
	var all []Selection
	for _, pod := range pods {
		constraints, reason := constraintsOf(pod)
		if reason != "" {
			continue
		}
		for i := range constraints {
			for _, selection := range constraints[i].selections() {
				if !slices.Contains(all, selection) {
					all = append(all, selection)
				}
			}
		}
	}
	return all
}

func (c *constraint) selections() []Selection {
	var all []Selection
	for _, namespace := range c.namespaces {
		all = append(all, Selection{namespace, c.selector.String()})
	}
	return all
}

// constraintsOf returns the pod's required constraints, or why only the scheduler can judge one.
func constraintsOf(pod *corev1.Pod) (all []constraint, reason string) {
	for i := range pod.Spec.TopologySpreadConstraints {
		spread := &pod.Spec.TopologySpreadConstraints[i]
		if spread.WhenUnsatisfiable != corev1.DoNotSchedule || spread.LabelSelector == nil {
			continue
		}
		if policy := spread.NodeTaintsPolicy; policy != nil && *policy == corev1.NodeInclusionPolicyHonor {
			return nil, "the scheduler compares its spread with the taints of nodes"
		}
		c := constraint{
			field: "spread", key: spread.TopologyKey, namespaces: []string{pod.Namespace},
			judge: (*constraint).spreads, maxSkew: int(spread.MaxSkew),
		}
		if policy := spread.NodeAffinityPolicy; policy != nil {
			c.anyNode = *policy == corev1.NodeInclusionPolicyIgnore
		}
		if spread.MinDomains != nil {
			c.minDomains = int(*spread.MinDomains)
		}
		selector := spread.LabelSelector.DeepCopy()
		for _, key := range spread.MatchLabelKeys {
			if value, has := pod.Labels[key]; has {
				selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
					Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value},
				})
			}
		}
		if reason := c.selects(selector); reason != "" {
			return nil, reason
		}
		all = append(all, c)
	}
	if affinity := pod.Spec.Affinity; affinity != nil {
		if of := affinity.PodAffinity; of != nil {
			all, reason = withTerms(all, pod, of.RequiredDuringSchedulingIgnoredDuringExecution, "affinity",
				(*constraint).attracts)
		}
		if of := affinity.PodAntiAffinity; of != nil && reason == "" {
			all, reason = withTerms(all, pod, of.RequiredDuringSchedulingIgnoredDuringExecution, "anti-affinity",
				(*constraint).repels)
		}
	}
	return all, reason
}

// withTerms adds the terms of affinity or anti-affinity.
func withTerms(
	all []constraint, pod *corev1.Pod, terms []corev1.PodAffinityTerm, field string,
	judge func(*constraint, *corev1.Pod, counted) bool,
) ([]constraint, string) {
	for i := range terms {
		term := &terms[i]
		if term.NamespaceSelector != nil {
			return nil, "the scheduler knows the namespaces that its " + field + " selects"
		}
		c := constraint{field: field, key: term.TopologyKey, namespaces: term.Namespaces, judge: judge}
		if len(c.namespaces) == 0 {
			c.namespaces = []string{pod.Namespace}
		}
		if reason := c.selects(term.LabelSelector); reason != "" {
			return nil, reason
		}
		all = append(all, c)
	}
	return all, ""
}

// selects sets the selector, which is not to name all pods of a namespace: these may be very many.
func (c *constraint) selects(selector *metav1.LabelSelector) string {
	read, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || read.Empty() {
		return fmt.Sprintf("the scheduler counts all pods for its %s by %s", c.field, c.key)
	}
	c.selector = read
	return ""
}

// refuses tells which required constraint keeps the pod off the node, as the cluster will be when all pods
// are on the nodes of their plans. It is empty where none does.
func (n *Neighbours) refuses(pod *corev1.Pod, node *corev1.Node) string {
	constraints, reason := constraintsOf(pod)
	if reason != "" {
		return reason
	}
	for i := range constraints {
		c := &constraints[i]
		domain, has := node.Labels[c.key]
		if !has {
			return fmt.Sprintf("its %s needs a node with the label %s", c.field, c.key)
		}
		at, read := n.count(c, pod, domain)
		if !read {
			return fmt.Sprintf("the pods that its %s counts were not read", c.field)
		}
		if !c.judge(c, pod, at) {
			return fmt.Sprintf("pods have come since the plan, and its %s by %s keeps it from %s", c.field, c.key, domain)
		}
	}
	return ""
}

// count counts the other pods of a constraint by domain. Pods that are neither bound nor planned count nowhere.
func (n *Neighbours) count(c *constraint, pod *corev1.Pod, domain string) (at counted, read bool) {
	if n == nil {
		return at, false
	}
	admits := c.admits(pod)
	at = counted{domains: map[string]int{}}
	if c.isSpread() {
		for _, node := range n.Nodes {
			if value, has := node.Labels[c.key]; has && admits(node) {
				at.domains[value] = 0
			}
		}
	}
	for _, selection := range c.selections() {
		pods, has := n.Pods[selection]
		if !has {
			return at, false
		}
		for _, other := range pods {
			if node := n.nodeOf(other); node != nil && c.counts(other, pod) && admits(node) {
				at.add(node, c.key)
			}
		}
	}
	at.here = at.domains[domain]
	return at, true
}

func (at *counted) add(node *corev1.Node, key string) {
	at.all++
	if value, has := node.Labels[key]; has {
		at.domains[value]++
	}
}

func (c *constraint) isSpread() bool { return c.maxSkew > 0 }

// admits tells which nodes the constraint of the pod counts.
func (c *constraint) admits(pod *corev1.Pod) func(*corev1.Node) bool {
	if !c.isSpread() || c.anyNode {
		return func(*corev1.Node) bool { return true }
	}
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	return func(node *corev1.Node) bool { matches, err := affinity.Match(node); return err == nil && matches }
}

// counts reports whether the constraint of the pod counts the other one.
func (c *constraint) counts(other, pod *corev1.Pod) bool {
	return other.UID != pod.UID && c.matches(other) && !scheduling.IsTerminal(other) &&
		!(c.isSpread() && other.DeletionTimestamp != nil)
}

// nodeOf returns the node that the pod has or is planned for; nil for none.
func (n *Neighbours) nodeOf(pod *corev1.Pod) *corev1.Node {
	if pod.Spec.NodeName != "" {
		return n.Nodes[pod.Spec.NodeName]
	}
	return n.Planned[string(pod.UID)]
}

// matches reports whether the constraint counts the pod.
func (c *constraint) matches(pod *corev1.Pod) bool {
	return slices.Contains(c.namespaces, pod.Namespace) && c.selector.Matches(labels.Set(pod.Labels))
}

// spreads compares with the emptiest domain, as kube-scheduler does.
func (c *constraint) spreads(pod *corev1.Pod, at counted) bool {
	least := at.here
	for _, count := range at.domains {
		least = min(least, count)
	}
	if len(at.domains) < c.minDomains {
		least = 0
	}
	own := 0
	if c.matches(pod) {
		own = 1
	}
	return at.here+own-least <= c.maxSkew
}

// attracts admits the first pod of a group that attracts itself.
func (c *constraint) attracts(pod *corev1.Pod, at counted) bool {
	return at.here > 0 || at.all == 0 && c.matches(pod)
}

func (c *constraint) repels(_ *corev1.Pod, at counted) bool { return at.here == 0 }
