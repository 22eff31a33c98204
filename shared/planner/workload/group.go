package workload

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

// Group is a number of pods that are equal for scheduling.
type Group struct {
	// Pods are in the order in which they get places: oldest first.
	Pods []*corev1.Pod
	// First is the first of all pods that were equal before any of them gave up a preference.
	First *corev1.Pod
	key   string
	// Spec is the pods' own, or one with preferences given up; avoids says that taints of effect
	// PreferNoSchedule keep the pods away still.
	Spec         *corev1.PodSpec
	AvoidsTaints bool
	// Preferences says that preferences left in spec are demands.
	Preferences bool
	// NodeTermsKey tells apart what the pods' own node selectors, required node affinity and
	// tolerations ask for; pod groups of the same placement share their terms.
	NodeTermsKey string
	Terms        *NodeTerms
	// Class is the pods' number in the problem's podClasses.
	Class int
	// Need is what one pod takes.
	Need resource.Vector
	// Required are those of the terms. alternatives are the same with the heaviest preferred term and
	// what the pods' volumes demand.
	Required, Alternatives *Alternatives
	// VolumeBound says that the volumes can be used in some places only.
	VolumeBound bool
	Attachments []volumes.Attachment
	Tolerations []corev1.Toleration
	Ports       []HostPort
	Topology    TopologyTerms
	// Problem is why the pods can have no place at all; empty if they can.
	Problem string
}

// NodeTerms are what pods ask for that have the same node selector and required node affinity.
type NodeTerms struct {
	// required are the label requirements of which a node has to meet one: the node selector with each
	// term of the required node affinity; err says what of them cannot be read. Nobody may change
	// them.
	required *Alternatives
	err      error
}

func (s *Group) Pod() *corev1.Pod { return s.Pods[0] }

// Tolerates reports whether the pods may run on a node with these taints.
func (s *Group) Tolerates(taints []corev1.Taint) bool {
	return scheduling.ToleratesAll(taints, s.Tolerations) &&
		(!s.AvoidsTaints || scheduling.PreferredUntolerated(taints, s.Tolerations) == nil)
}

// readGroups groups the pods, and reads what they take.
func (p *Workload) readGroups() {
	pods := p.Snapshot.Pods
	key := podKey{classes: p.Classes, preferences: p.respectsPreferences(), volumes: p.volumeText}
	keys, placements := dense.NewTable(min(len(pods), 1<<10)), dense.NewTable(1)
	var needs needReader
	// By pod the number of its pod group; by pod group its first pod, how many there are, and the
	// number of its placement.
	numbers := make([]int32, len(pods))
	type group struct{ first, count, placement int32 }
	groups := make([]group, 0, cap(keys.Ends))
	for i := range pods {
		k := key.of(&pods[i])
		number, isNew := keys.Number(k)
		if isNew {
			placed, _ := placements.Number(k[key.placementStart:key.placementEnd])
			groups = append(groups, group{first: int32(i), placement: int32(placed)})
			needs.add(key.sum)
		}
		groups[number].count++
		numbers[i] = int32(number)
	}
	texts, placementTexts := keys.Texts(), placements.Texts()
	terms := make([]*NodeTerms, len(placementTexts))
	shapes := make([]Group, len(groups))
	p.Groups = make([]*Group, len(groups))
	members := make([]*corev1.Pod, len(pods))
	for i, g := range groups {
		first := &pods[g.first]
		if terms[g.placement] == nil {
			strict, err := NodeAlternatives(&first.Spec)
			terms[g.placement] = &NodeTerms{required: NewAlternatives(strict), err: err}
		}
		shapes[i] = Group{
			Pods: members[:0:g.count], key: texts[i], Spec: &first.Spec, NodeTermsKey: placementTexts[g.placement],
			Terms: terms[g.placement], Class: p.Classes.of(first), Preferences: p.respectsPreferences(),
			AvoidsTaints: p.respectsPreferences() && p.avoidableTaints,
		}
		members = members[g.count:]
		p.Groups[i] = &shapes[i]
	}
	for i, number := range numbers {
		shapes[number].Pods = append(shapes[number].Pods, &pods[i])
	}
	for _, s := range p.Groups {
		if len(s.Pods) > 1 {
			slices.SortFunc(s.Pods, ComparePods)
		}
		s.First = s.Pod()
		s.Tolerations = s.Pod().Spec.Tolerations
		s.Ports = HostPorts(&s.Pod().Spec)
		p.readGroup(s)
	}
	p.readNeeds(&needs)
	sortGroups(p.Groups)
}

func (p *Workload) respectsPreferences() bool {
	return p.Snapshot.PreferencePolicy != plan.PreferencesIgnored
}

// readGroup fills in what follows from the pod group's spec.
func (p *Workload) readGroup(s *Group) {
	if len(s.Spec.ResourceClaims) > 0 {
		s.Problem = "spec.resourceClaims asks for dynamic resource allocation, which is not planned for: " +
			"use extended resources"
		return
	}
	var err error
	if s.Required = s.Terms.required; s.Terms.err != nil {
		s.Problem = s.Terms.err.Error()
		return
	}
	need, err := p.volumeNeed(s.Pod())
	if err != nil {
		s.Problem = err.Error()
		return
	}
	if s.Problem = p.exclusiveClaim(s.Pod(), &need); s.Problem != "" {
		return
	}
	s.Attachments = need.Attachments
	s.Alternatives = s.Required
	if s.Preferences {
		if s.Alternatives, err = preferredAlternatives(s.Spec, s.Required); err != nil {
			s.Problem = err.Error()
			return
		}
	}
	places := p.volumePlaces(&need)
	if s.VolumeBound = places != nil; s.VolumeBound {
		if s.Alternatives = Combine(s.Alternatives.List(), places); s.Alternatives == nil {
			s.Problem = "its node selector and affinity leave out the places where its volumes can be used: " + alternativesText(
				places,
			)
			return
		}
	}
	if s.Topology, err = p.readTopology(s.Pod(), s.Spec, s.Preferences); err != nil {
		s.Problem = err.Error()
	}
}

// Relax is the pod group with one preference given up, for some of its pods; nil if it has none
// left.
func (p *Workload) Relax(s *Group, pods []*corev1.Pod) *Group {
	if !s.Preferences {
		return nil
	}
	next := *s
	next.Pods, next.Problem = pods, ""
	if spec := RelaxSpec(s.Spec); spec != nil {
		next.Spec = spec
	} else if s.AvoidsTaints {
		next.AvoidsTaints = false
	} else {
		return nil
	}
	p.readGroup(&next)
	return &next
}

// sortGroups puts first what is hardest to place.
func sortGroups(shapes []*Group) {
	type sized struct {
		cpu   int64
		shape *Group
	}
	order := make([]sized, len(shapes))
	for i, s := range shapes {
		order[i] = sized{cpu: s.Need[resource.CPU], shape: s}
	}
	slices.SortFunc(order, func(a, b sized) int {
		if a.cpu != b.cpu {
			return cmp.Compare(b.cpu, a.cpu)
		}
		return CompareGroups(a.shape, b.shape)
	})
	for i := range order {
		shapes[i] = order[i].shape
	}
}

// CompareGroups orders by cpu, then memory, both descending.
func CompareGroups(a, b *Group) int {
	if c := cmp.Or(cmp.Compare(b.Need[resource.CPU], a.Need[resource.CPU]),
		cmp.Compare(b.Need[resource.Memory], a.Need[resource.Memory])); c != 0 {
		return c
	}
	return strings.Compare(a.key, b.key)
}

func ComparePods(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

// MostPerNode is how many of the pod group's pods a node may have, as far as the pods themselves
// limit that.
func (s *Group) MostPerNode() int {
	most := len(s.Pods)
	if PortsClash(s.Ports, s.Ports) ||
		slices.ContainsFunc(
			s.Topology.AntiAffinity,
			func(t AffinityTerm) bool { return t.Key == corev1.LabelHostname && t.Matches(s.Pod()) },
		) {
		return 1
	}
	for i := range s.Topology.Spread {
		if t := &s.Topology.Spread[i]; t.Key == corev1.LabelHostname && t.Matches(s.Pod()) {
			most = min(most, t.MaxSkew)
		}
	}
	return most
}

// MayBeIn reports whether the domain counts for a spread of the pod group's, as far as its own node
// selector and affinity go.
func (s *Group) MayBeIn(term *SpreadTerm, value string) bool {
	return term.IgnoreAffinity || slices.ContainsFunc(s.Required.List(), func(a scheduling.Requirements) bool {
		r, asked := a[term.Key]
		return !asked || r.Has(value)
	})
}
