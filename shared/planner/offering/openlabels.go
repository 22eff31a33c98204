package offering

import "github.com/whittle-dev/whittle/shared/scheduling"

// A label is open on a node if neither its NodePool nor its offering decides the value. The first
// pod that asks for a value decides it.

// IsOpen reports whether the label is open on all nodes of the pool.
func (p *Pool) IsOpen(key string) bool {
	if r, ok := p.Requirements[key]; ok {
		_, single := r.Single()
		return !single && !p.types.decide(key)
	}
	return p.types.label(key).ofType && !p.types.decide(key)
}

// KeepsSeveral reports whether a claim of the pool leaves the value of a custom label to the instance
// type that EC2 chooses: minValues wants several values, and the types have them.
func (p *Pool) KeepsSeveral(key string) bool { return p.MinValues[key] > 1 && !p.IsOpen(key) }

// leavesOpen reports whether pods with this requirement decide the label on some nodes of the pool.
// They do so by a value, or by the label's absence. Nodes always have the well-known labels of
// their offering, so pods cannot decide that such a label is absent.
func (s *Feasibilities) leavesOpen(pool *Pool, key string, r scheduling.Requirement) bool {
	mentions := s.mentionsOf(pool, key)
	if pool.IsOpen(key) {
		return true
	}
	if IsOfferingKey(key) || r.AllowsAbsent() && scheduling.IsWellKnown(key) {
		return false
	}
	if own, ok := pool.Requirements[key]; ok {
		if _, single := own.Single(); single {
			return false
		}
	}
	return !mentions.all
}

// poolLabels are the labels that the plan has asked of a pool's nodes so far.
type poolLabels struct {
	mentions map[string]labelMentions
	// custom are the labels that are neither well known nor of offerings, and that an offering of the
	// pool mentions.
	custom []string
}

// labelMentions says whether any of a pool's offerings mentions a label, and whether all do.
type labelMentions struct{ any, all bool }

// CustomKeys are the custom labels that the plan has asked of the pool's nodes so far, and that an
// offering of the pool mentions. The pool's own requirements count as asked.
func (s *Feasibilities) CustomKeys(pool *Pool) []string { return s.labelsOfPool(pool).custom }

func (s *Feasibilities) labelsOfPool(pool *Pool) *poolLabels {
	labels, ok := s.poolLabels[pool]
	if !ok {
		labels = &poolLabels{mentions: map[string]labelMentions{}}
		s.poolLabels[pool] = labels
		for key := range pool.Requirements {
			s.mentionsOf(pool, key)
		}
	}
	return labels
}

// mentionsOf says whether the pool's offerings mention the label, and adds it to the labels asked.
func (s *Feasibilities) mentionsOf(pool *Pool, key string) labelMentions {
	labels := s.labelsOfPool(pool)
	if mentions, ok := labels.mentions[key]; ok {
		return mentions
	}
	mentions, known := pool.mentions[key]
	if !known {
		mentions = s.readMentions(pool, key)
	}
	labels.mentions[key] = mentions
	if mentions.any && !scheduling.IsWellKnown(key) && !IsOfferingKey(key) {
		labels.custom = append(labels.custom, key)
	}
	return mentions
}

func (s *Feasibilities) readMentions(pool *Pool, key string) labelMentions {
	if !s.mentions(key) {
		return labelMentions{}
	}
	ix := s.index
	mentions := labelMentions{all: pool.FirstType < pool.EndType}
	for i := pool.FirstType; i < pool.EndType; i++ {
		t := &ix.PoolTypes[i]
		if _, ok := t.Type.Requirements[key]; ok {
			mentions.any = true
			continue
		}
		for _, j := range t.Offerings {
			if _, ok := ix.Offerings[j].Source.Requirements[key]; ok {
				mentions.any = true
			} else {
				mentions.all = false
			}
		}
	}
	return mentions
}
