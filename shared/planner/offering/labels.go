package offering

import (
	"encoding/binary"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// termsKey is what LabelsFor reads of pods that share a node with any DaemonSet's.
type termsKey struct {
	alternatives *workload.Alternatives
	terms        *workload.NodeTerms
	avoidsTaints bool
}

// LabelsFor is what labels, taints and DaemonSets allow for pods of the group with these
// alternatives. The need matters only where it decides which alternative new nodes follow.
func (s *Feasibilities) LabelsFor(
	g *workload.Group, alternatives *workload.Alternatives, need resource.Vector,
) *LabelFeasibility {
	key := termsKey{alternatives: alternatives, terms: g.Terms, avoidsTaints: g.AvoidsTaints}
	l, ok := s.labels.byTerms[key]
	if beside := len(g.Ports) > 0 || !g.Beside.IsZero(); !ok || beside {
		l = s.labelsOf(g, alternatives)
		if !beside {
			s.labels.byTerms[key] = l
		}
	}
	if l.choices == nil {
		return l
	}
	return s.followOne(l, need, g.MostPerNode())
}

// labelsOf is LabelsFor before an alternative is chosen by size.
func (s *Feasibilities) labelsOf(g *workload.Group, alternatives *workload.Alternatives) *LabelFeasibility {
	s.key = appendLabelKey(s.key[:0], g, alternatives)
	l, ok := s.labels.byText[string(s.key)]
	if !ok {
		text := string(s.key)
		l = s.readLabels(g, alternatives)
		s.labels.byText[text] = l
	}
	return l
}

// appendLabelKey appends all that the result of readLabels depends on.
func appendLabelKey(key []byte, g *workload.Group, alternatives *workload.Alternatives) []byte {
	if g.AvoidsTaints {
		key = append(key, 'V')
	}
	for i := range g.Tolerations {
		t := &g.Tolerations[i]
		key = dense.AppendText(append(key, 'T'), t.Key)
		key = dense.AppendText(key, string(t.Operator))
		key = dense.AppendText(key, t.Value)
		key = dense.AppendText(key, string(t.Effect))
	}
	for _, port := range g.Ports {
		key = binary.AppendUvarint(append(key, 'P'), uint64(port.Port))
		key = dense.AppendText(key, string(port.Protocol))
		key = dense.AppendText(key, port.IP)
	}
	for _, i := range g.Beside.Avoided {
		key = binary.AppendUvarint(append(key, 'D'), uint64(i))
	}
	for _, sets := range g.Beside.Wanted {
		key = append(key, 'W')
		for _, i := range sets {
			key = binary.AppendUvarint(key, uint64(i)+1)
		}
		key = append(key, 0)
	}
	for _, alternative := range alternatives.List() {
		key = append(key, 'A')
		if len(alternative) == 1 {
			for _, r := range alternative {
				key = workload.AppendRequirement(key, r)
			}
			continue
		}
		for _, name := range alternative.Keys() {
			key = workload.AppendRequirement(key, alternative[name])
		}
	}
	return key
}

// newLabels is an empty label feasibility with the next number.
func (s *Feasibilities) newLabels(anyAlternative *dense.Set, offerings dense.Set) *LabelFeasibility {
	l := &LabelFeasibility{Index: s.labels.count, Offerings: offerings, AnyAlternative: anyAlternative}
	s.labels.count++
	return l
}

// readLabels works out what each pool allows. Where alternatives of a pool decide open labels, a
// node can follow only one of them, and readLabels leaves the choice open.
func (s *Feasibilities) readLabels(g *workload.Group, alternatives *workload.Alternatives) *LabelFeasibility {
	ix := s.index
	anyAlternative := dense.NewSet(len(ix.Offerings))
	l := s.newLabels(&anyAlternative, dense.NewSet(len(ix.Offerings)))
	for _, pool := range ix.Pools {
		if pool.Problem != "" || !g.Tolerates(pool.NodePool.Spec.Template.Spec.Taints) {
			continue
		}
		var choices []poolAlternative
		decided := false
		for _, alternative := range alternatives.List() {
			set, decides := s.Meeting(pool, alternative)
			if set == nil {
				continue
			}
			ix.keepBesideDaemons(set, pool, g)
			if set.Empty() {
				continue
			}
			decided = decided || decides != nil
			l.AnyAlternative.Or(set)
			choices = append(choices, poolAlternative{pool: pool, offerings: set, resolves: decides})
		}
		switch {
		case !decided:
			for _, c := range choices {
				l.Offerings.Or(c.offerings)
			}
		case len(choices) == 1:
			l.add(choices[0])
		default:
			l.choices = append(l.choices, choices)
		}
	}
	return l
}
