package release

import (
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/hours"
	"github.com/whittle-dev/whittle/shared/registration"
)

// Stage is how far a release may go.
type Stage string

const (
	// Off is the stage of a pool whose owner wants no stages.
	Off Stage = "off"
	// Done is the stage where no node waits for its release.
	Done Stage = "done"
	// Unknown is the stage where nobody knows what claims would be made from.
	Unknown Stage = "unknown"
	// First lets one node of the pool go.
	First Stage = "first"
	// Zones lets one node go in each zone that has no new node yet.
	Zones Stage = "zones"
	// Waves lets nodes go as the budgets do.
	Waves Stage = "waves"
	// Halted and Aborted let none go: nodes do worse, or a person wants it.
	Halted  Stage = "halted"
	Aborted Stage = "aborted"
)

// Input is what the verdict about a pool follows from.
type Input struct {
	Pool *api.NodePool
	// Class is nil if it is not known.
	Class *api.EC2NodeClass
	// ID is that of the release, or empty if it is not known.
	ID string
	// Record is what was remembered of the pool before.
	Record Record
	Orders Orders
	// Nodes are those of the pool.
	Nodes []Node
}

// State is the verdict about the release of a pool.
type State struct {
	Stage   Stage
	Setting Setting
	// Record is to be remembered.
	Record Record
	// Order is the one that counts, or nil.
	Order *Order
	// Old nodes wait for the release or are being replaced for it. New ones have it, and baked ones of
	// them have been healthy for long enough.
	Old, New, Baked int
	// Until is when the first of the nodes that bake is done, or zero while none does.
	Until time.Time

	now time.Time
	// fixed says that the pool has a number of nodes, so that a new one always takes the place of another.
	fixed bool
	// open are the zones of which one node may go, in the stage Zones.
	open map[string]bool
	// room is how many nodes may go in the stages First and Zones.
	room int
}

// Judge decides how far the release of a pool may go now.
func Judge(in Input, now time.Time) *State {
	s := &State{Setting: SettingOf(in.Pool, in.Class), Record: in.Record.next(in.ID, now), now: now}
	s.fixed = in.Pool.Spec.Replicas != nil
	s.Order = in.Orders.Of(in.Pool.Name, s.Record.Release)
	seen := s.sort(in.Nodes)
	s.Old, s.New = len(seen.waiting)+len(seen.going), len(seen.fresh)
	if s.settle() {
		return s
	}
	found := s.examine(seen, in.Pool)
	s.Baked = len(found.baked)
	if s.Order != nil { // to continue
		s.Stage = Waves
		return s
	}
	s.Record = s.Record.halt(found.worse, now)
	if !s.Record.Halted.IsZero() {
		s.Stage = Halted
		return s
	}
	s.enter(seen, found)
	return s
}

// settle sets the stage where what the new nodes do does not matter.
func (s *State) settle() bool {
	switch {
	case s.Setting.Off:
		s.Stage = Off
	case s.Old == 0:
		s.Stage = Done
	case s.Order.Stops():
		s.Stage = Aborted
	case s.Order == nil && s.Record.Release == "":
		s.Stage = Unknown
	default:
		return false
	}
	return true
}

// nodes are a pool's nodes by their part in its release. Nodes that are leaving for another reason
// are in none.
type nodes struct {
	// waiting have drifted, and going are those of them that are being replaced for it.
	waiting, going []Node
	// fresh were made since the release began. before are all others.
	fresh, before []Node
}

func (s *State) sort(all []Node) nodes {
	var sorted nodes
	for _, node := range all {
		drifted, begun := node.drifted(), !node.Claim.CreationTimestamp.Time.Before(s.Record.Since)
		switch {
		case drifted && node.replacedForDrift():
			sorted.going = append(sorted.going, node)
		case node.leaving():
			continue
		case drifted:
			sorted.waiting = append(sorted.waiting, node)
		case begun && !s.Record.Since.IsZero():
			sorted.fresh = append(sorted.fresh, node)
			continue
		}
		if !node.leaving() {
			sorted.before = append(sorted.before, node)
		}
	}
	return sorted
}

// findings are what the new nodes show.
type findings struct {
	// worse says how they do worse than the nodes before, or is empty.
	worse string
	// baked have been healthy for long enough. The others are in baking.
	baked, baking []Node
}

// lastLaunches is the age up to which a node that never joined counts against the release.
const lastLaunches = time.Hour

// examine compares the new nodes with those before.
func (s *State) examine(seen nodes, pool *api.NodePool) findings {
	var found findings
	within := limit(seen.before)
	halts, waits := workloadsOf(seen.before, startsWithin, s.now), workloadsOf(seen.before, settles, s.now)
	var bad []string
	for i := range seen.fresh {
		node := &seen.fresh[i]
		why := node.late(within, s.now)
		for _, further := range []func() string{
			func() string { return node.sick(s.now) }, func() string { return halts.worse(node) },
		} {
			if why == "" {
				why = further()
			}
		}
		ready := node.initializedAt()
		switch {
		case why != "":
			bad = append(bad, fmt.Sprintf("node %s of zone %s: %s", node.name(), ZoneOf(node.Claim), why))
			found.baking = append(found.baking, *node)
		case node.Node != nil && !ready.IsZero() && s.now.Sub(ready) >= s.Setting.Bake && waits.worse(node) == "":
			found.baked = append(found.baked, *node)
		default:
			found.baking = append(found.baking, *node)
		}
	}
	bad = append(bad, s.lost(pool, seen.fresh)...)
	sick := 0
	for i := range seen.before {
		if seen.before[i].sick(s.now) != "" {
			sick++
		}
	}
	if len(bad) > tolerated(len(seen.fresh), sick, len(seen.before)) {
		found.worse = bad[0]
		if len(bad) > 1 {
			found.worse = fmt.Sprintf("%d nodes do worse than the nodes before, such as %s", len(bad), bad[0])
		}
	}
	return found
}

// lost are the nodes that never joined and are gone. Lifecycle remembers them in the pool's
// condition NodeRegistrationHealthy.
func (s *State) lost(pool *api.NodePool, fresh []Node) []string {
	condition := api.GetCondition(pool.Status.Conditions, api.ConditionTypeNodeRegistrationHealthy)
	if condition == nil || s.Record.Since.IsZero() {
		return nil
	}
	launches, _ := registration.Parse(condition.Message)
	var lost []string
	for _, one := range launches.Last {
		counted := slices.ContainsFunc(fresh, func(n Node) bool { return n.Claim.Name == one.Claim })
		// A node that was launched before the release is none of its own.
		began := s.Record.Since.Add(givenUpAfter)
		if one.Result == registration.Failed && !counted && !one.At.Before(began) && s.now.Sub(one.At) < lastLaunches {
			lost = append(lost, fmt.Sprintf("the node of nodeclaim %s never joined the cluster", one.Claim))
		}
	}
	return lost
}

// tolerated is how many of the new nodes may be bad: the part that is bad of the nodes before, and a
// tenth, because single machines fail.
func tolerated(fresh, sick, before int) int {
	same := 0
	if before > 0 {
		same = (fresh*sick + before - 1) / before
	}
	return same + fresh/10
}

// enter sets the stage of a release that goes on.
func (s *State) enter(seen nodes, found findings) {
	for i := range found.baking {
		if ready := found.baking[i].initializedAt(); !ready.IsZero() {
			if until := ready.Add(s.Setting.Bake); s.Until.IsZero() || until.Before(s.Until) {
				s.Until = until
			}
		}
	}
	underWay := s.underWay(seen, found)
	if len(found.baked) == 0 {
		s.Stage, s.room = First, max(0, 1-underWay)
		return
	}
	tried, all, replacements := map[string]bool{}, map[string]bool{}, 0
	for i := range found.baked {
		node := &found.baked[i]
		tried[ZoneOf(node.Claim)] = true
		if node.replaces() {
			replacements++
		}
	}
	s.open = map[string]bool{}
	for _, node := range seen.waiting {
		all[ZoneOf(node.Claim)] = true
		s.open[ZoneOf(node.Claim)] = !tried[ZoneOf(node.Claim)]
	}
	for zone := range tried {
		all[zone] = true
		delete(s.open, zone)
	}
	// Replacements may come to other zones than their nodes. As many as there are zones are enough.
	if len(s.open) == 0 || replacements >= len(all) {
		s.Stage, s.Until = Waves, time.Time{}
		return
	}
	s.Stage, s.room = Zones, max(0, len(s.open)-underWay)
	for _, node := range slices.Concat(seen.going, found.baking) {
		delete(s.open, ZoneOf(node.Claim))
	}
}

// underWay is the number of nodes that bring the release now. Some count for a while only, since the
// others would wait for ever: a new node for pods that waited, in a pool whose nodes do not live
// long, and a node whose drain something protects.
func (s *State) underWay(seen nodes, found findings) int {
	count, patience := 0, readyWithin+s.Setting.Bake
	replaced := map[string]bool{}
	for _, node := range slices.Concat(found.baking, found.baked) {
		for _, name := range node.Claim.Names(api.ReplacesAnnotationKey) {
			replaced[name] = true
		}
	}
	for i := range found.baking {
		if found.baking[i].replaces() || s.fixed || s.now.Before(s.Record.Since.Add(patience)) {
			count++
		}
	}
	for i := range seen.going {
		node := &seen.going[i]
		drains := node.leaving() && s.now.Sub(node.since(api.ConditionTypeDisruptionReason)) >= patience
		if !replaced[node.Claim.Name] && !drains {
			count++
		}
	}
	return count
}

// Gate counts the nodes that may go in one pass.
type Gate struct {
	state *State
	room  int
	zones map[string]bool
}

// Gate begins to count. A nil state lets all go.
func (s *State) Gate() *Gate {
	if s == nil {
		return &Gate{zones: map[string]bool{}}
	}
	zones := map[string]bool{}
	for zone, open := range s.open {
		zones[zone] = open
	}
	return &Gate{state: s, room: s.room, zones: zones}
}

// Allows tells whether one more drifted node of the zone may go.
func (g *Gate) Allows(zone string) bool {
	if g.state == nil {
		return true
	}
	switch g.state.Stage {
	case Off, Done, Waves:
		return true
	case First:
		return g.room > 0
	case Zones:
		return g.room > 0 && g.zones[zone]
	}
	return false
}

// Take counts a drifted node of the zone that goes.
func (g *Gate) Take(zone string) {
	g.room--
	g.zones[zone] = false
}

// Waits tells whether drifted nodes wait for the release.
func (s *State) Waits() bool { return s.Holds() || s.Stage == First || s.Stage == Zones }

// Holds tells whether no drifted node of the pool may go, and none that is being replaced for its
// drift.
func (s *State) Holds() bool {
	return s != nil && (s.Stage == Halted || s.Stage == Aborted || s.Stage == Unknown)
}

// Stops tells whether replacements for drift that have begun are taken back.
func (s *State) Stops() bool { return s != nil && (s.Stage == Halted || s.Stage == Aborted) }

// String says in a sentence without its end what the release does, and until when.
func (s *State) String() string {
	switch s.Stage {
	case Off:
		return "its releases have no stages"
	case Done:
		return "every node has its release"
	case Unknown:
		return "its release is unknown: its class has no images, or cannot be read"
	case Halted:
		return fmt.Sprintf("its release halted at %s: %s", hours.Text(s.Record.Halted, time.UTC), s.Record.Why)
	case Aborted:
		return s.Order.String()
	case Waves:
		if s.Order != nil {
			return s.Order.String()
		}
		return "its release goes on within the budgets"
	case First, Zones:
	}
	what := "the first node"
	if s.Stage == Zones {
		what = "the first nodes of further zones"
	}
	if s.Until.IsZero() {
		return fmt.Sprintf("its release waits for %s", what)
	}
	if !s.Until.After(s.now) {
		return fmt.Sprintf("its release waits until the pods of %s are ready", what)
	}
	return fmt.Sprintf("its release bakes until %s on %s", hours.Text(s.Until, time.UTC), what)
}
