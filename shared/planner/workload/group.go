package workload

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

// Group is pods that are equal for scheduling.
type Group struct {
	// Pods are in the order in which they get places: oldest first.
	Pods []*corev1.Pod
	// First identifies the group that Read made. Relaxed groups of its pods have the same First.
	First *corev1.Pod
	// key is the group key that Read found.
	key string
	// Spec is the spec of each pod, without the preferences that Relax dropped.
	Spec *corev1.PodSpec
	// AvoidsTaints says that the pods keep off taints of effect PreferNoSchedule.
	AvoidsTaints bool
	// Preferences says that the preferences of Spec count as required.
	Preferences bool
	// NodeTermsKey identifies the node terms and tolerations of the pods.
	NodeTermsKey string
	// Terms are shared by the groups of one NodeTermsKey.
	Terms *NodeTerms
	// Class is the selector class of the pods.
	Class int
	// Need is what one pod takes of a node.
	Need resource.Vector
	// Required are the requirements of the node terms. Alternatives adds the preferred node affinity
	// term of the greatest weight, and what the volumes require.
	Required, Alternatives *Alternatives
	// VolumeBound says that a volume requires certain nodes.
	VolumeBound bool
	// Attachments are the volumes that count against a node's limit.
	Attachments []volumes.Attachment
	Tolerations []corev1.Toleration
	Ports       []HostPort
	Topology    TopologyTerms
	Beside      Beside
	// refusal is a Problem that does not go away when preferences are dropped.
	refusal string
	// Problem is the reason why no node can ever take the pods. It is empty if one can.
	Problem string
}

// NodeTerms are a node selector with required node affinity, as requirements. Groups share them.
type NodeTerms struct {
	required *Alternatives
	// err says which field cannot be read, or that no node can meet the terms.
	err error
}

// Pod is one pod of the group; all are equal.
func (g *Group) Pod() *corev1.Pod { return g.Pods[0] }

// Tolerates reports whether the pods may run on a node with these taints.
func (g *Group) Tolerates(taints []corev1.Taint) bool {
	return scheduling.ToleratesAll(taints, g.Tolerations) &&
		(!g.AvoidsTaints || scheduling.PreferredUntolerated(taints, g.Tolerations) == nil)
}

// MostPerNode is the greatest number of the group's pods that may share a node. Host ports,
// anti-affinity and spreads over hosts limit it; the size of the node does not count.
func (g *Group) MostPerNode() int {
	most := len(g.Pods)
	if PortsClash(g.Ports, g.Ports) ||
		slices.ContainsFunc(
			g.Topology.AntiAffinity,
			func(t AffinityTerm) bool { return t.Key == corev1.LabelHostname && t.Matches(g.Pod()) },
		) {
		return 1
	}
	for i := range g.Topology.Spread {
		if t := &g.Topology.Spread[i]; t.Key == corev1.LabelHostname && t.Matches(g.Pod()) {
			most = min(most, t.MaxSkew)
		}
	}
	return most
}

// MayBeIn reports whether a spread of the group counts a domain. With nodeAffinityPolicy Honor, it
// counts only domains that the group's node terms allow.
func (g *Group) MayBeIn(term *SpreadTerm, value string) bool {
	return term.IgnoreAffinity || slices.ContainsFunc(g.Required.List(), func(a scheduling.Requirements) bool {
		r, required := a[term.Key]
		return !required || r.Has(value)
	})
}

// CompareGroups orders groups by cpu, then by memory, the greatest first, and last by content.
func CompareGroups(a, b *Group) int {
	if c := cmp.Or(cmp.Compare(b.Need[resource.CPU], a.Need[resource.CPU]),
		cmp.Compare(b.Need[resource.Memory], a.Need[resource.Memory])); c != 0 {
		return c
	}
	return strings.Compare(a.key, b.key)
}

// CompareImportance orders pods by priority, the highest first, then by age, the oldest first.
func CompareImportance(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(PriorityOf(b), PriorityOf(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
}

// ComparePods orders pods by importance, then by namespace, name and UID.
func ComparePods(a, b *corev1.Pod) int {
	return cmp.Or(CompareImportance(a, b), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

// PriorityOf is the priority that admission has written to the pod; zero is the default.
func PriorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// readGroups sets the groups of the waiting pods. A snapshot may have 100,000 pods, so all groups,
// and all their lists of pods, share one allocation each.
func (w *Workload) readGroups() {
	pods := w.Snapshot.Pods
	writer := keyWriter{classes: w.Classes, preferences: w.respectsPreferences(), volumes: w.volumeKey}
	keys, nodeTermsKeys := dense.NewTable(min(len(pods), 1<<10)), dense.NewTable(1)
	var needs needReader
	groupOf := make([]int32, len(pods))
	// keyed is a group by numbers: its first pod, its count of pods, and the number of its node terms.
	type keyed struct{ first, count, nodeTerms int32 }
	found := make([]keyed, 0, cap(keys.Ends))
	for i := range pods {
		key := writer.pod(&pods[i])
		number, isNew := keys.Number(key)
		if isNew {
			nodeTerms, _ := nodeTermsKeys.Number(key[writer.nodeTermsStart:writer.nodeTermsEnd])
			found = append(found, keyed{first: int32(i), nodeTerms: int32(nodeTerms)})
			needs.add(writer.requested)
		}
		found[number].count++
		groupOf[i] = int32(number)
	}
	keyTexts, nodeTermsTexts := keys.Texts(), nodeTermsKeys.Texts()
	terms := make([]*NodeTerms, len(nodeTermsTexts))
	groups := make([]Group, len(found))
	w.Groups = make([]*Group, len(found))
	members := make([]*corev1.Pod, len(pods))
	for i, f := range found {
		first := &pods[f.first]
		if terms[f.nodeTerms] == nil {
			required, err := NodeAlternatives(&first.Spec)
			terms[f.nodeTerms] = &NodeTerms{required: NewAlternatives(required), err: err}
		}
		groups[i] = Group{
			Pods: members[:0:f.count], key: keyTexts[i], Spec: withFewPreferences(&first.Spec),
			NodeTermsKey: nodeTermsTexts[f.nodeTerms], Terms: terms[f.nodeTerms], Class: w.Classes.of(first),
			Preferences: w.respectsPreferences(), AvoidsTaints: w.respectsPreferences() && w.avoidableTaints,
		}
		members = members[f.count:]
		w.Groups[i] = &groups[i]
	}
	for i, number := range groupOf {
		groups[number].Pods = append(groups[number].Pods, &pods[i])
	}
	w.readNeeds(&needs)
	for _, g := range w.Groups {
		if len(g.Pods) > 1 {
			slices.SortFunc(g.Pods, ComparePods)
		}
		g.First = g.Pod()
		g.Tolerations = g.Pod().Spec.Tolerations
		g.Ports = HostPorts(&g.Pod().Spec)
		err := guard.Run(func() error {
			w.readConstraints(g)
			return nil
		})
		if err != nil {
			g.Problem = err.Error()
		}
	}
	sortGroups(w.Groups)
}

func (w *Workload) respectsPreferences() bool {
	return w.Snapshot.PreferencePolicy != plan.PreferencesIgnored
}

// readConstraints sets what follows from the group's Spec and from its volumes, or its Problem.
func (w *Workload) readConstraints(g *Group) {
	if g.Problem = g.refusal; g.Problem != "" {
		return
	}
	if len(g.Spec.ResourceClaims) > 0 {
		g.Problem = "spec.resourceClaims asks for dynamic resource allocation, which is not planned for: " +
			"use extended resources"
		return
	}
	var err error
	if g.Required = g.Terms.required; g.Terms.err != nil {
		g.Problem = g.Terms.err.Error()
		return
	}
	need, err := w.volumeNeed(g.Pod())
	if err != nil {
		g.Problem = err.Error()
		return
	}
	if g.Problem = w.usedClaim(g.Pod(), &need); g.Problem != "" {
		return
	}
	g.Attachments = need.Attachments
	g.Alternatives = g.Required
	if g.Preferences {
		if g.Alternatives, err = preferredAlternatives(g.Spec, g.Required); err != nil {
			g.Problem = err.Error()
			return
		}
	}
	places := w.volumeAlternatives(&need)
	if g.VolumeBound = places != nil; g.VolumeBound {
		if g.Alternatives = Combine(g.Alternatives.List(), places); g.Alternatives == nil {
			g.Problem = "its node selector and affinity leave out the places where its volumes can be used: " +
				alternativesText(places)
			return
		}
	}
	if g.Topology, err = w.readTopology(g.Pod(), g.Spec, g.Preferences); err != nil {
		g.Problem = err.Error()
		return
	}
	w.readBeside(g)
}

// sortGroups sorts as CompareGroups does. It reads each group's cpu once, because that alone orders
// most groups.
func sortGroups(groups []*Group) {
	type sized struct {
		cpu   int64
		group *Group
	}
	order := make([]sized, len(groups))
	for i, g := range groups {
		order[i] = sized{cpu: g.Need[resource.CPU], group: g}
	}
	slices.SortFunc(order, func(a, b sized) int {
		if a.cpu != b.cpu {
			return cmp.Compare(b.cpu, a.cpu)
		}
		return CompareGroups(a.group, b.group)
	})
	for i := range order {
		groups[i] = order[i].group
	}
}
