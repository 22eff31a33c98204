package freeze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/hours"
)

// What is something that a freeze holds.
type What int

const (
	// Disruptions are those that Whittle begins by itself. Each freeze holds them.
	Disruptions What = iota
	// Launches are those of new nodes, replacements of interrupted nodes included.
	Launches
	// Drains are those of nodes whose disruption Whittle began by itself.
	Drains
)

// Freeze is an order that Whittle begins nothing by itself: of a person, or by a CloudWatch alarm.
type Freeze struct {
	// Key is the key of the ConfigMap that it was read from. New ones have none.
	Key string `json:"-"`
	// Pool is the name of the NodePool, or empty for the whole cluster.
	Pool string `json:"nodePool,omitempty"`
	// Who ordered it, and why, in that person's words.
	Who    string `json:"who,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Since is when it was ordered, and Until when it ends. Without Until it lasts until somebody
	// thaws.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Launches and Drains say that it holds these, too.
	Launches bool `json:"launches,omitempty"`
	Drains   bool `json:"drains,omitempty"`
	// Problem is why the order cannot be read, with the remedy. Such a freeze lasts until it is
	// mended.
	Problem string `json:"problem,omitempty"`
	// Alarm is the CloudWatch alarm that orders it, and State the alarm's state. Both are empty for a
	// person's order. Class is the EC2NodeClass of the pool, where the alarm is about the class.
	Alarm string `json:"alarm,omitempty"`
	State string `json:"state,omitempty"`
	Class string `json:"nodeClass,omitempty"`
	// Unread is a freeze because the alarms are not read any more. It begins at Since.
	Unread bool `json:"unread,omitempty"`
}

// Active reports whether the freeze lasts at the time.
func (f *Freeze) Active(now time.Time) bool {
	if f.Unread {
		return !now.Before(f.Since)
	}
	return f.Problem != "" || f.Until.IsZero() || now.Before(f.Until)
}

// holds reports whether the freeze is about what and the pool.
func (f *Freeze) holds(what What, pool string) bool {
	switch {
	case f.Pool != "" && f.Pool != pool:
		return false
	case what == Launches:
		return f.Launches
	case what == Drains:
		return f.Drains
	}
	return true
}

// Subject is what is frozen, for people.
func (f *Freeze) Subject() string {
	if f.Pool == "" {
		return "the cluster"
	}
	return fmt.Sprintf("nodepool %q", f.Pool)
}

// String says in a sentence without its end what is frozen, by whom, until when and why.
func (f *Freeze) String() string {
	if f.Problem != "" {
		return fmt.Sprintf("%s is frozen by an order that cannot be read: %s", f.Subject(), f.Problem)
	}
	if f.ByAlarms() {
		return f.alarmText()
	}
	until := "until somebody thaws it"
	if !f.Until.IsZero() {
		until = "until " + hours.Text(f.Until, time.UTC)
	}
	text := fmt.Sprintf("%s is frozen by %s %s", f.Subject(), cmp.Or(f.Who, "somebody"), until)
	if f.Reason != "" {
		text += " (" + f.Reason + ")"
	}
	return text
}

// Holds lists what the freeze holds, for people.
func (f *Freeze) Holds() string {
	held := []string{"disruption"}
	if f.Launches {
		held = append(held, "launches")
	}
	if f.Drains {
		held = append(held, "drains")
	}
	return strings.Join(held, ", ")
}

// later reports whether the freeze lasts longer than the other one.
func (f *Freeze) later(other *Freeze) bool {
	open := func(f *Freeze) bool { return f.Problem != "" || f.Until.IsZero() }
	return !open(other) && (open(f) || f.Until.After(other.Until))
}

// Freezes are all that people and alarms have ordered. Nil is none.
type Freezes struct {
	// All has the one of the cluster first, then those of NodePools by name. Those that have ended
	// are among them.
	All []Freeze
}

// DeepCopy returns the freezes themselves, which never change.
func (s *Freezes) DeepCopy() *Freezes { return s }

// Of is the freeze that holds what for the pool, or nil. Of several it is the one that lasts
// longest. An empty name is that of a node without a NodePool.
func (s *Freezes) Of(what What, pool string, now time.Time) *Freeze {
	if s == nil {
		return nil
	}
	var longest *Freeze
	for i := range s.All {
		one := &s.All[i]
		if one.holds(what, pool) && one.Active(now) && (longest == nil || one.later(longest)) {
			longest = one
		}
	}
	return longest
}

// Any is a freeze that holds what for some pool, or nil.
func (s *Freezes) Any(what What, now time.Time) *Freeze {
	for _, one := range s.Active(now) {
		if one.holds(what, one.Pool) {
			return &one
		}
	}
	return nil
}

// Active are the freezes that last at the time.
func (s *Freezes) Active(now time.Time) []Freeze {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.All), func(f Freeze) bool { return !f.Active(now) })
}

// Changed compares the freezes of two times. Began are those of now that differ from before, and
// ended those of before whose place is empty now.
func Changed(before, now []Freeze) (began, ended []Freeze) {
	type place struct {
		pool, alarm    string
		broken, unread bool
	}
	of := func(f *Freeze) place { return place{f.Pool, f.Alarm, f.Problem != "", f.Unread} }
	was, is := map[place]string{}, map[place]bool{}
	for i := range before {
		was[of(&before[i])] = before[i].String() + before[i].Holds()
	}
	for i := range now {
		is[of(&now[i])] = true
		if was[of(&now[i])] != now[i].String()+now[i].Holds() {
			began = append(began, now[i])
		}
	}
	for i := range before {
		if !is[of(&before[i])] {
			ended = append(ended, before[i])
		}
	}
	return began, ended
}
