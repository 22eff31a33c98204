package placement

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/workload"

	"github.com/whittle-dev/whittle/shared/volumes"
)

// FillExisting places units of the demands from first on existing nodes, as many as fit. Nodes that
// an earlier plan nominated for pods of a group get such pods first.
func (s *State) FillExisting(first int) {
	s.fillNominated(first)
	demands := slices.Clone(s.Demands[first:])
	slices.SortStableFunc(demands, func(a, b *Demand) int {
		// Each place for a sparse demand saves the most new nodes.
		return cmp.Or(-CompareBools(a.sparse(), b.sparse()), workload.CompareGroups(a.Group, b.Group))
	})
	for _, d := range demands {
		for _, e := range s.Existing {
			if d.Waiting == 0 {
				break
			}
			s.FillNode(e, d, d.Waiting)
		}
	}
}

// sparse reports whether a node takes few units of the demand, even if it has room for more.
func (d *Demand) sparse() bool {
	return d.Conflicts != nil && d.Conflicts.Has(d.Index) || len(d.Hosts.Spread) > 0
}

// FillNode places as many units of the demand on the node as fit, at most limit. It lowers
// Demand.Waiting and returns the number of units.
func (s *State) FillNode(e *ExistingNode, d *Demand, limit int) int {
	n := int(e.Free.Room(d.Need, int64(min(limit, d.Waiting))))
	if n == 0 {
		return 0
	}
	for key, value := range d.Domains {
		if have, ok := e.Domain(key); ok && have != value {
			return 0
		}
	}
	if n = s.roomBesides(e, d, n); n == 0 || !s.Accepts(e, d.Group, d.Alternatives) {
		return 0
	}
	e.Free.Add(d.Need, -int64(n))
	if i := slices.IndexFunc(e.Fills, func(f Fill) bool { return f.Demand == d.Index }); i >= 0 {
		e.Fills[i].Count += n
	} else {
		e.Fills = append(e.Fills, Fill{Demand: d.Index, Count: n})
	}
	for _, a := range d.Group.Attachments {
		e.volumes.attach(a)
	}
	d.Waiting -= n
	return n
}

// TakeBack takes at most so many units of the demand off the node again. It raises Demand.Waiting
// and returns the number of units.
func (s *State) TakeBack(e *ExistingNode, d *Demand, most int) int {
	i := slices.IndexFunc(e.Fills, func(f Fill) bool { return f.Demand == d.Index })
	if i < 0 {
		return 0
	}
	n := min(most, e.Fills[i].Count)
	if e.Fills[i].Count -= n; e.Fills[i].Count == 0 {
		e.Fills = slices.Delete(e.Fills, i, i+1)
	}
	e.Free.Add(d.Need, int64(n))
	if n > 0 {
		for _, a := range d.Group.Attachments {
			e.volumes.detach(a)
		}
	}
	d.Waiting += n
	return n
}

// roomBesides is how many units of the demand the pods on the node allow, at most limit.
func (s *State) roomBesides(e *ExistingNode, d *Demand, limit int) int {
	if d.Conflicts != nil {
		for _, f := range e.Fills {
			if d.Conflicts.Has(f.Demand) {
				return 0
			}
		}
		if d.Conflicts.Has(d.Index) {
			limit = 1
		}
	}
	for _, selector := range e.antiAffinity {
		if selector.MatchesClass(s.Work.Classes, d.Group.Class) {
			return 0
		}
	}
	for i := range d.Hosts.AntiAffinity {
		if s.PodsOnExisting(e, d.Hosts.AntiAffinity[i].PodSelector) > 0 {
			return 0
		}
	}
	for _, selector := range d.Follows {
		if s.PodsOnExisting(e, selector) == 0 {
			return 0
		}
	}
	if limit = s.spreadRoom(e, d, limit); limit <= 0 {
		return 0
	}
	if len(d.Group.Attachments) > 0 {
		if !e.volumes.canAttach(d.Group.Attachments) {
			return 0
		}
		limit = 1 // Each pod with volumes is a pod group of its own.
	}
	return limit
}

// spreadRoom is how many units of the demand its spreads over hosts allow on the node, at most
// limit. It may be negative.
func (s *State) spreadRoom(e *ExistingNode, d *Demand, limit int) int {
	for i := range d.Hosts.Spread {
		term := &d.Hosts.Spread[i]
		// The skew is measured from zero, the count of an empty new node, and the host slack.
		left := term.MaxSkew + d.HostSlack - s.PodsOnExisting(e, term.PodSelector)
		if !term.MatchesClass(s.Work.Classes, d.Group.Class) {
			if left < 0 {
				return 0
			}
			continue
		}
		limit = min(limit, left)
	}
	return limit
}

// PodsOnExisting is how many of the selected pods run on the node, or will by the plan.
func (s *State) PodsOnExisting(e *ExistingNode, selector *workload.PodSelector) int {
	n, ok := e.running[selector]
	if !ok {
		n = s.Work.RunningOn(e.index, selector)
		if e.running == nil {
			e.running = map[*workload.PodSelector]int{}
		}
		e.running[selector] = n
	}
	for _, f := range e.Fills {
		if d := s.Demands[f.Demand]; selector.MatchesClass(s.Work.Classes, d.Group.Class) {
			n += f.Count * d.PodsPerUnit()
		}
	}
	return n
}

// attachedVolumes are the volumes on a node, with the limits of their drivers.
type attachedVolumes struct {
	// byDriver counts the pods of each volume, by CSI driver.
	byDriver map[string]map[string]int
	// limits are how many volumes of a driver the node can attach. Other drivers have no limit.
	limits map[string]int
}

func (v *attachedVolumes) attach(a volumes.Attachment) {
	if v.byDriver == nil {
		v.byDriver = map[string]map[string]int{}
	}
	if v.byDriver[a.Driver] == nil {
		v.byDriver[a.Driver] = map[string]int{}
	}
	v.byDriver[a.Driver][a.Volume]++
}

func (v *attachedVolumes) detach(a volumes.Attachment) {
	if v.byDriver[a.Driver][a.Volume]--; v.byDriver[a.Driver][a.Volume] == 0 {
		delete(v.byDriver[a.Driver], a.Volume)
	}
}

// canAttach reports whether the node can attach the volumes beside those that it has.
func (v *attachedVolumes) canAttach(attachments []volumes.Attachment) bool {
	more := map[string]int{}
	for _, a := range attachments {
		if v.byDriver[a.Driver][a.Volume] == 0 {
			more[a.Driver]++
		}
	}
	for driver, n := range more {
		if limit, ok := v.limits[driver]; ok && len(v.byDriver[driver])+n > limit {
			return false
		}
	}
	return true
}
