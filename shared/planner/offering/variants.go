package offering

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// A NodePool may leave a custom label to its pods, while DaemonSets run on nodes of some of its
// values only. A node then has room for the DaemonSets of its own value. So the NodePool becomes
// several pools, its variants. The nodes of a variant run the same DaemonSets, as far as the label
// decides it. Limits that select nodes by the label divide the NodePool too, so that no node counts
// for a limit of other nodes.

// mostVariants is the most variants of a NodePool. Each one costs as much as a NodePool. Values beyond
// it share a variant, whose nodes have room for the DaemonSets of all of them.
const mostVariants = 16

// ByNodePool has the variants of each NodePool, in the order of Pools.
func (ix *Index) ByNodePool() [][]*Pool {
	var result [][]*Pool
	for i, pool := range ix.Pools {
		if i == 0 || pool.NodePool != ix.Pools[i-1].NodePool {
			result = append(result, nil)
		}
		result[len(result)-1] = append(result[len(result)-1], pool)
	}
	return result
}

// divide replaces the pools by their variants.
func (ix *Index) divide(daemonSets []*DaemonSet) {
	asked := askedValues{work: ix.Work, byKey: map[string]*askedFor{}}
	var pools []*Pool
	for _, pool := range ix.Pools {
		wanted := pool.wantedValues(daemonSetsOf(daemonSets, pool, ix.Undefined), ix.Limits)
		pools = append(pools, pool.variants(wanted, &asked)...)
	}
	ix.Pools = pools
}

// wantedValues is what DaemonSets and limits want of the labels that pods alone decide.
func (p *Pool) wantedValues(daemonSets []*DaemonSet, limits []Limit) map[string][]scheduling.Requirement {
	wanted := map[string][]scheduling.Requirement{}
	for _, d := range daemonSets {
		for _, alternative := range d.Starting {
			for key, want := range alternative {
				if p.isOnlyForPods(key) {
					wanted[key] = append(wanted[key], want)
				}
			}
		}
	}
	for i := range limits {
		for _, key := range limits[i].Owner.Keys() {
			if want, _ := limits[i].Owner.Wants(key); p.isOnlyForPods(key) {
				wanted[key] = append(wanted[key], want)
			}
		}
	}
	return wanted
}

// variants divides the pool by the labels of which something wants values.
func (p *Pool) variants(wanted map[string][]scheduling.Requirement, asked *askedValues) []*Pool {
	variants := []*Pool{p}
	for _, key := range p.Requirements.Keys() {
		if wanted[key] == nil {
			continue
		}
		var further []*Pool
		for _, r := range cellsOf(p.Requirements[key], wanted[key], asked.of(key), mostVariants/len(variants)) {
			for _, variant := range variants {
				narrowed := *variant
				narrowed.Requirements = variant.Requirements.Clone()
				narrowed.Requirements[key] = r
				further = append(further, &narrowed)
			}
		}
		variants = further
	}
	return variants
}

// narrows reports whether the pool lists values of a label of which its NodePool allows others.
func (p *Pool) narrows(key string) bool {
	own, ok := p.Requirements[key]
	if _, listed := own.Values(); !ok || !listed {
		return false
	}
	_, listed := p.Template[key].Values()
	return !listed
}

// isOnlyForPods reports whether pods alone decide the label of the pool's nodes, within its
// requirement.
func (p *Pool) isOnlyForPods(key string) bool {
	r, ok := p.Requirements[key]
	if values, listed := r.Values(); !ok || listed && len(values) < 2 || scheduling.IsWellKnown(key) {
		return false
	}
	label := p.types.label(key)
	return !label.ofType && !label.ofOffering && p.MinValues[key] == 0
}

// cell are values of a label that the same DaemonSets want.
type cell struct {
	// wants is wantsOf for each of the values.
	wants  string
	values []string
	// asked says that a pod may ask for one of the values.
	asked bool
}

// cellsOf divides a pool's requirement on a label into at most so many parts. A wanted requirement
// allows each part as a whole, or nothing of it. If that needs too many parts, the last one has all
// further values. If most is too small for that, the requirement stays undivided.
func cellsOf(
	r scheduling.Requirement, wanted []scheduling.Requirement, asked *askedFor, most int,
) []scheduling.Requirement {
	var parts []scheduling.Requirement
	values, listed := r.Values()
	cells := groupByWants(values, wanted, asked)
	if !listed {
		parts, cells = unlisted(r, wanted, asked)
	}
	if len(parts)+min(len(cells), 1) > most {
		return []scheduling.Requirement{r}
	}
	for i, c := range cells {
		if len(parts) == most-1 {
			for _, further := range cells[i+1:] {
				c.values = append(c.values, further.values...)
			}
			cells = cells[:i+1]
		}
		parts = append(parts, r.Intersection(scheduling.In(r.Key(), c.values...)))
		if len(parts) == most {
			break
		}
	}
	return parts
}

// unlisted divides a requirement that allows more values than it lists. The first parts are for all
// values that nobody names, and for nodes without the label. The cells are the named values that
// differ from both and that a pod may ask for.
func unlisted(
	r scheduling.Requirement, wanted []scheduling.Requirement, asked *askedFor,
) (parts []scheduling.Requirement, cells []cell) {
	named, chosen := namedValues(r, wanted, asked), []string(nil)
	absent, exists := r.Intersection(scheduling.DoesNotExist(r.Key())), scheduling.Exists(r.Key())
	unnamed := wantsOf(wanted, r.Intersection(scheduling.NotIn(r.Key(), named...)).Intersection(exists))
	if strings.Contains(unnamed, allowsSome) {
		// A DaemonSet compares the label with a number. The values that claims would choose are enough,
		// unless topology wants others.
		chosen = asked.chosen(r)
		named = sortedOnce(append(named, chosen...))
	}
	var others []string
	for _, c := range groupByWants(named, wanted, asked) {
		if c.wants != unnamed {
			c.asked = c.asked || slices.ContainsFunc(c.values, func(v string) bool { return slices.Contains(chosen, v) })
			others, cells = append(others, c.values...), append(cells, c)
		}
	}
	rest := r.Intersection(scheduling.NotIn(r.Key(), others...))
	if r.AllowsAbsent() && wantsOf(wanted, absent) != unnamed {
		rest = rest.Intersection(exists)
		parts = append(parts, absent)
	}
	if _, ok := AnyValue(rest); !ok && !rest.AllowsAbsent() {
		return parts, cells
	}
	if len(chosen) == 0 || asked.any {
		parts = append(parts, rest)
	}
	return parts, slices.DeleteFunc(cells, func(c cell) bool { return !c.asked })
}

// namedValues are the values of the requirement that DaemonSets or pods name.
func namedValues(r scheduling.Requirement, wanted []scheduling.Requirement, asked *askedFor) []string {
	var values []string
	for _, want := range wanted {
		for _, term := range want.Terms() {
			if term.Operator == corev1.NodeSelectorOpIn || term.Operator == corev1.NodeSelectorOpNotIn {
				values = append(values, term.Values...)
			}
		}
	}
	for _, want := range asked.requirements {
		if listed, ok := want.Values(); ok {
			values = append(values, listed...)
		}
	}
	return sortedOnce(slices.DeleteFunc(values, func(value string) bool { return !r.Has(value) }))
}

func sortedOnce(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}

// groupByWants makes a cell of the values that the same DaemonSets want. Cells that pods ask for
// come first, then those that fewer want.
func groupByWants(values []string, wanted []scheduling.Requirement, asked *askedFor) []cell {
	var cells []cell
	at := map[string]int{}
	for _, value := range values {
		wants := wantsOf(wanted, scheduling.In("", value))
		i, ok := at[wants]
		if !ok {
			i = len(cells)
			at[wants] = i
			cells = append(cells, cell{wants: wants})
		}
		cells[i].values = append(cells[i].values, value)
		cells[i].asked = cells[i].asked || asked.has(value)
	}
	rank := func(c cell) int {
		if c.asked {
			return 0
		}
		return 1
	}
	slices.SortFunc(cells, func(a, b cell) int {
		return cmp.Or(rank(a)-rank(b), strings.Count(a.wants, allowsAll)-strings.Count(b.wants, allowsAll),
			strings.Compare(a.values[0], b.values[0]))
	})
	return cells
}

// The bytes of wantsOf say that a requirement allows nothing, all or some of another one.
const allowsNothing, allowsAll, allowsSome = "0", "1", "2"

// wantsOf has a byte for each wanted requirement, which says what it allows of r.
func wantsOf(wanted []scheduling.Requirement, r scheduling.Requirement) string {
	var wants strings.Builder
	for _, want := range wanted {
		switch {
		case r.SubsetOf(want):
			wants.WriteString(allowsAll)
		case r.Intersects(want):
			wants.WriteString(allowsSome)
		default:
			wants.WriteString(allowsNothing)
		}
	}
	return wants.String()
}

// askedValues are the values of labels that waiting pods may ask for. It reads a label when it is
// needed.
type askedValues struct {
	work  *workload.Workload
	byKey map[string]*askedFor
}

// askedFor is what waiting pods may ask for of one label.
type askedFor struct {
	key          string
	requirements []scheduling.Requirement
	// any says that pods may ask for any value: by topology, or by affinity to the pods of DaemonSets.
	any bool
}

func (a *askedValues) of(key string) *askedFor {
	if known, ok := a.byKey[key]; ok {
		return known
	}
	asked := &askedFor{key: key}
	a.byKey[key] = asked
	for _, g := range a.work.Groups {
		asked.any = asked.any || len(g.Beside.Wanted) > 0 || g.Topology.Mention(key)
		for _, alternatives := range [][]scheduling.Requirements{
			g.Required.List(), g.Alternatives.List(), g.PreferredNodeTerms(),
		} {
			for _, alternative := range alternatives {
				if r, ok := alternative[key]; ok {
					asked.requirements = append(asked.requirements, r)
				}
			}
		}
	}
	return asked
}

// has reports whether a pod may ask for the value. A pod that excludes values asks for none.
func (a *askedFor) has(value string) bool {
	return a.any || slices.ContainsFunc(a.requirements, func(r scheduling.Requirement) bool {
		return r.Has(value) && slices.ContainsFunc(r.Terms(), func(t api.NodeSelectorRequirementWithMinValues) bool {
			return t.Operator != corev1.NodeSelectorOpNotIn && t.Operator != corev1.NodeSelectorOpExists
		})
	})
}

// chosen are the values that claims would choose for the pods that ask for none or a range, if a pool
// requires r.
func (a *askedFor) chosen(r scheduling.Requirement) []string {
	var values []string
	for _, asked := range append([]scheduling.Requirement{scheduling.Exists(a.key)}, a.requirements...) {
		if value, ok := AnyValue(r.Intersection(asked)); ok {
			values = append(values, value)
		}
	}
	return values
}
