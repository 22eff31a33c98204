package placement

import (
	"math"
	"strconv"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// hostReader finds out which constraints over hosts concern which demands. It numbers the distinct
// constraints. It compares each with each distinct view of pods, instead of with each demand.
type hostReader struct {
	state       *State
	constraints hostConstraints
	// keys are the label keys that the constraints' selectors read.
	keys []string
	// views has the distinct views of pods, by namespace and the values of keys.
	views map[string]*podView
	// antiAffinity and spreads are, by demand, the numbers of its own constraints.
	antiAffinity, spreads [][]int
	// key is memory for the keys of maps.
	key []byte
}

// hostConstraints are the distinct constraints over hosts. Each list has an entry for each of them.
type hostConstraints struct {
	byText    map[string]int
	selectors []*workload.PodSelector
	// until is the last round whose demands the constraint concerns. Preferences concern no demand
	// of a later round than the one that has them.
	until []int
	// isAntiAffinity and isSpread may both be true, if two constraints have the same selector.
	isAntiAffinity, isSpread []bool
}

// podView is what constraints see of pods: their namespace, and the labels that selectors read.
type podView struct {
	index int
	// matched are the constraints whose selector the pods match.
	matched []int
}

// readHostConstraints fills in what constraints over hosts and host ports mean for the demands:
// Conflicts, HostRules, HostConstraintsID and Slots.
func (s *State) readHostConstraints() {
	r := &hostReader{state: s, views: map[string]*podView{}}
	r.constraints.byText = map[string]int{}
	ports := r.readConstraints()
	s.generation++
	if len(r.constraints.selectors) == 0 && !ports {
		return
	}
	r.readKeys()
	views := make([]*podView, len(s.Demands))
	for i, d := range s.Demands {
		views[i] = r.view(d)
	}
	conflictIDs := r.readConflicts(views)
	r.readRules(views)
	r.readSlots(conflictIDs)
}

// readConstraints numbers the constraints of all demands, and clears what the demands had before.
// It reports whether a demand has host ports.
func (r *hostReader) readConstraints() (ports bool) {
	demands, c := r.state.Demands, &r.constraints
	r.antiAffinity, r.spreads = make([][]int, len(demands)), make([][]int, len(demands))
	for i, d := range demands {
		d.Conflicts, d.HostRules, d.HostConstraintsID, d.Slots = nil, nil, 0, nil
		ports = ports || len(d.Group.Ports) > 0
		for j := range d.Hosts.AntiAffinity {
			until := math.MaxInt
			if d.Hosts.AntiAffinity[j].Preferred {
				until = d.Round
			}
			number := c.number(d.Hosts.AntiAffinity[j].PodSelector, until)
			c.isAntiAffinity[number] = true
			r.antiAffinity[i] = append(r.antiAffinity[i], number)
		}
		for j := range d.Hosts.Spread {
			number := c.number(d.Hosts.Spread[j].PodSelector, math.MaxInt)
			c.isSpread[number] = true
			r.spreads[i] = append(r.spreads[i], number)
		}
	}
	return ports
}

// number is the number of the constraint with this selector and last round.
func (c *hostConstraints) number(selector *workload.PodSelector, until int) int {
	text := selector.Key()
	if until < math.MaxInt {
		text = strconv.Itoa(until) + " " + text
	}
	i, ok := c.byText[text]
	if !ok {
		i = len(c.selectors)
		c.byText[text] = i
		c.selectors, c.until = append(c.selectors, selector), append(c.until, until)
		c.isAntiAffinity, c.isSpread = append(c.isAntiAffinity, false), append(c.isSpread, false)
	}
	return i
}

// concerns reports whether the constraint concerns demands of the round.
func (c *hostConstraints) concerns(number, round int) bool { return round <= c.until[number] }

func (r *hostReader) readKeys() {
	keys := map[string]bool{}
	for _, selector := range r.constraints.selectors {
		requirements, _ := selector.Selector.Requirements()
		for i := range requirements {
			keys[requirements[i].Key()] = true
		}
	}
	r.keys = dense.SortedKeys(keys)
}

// view is what constraints see of the demand's pods. Equal views are one pointer.
func (r *hostReader) view(d *Demand) *podView {
	pod := d.Group.Pod()
	r.key = dense.AppendText(r.key[:0], pod.Namespace)
	for _, key := range r.keys {
		if value, ok := pod.Labels[key]; ok {
			r.key = dense.AppendText(append(r.key, 1), value)
		} else {
			r.key = append(r.key, 0)
		}
	}
	v, ok := r.views[string(r.key)]
	if !ok {
		v = &podView{index: len(r.views)}
		for i, selector := range r.constraints.selectors {
			if selector.Matches(pod) {
				v.matched = append(v.matched, i)
			}
		}
		r.views[string(r.key)] = v
	}
	return v
}
