package topology

import (
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// counts are the counters of pods in domains, and the anti-affinity that keeps pods out of domains.
type counts struct {
	counters map[string]*counter
	// uncertain are the counters with uncertain demands.
	uncertain []*counter
	// repulsions are the anti-affinity terms of running and planned pods by key, domain and selector.
	repulsions map[string]*repulsion
}

// counter counts the pods of a selector in each domain of a key: those that run, and those that have
// a place in the plan.
type counter struct {
	key      string
	selector *workload.PodSelector
	byDomain map[string]int
	// filter leaves out nodes that do not count for a spread; nil counts all.
	filter *nodeFilter
	// uncertain is how many pods of each uncertain demand are in byDomain, by demand.
	uncertain map[int]int
}

// repulsion keeps the selected pods out of a domain, because so many pods there have required
// anti-affinity to them.
type repulsion struct {
	*workload.PodSelector
	key, value string
	count      int
}

func (c *counts) repel(selector *workload.PodSelector, key, value string, count int) {
	name := key + " " + value + " " + selector.Key()
	r := c.repulsions[name]
	if r == nil {
		r = &repulsion{PodSelector: selector, key: key, value: value}
		c.repulsions[name] = r
	}
	r.count += count
}

// CountsOf returns how many of the selected pods each domain of the key has. The map is kept up to
// date from then on; callers must not change it.
func (t *Topology) CountsOf(selector *workload.PodSelector, key string) map[string]int {
	return t.countsOnNodes(selector, key, nil)
}

// countsOnNodes is CountsOf for the nodes of a filter; nil means all.
func (t *Topology) countsOnNodes(selector *workload.PodSelector, key string, filter *nodeFilter) map[string]int {
	name := key + " " + selector.Key()
	if filter != nil {
		name = filter.name + " " + name
	}
	if c, ok := t.counts.counters[name]; ok {
		return c.byDomain
	}
	c := &counter{key: key, selector: selector, byDomain: t.runningPods(selector, key, filter), filter: filter}
	t.counts.counters[name] = c
	for _, d := range t.state.Demands {
		t.recordIn(c, d, d.Counted)
	}
	return c.byDomain
}

// runningPods counts the selected pods that run in each domain of the key.
func (t *Topology) runningPods(selector *workload.PodSelector, key string, filter *nodeFilter) map[string]int {
	result := map[string]int{}
	for value, classes := range t.running(key, filter) {
		for class, n := range classes {
			if n > 0 && selector.MatchesClass(t.work.Classes, class) {
				result[value] += n
			}
		}
	}
	return result
}

// running counts the pods of each selector class that run in each domain of the key, on the nodes
// that the filter counts.
func (t *Topology) running(key string, filter *nodeFilter) map[string][]int {
	name := key
	if filter != nil {
		name = filter.name + " " + key
	}
	if known, ok := t.memo.running[name]; ok {
		return known
	}
	result := map[string][]int{}
	for i := range t.work.Snapshot.Nodes {
		node := &t.work.Snapshot.Nodes[i]
		if len(t.work.ClassesOn[i]) == 0 {
			continue
		}
		value, ok := node.Domain(key)
		if !ok || filter != nil && !filter.counts(node) {
			continue
		}
		if result[value] == nil {
			result[value] = make([]int, len(t.work.Classes.Samples))
		}
		for _, class := range t.work.ClassesOn[i] {
			if class >= 0 {
				result[value][class]++
			}
		}
	}
	t.memo.running[name] = result
	return result
}

// Record sets how many of the demand's pods count in its domains.
func (t *Topology) Record(d *placement.Demand, pods int) {
	delta := pods - d.Counted
	if delta == 0 {
		for _, c := range t.counts.uncertain {
			if _, ok := c.uncertain[d.Index]; ok {
				t.recordUncertain(c, d)
			}
		}
		return
	}
	d.Counted = pods
	for _, c := range t.counts.counters {
		t.recordIn(c, d, delta)
	}
	for i := range d.Group.Topology.AntiAffinity {
		term := &d.Group.Topology.AntiAffinity[i]
		if value := d.Domains[term.Key]; value != "" && !term.Preferred {
			t.counts.repel(term.PodSelector, term.Key, value, delta)
		}
	}
}

// recordIn adds delta pods of the demand to one counter.
func (t *Topology) recordIn(c *counter, d *placement.Demand, delta int) {
	value := d.Domains[c.key]
	if value == "" || !c.selector.MatchesClass(t.work.Classes, d.Group.Class) || c.filter != nil && !c.filter.admits(d) {
		return
	}
	if c.filter == nil || c.filter.nodeTermsKey == d.Group.NodeTermsKey {
		c.byDomain[value] += delta
		return
	}
	if c.uncertain == nil {
		c.uncertain = map[int]int{}
		t.counts.uncertain = append(t.counts.uncertain, c)
	}
	t.recordUncertain(c, d)
}

// recordUncertain counts an uncertain demand in a counter anew.
func (t *Topology) recordUncertain(c *counter, d *placement.Demand) {
	pods := d.Counted
	if t.placed || d.Round < t.state.Round {
		pods = 0
		t.eachPlace(d, func(at Place, units int) {
			if at.Planned != nil && c.filter.countsPlanned(t.state, at.Planned) ||
				at.Existing != nil && c.filter.counts(at.Existing.Node) {
				pods += units * d.PodsPerUnit()
			}
		})
	}
	c.byDomain[d.Domains[c.key]] += pods - c.uncertain[d.Index]
	c.uncertain[d.Index] = pods
}

// Remove takes the demand out of all counts, before another demand gets its index.
func (t *Topology) Remove(d *placement.Demand) {
	t.Record(d, 0)
	for _, c := range t.counts.uncertain {
		delete(c.uncertain, d.Index)
	}
}

// RecordPlaces counts every demand where its units are now. It remembers the places until
// ForgetPlaces; until then no units may get places that they have not had.
func (t *Topology) RecordPlaces() {
	t.indexPlaces()
	for _, d := range t.state.Demands {
		t.RecordPlaced(d)
	}
	t.placed = true
	for _, c := range t.counts.uncertain {
		for index := range c.uncertain {
			t.recordUncertain(c, t.state.Demands[index])
		}
	}
}

// RecordPlaced counts the demand's units that have places.
func (t *Topology) RecordPlaced(d *placement.Demand) {
	t.Record(d, (len(d.Units)-d.Waiting)*d.PodsPerUnit())
}
