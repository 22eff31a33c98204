package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/volumes"
)

// shape is a number of pods that are equal for scheduling.
type shape struct {
	// pods are in the order in which they get places: oldest first.
	pods []*corev1.Pod
	// first is the first of all pods that were equal before any of them gave up a preference.
	first *corev1.Pod
	key   string
	// spec is the pods' own, or one with preferences given up; avoids says that taints of effect PreferNoSchedule keep the pods away still.
	spec   *corev1.PodSpec
	avoids bool
	// preferences says that preferences left in spec are demands.
	preferences bool
	// placement tells apart what the pods' own node selectors, required node affinity and tolerations ask for; shapes of the same placement share their terms.
	placement string
	terms     *placementTerms
	// class is the pods' number in the problem's podClasses.
	class int
	// need is what one pod takes.
	need vector
	// strict are those of the terms. alternatives are the same with the heaviest preferred term and what the pods' volumes demand.
	strict, alternatives []scheduling.Requirements
	// tied says that the volumes can be used in some places only.
	tied        bool
	attachments []volumes.Attachment
	tolerations []corev1.Toleration
	ports       []hostPort
	topology    topologyTerms
	// problem is why the pods can have no place at all; empty if they can.
	problem string
}

// placementTerms are what pods ask for that have the same node selector and required node affinity.
type placementTerms struct {
	// strict are the label requirements of which a node has to meet one: the node selector with each term of the required node affinity; err says what of them
	// cannot be read. Nobody may change them.
	strict []scheduling.Requirements
	err    error
}

func (s *shape) pod() *corev1.Pod { return s.pods[0] }

// tolerates reports whether the pods may run on a node with these taints.
func (s *shape) tolerates(taints []corev1.Taint) bool {
	return scheduling.ToleratesAll(taints, s.tolerations) && (!s.avoids || scheduling.PreferredUntolerated(taints, s.tolerations) == nil)
}

// readShapes groups the pods, and reads what they take.
func (p *workload) readShapes() {
	pods := p.snapshot.Pods
	key := podKey{classes: p.podClasses, preferences: p.respects(), volumes: p.volumeText}
	keys, placements := newNumbering(min(len(pods), 1<<10)), newNumbering(1)
	var needs needReader
	// By pod the number of its shape; by shape its first pod, how many there are, and the number of its placement.
	numbers := make([]int32, len(pods))
	type group struct{ first, count, placement int32 }
	groups := make([]group, 0, cap(keys.ends))
	for i := range pods {
		k := key.of(&pods[i])
		number, isNew := keys.of(k)
		if isNew {
			placed, _ := placements.of(k[key.placementStart:key.placementEnd])
			groups = append(groups, group{first: int32(i), placement: int32(placed)})
			needs.add(key.sum)
		}
		groups[number].count++
		numbers[i] = int32(number)
	}
	texts, placementTexts := keys.texts(), placements.texts()
	terms := make([]*placementTerms, len(placementTexts))
	shapes := make([]shape, len(groups))
	p.shapes = make([]*shape, len(groups))
	members := make([]*corev1.Pod, len(pods))
	for i, g := range groups {
		first := &pods[g.first]
		if terms[g.placement] == nil {
			strict, err := nodeAlternatives(&first.Spec)
			terms[g.placement] = &placementTerms{strict: strict, err: err}
		}
		shapes[i] = shape{
			pods: members[:0:g.count], key: texts[i], spec: &first.Spec, placement: placementTexts[g.placement], terms: terms[g.placement], class: p.podClasses.of(first), preferences: p.respects(), avoids: p.respects() && p.avoidable,
		}
		members = members[g.count:]
		p.shapes[i] = &shapes[i]
	}
	for i, number := range numbers {
		shapes[number].pods = append(shapes[number].pods, &pods[i])
	}
	for _, s := range p.shapes {
		if len(s.pods) > 1 {
			slices.SortFunc(s.pods, comparePods)
		}
		s.first = s.pod()
		s.tolerations = s.pod().Spec.Tolerations
		s.ports = hostPorts(&s.pod().Spec)
		p.readShape(s)
	}
	p.readNeeds(&needs)
	sortShapes(p.shapes)
}

func (p *workload) respects() bool { return p.snapshot.PreferencePolicy != plan.PreferencesIgnored }

// readShape fills in what follows from the shape's spec.
func (p *workload) readShape(s *shape) {
	if len(s.spec.ResourceClaims) > 0 {
		s.problem = "spec.resourceClaims asks for dynamic resource allocation, which is not planned for: use extended resources"
		return
	}
	var err error
	if s.strict = s.terms.strict; s.terms.err != nil {
		s.problem = s.terms.err.Error()
		return
	}
	need, err := p.volumesOf(s.pod())
	if err != nil {
		s.problem = err.Error()
		return
	}
	if s.problem = p.exclusive(s.pod(), &need); s.problem != "" {
		return
	}
	s.attachments = need.Attachments
	s.alternatives = s.strict
	if s.preferences {
		if s.alternatives, err = preferredAlternatives(s.spec, s.strict); err != nil {
			s.problem = err.Error()
			return
		}
	}
	places := p.placesOf(&need)
	if s.tied = places != nil; s.tied {
		if s.alternatives = combined(s.alternatives, places); len(s.alternatives) == 0 {
			s.problem = "its node selector and affinity leave out the places where its volumes can be used: " + alternativesText(places)
			return
		}
	}
	if s.topology, err = p.readTopology(s.pod(), s.spec, s.preferences); err != nil {
		s.problem = err.Error()
	}
}

// relaxed is the shape with one preference given up, for some of its pods; nil if it has none left.
func (p *workload) relaxed(s *shape, pods []*corev1.Pod) *shape {
	if !s.preferences {
		return nil
	}
	next := *s
	next.pods, next.problem = pods, ""
	if spec := relax(s.spec); spec != nil {
		next.spec = spec
	} else if s.avoids {
		next.avoids = false
	} else {
		return nil
	}
	p.readShape(&next)
	return &next
}

// sortShapes puts first what is hardest to place.
func sortShapes(shapes []*shape) {
	type sized struct {
		cpu   int64
		shape *shape
	}
	order := make([]sized, len(shapes))
	for i, s := range shapes {
		order[i] = sized{cpu: s.need[axisCPU], shape: s}
	}
	slices.SortFunc(order, func(a, b sized) int {
		if a.cpu != b.cpu {
			return cmp.Compare(b.cpu, a.cpu)
		}
		return compareShapes(a.shape, b.shape)
	})
	for i := range order {
		shapes[i] = order[i].shape
	}
}

// compareShapes orders by cpu, then memory, both descending.
func compareShapes(a, b *shape) int {
	if c := cmp.Or(cmp.Compare(b.need[axisCPU], a.need[axisCPU]), cmp.Compare(b.need[axisMemory], a.need[axisMemory])); c != 0 {
		return c
	}
	return strings.Compare(a.key, b.key)
}

func comparePods(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

// most is how many of the shape's pods a node may have, as far as the pods themselves limit that.
func (s *shape) most() int {
	most := len(s.pods)
	if portsClash(s.ports, s.ports) || slices.ContainsFunc(s.topology.anti, func(t affinityTerm) bool { return t.key == corev1.LabelHostname && t.match(s.pod()) }) {
		return 1
	}
	for i := range s.topology.spread {
		if t := &s.topology.spread[i]; t.key == corev1.LabelHostname && t.match(s.pod()) {
			most = min(most, t.maxSkew)
		}
	}
	return most
}

// mayBeIn reports whether the domain counts for a spread of the shape's, as far as its own node selector and affinity go.
func (s *shape) mayBeIn(term *spreadTerm, value string) bool {
	return term.ignoreAffinity || slices.ContainsFunc(s.strict, func(a scheduling.Requirements) bool {
		r, asked := a[term.key]
		return !asked || r.Has(value)
	})
}
