package freeze

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// OrderLasts is how long a freeze by an event lasts that does not say until when. A program that
	// forgets to thaw, or whose thaw is lost, costs an hour of savings. One that needs longer says so.
	OrderLasts = time.Hour
	// orderLongest is the longest that an event may freeze.
	orderLongest = 30 * 24 * time.Hour
	// maximumOrders bounds the keys that events may make.
	maximumOrders = 100
	// forgottenAfter is how long the end of a freeze is kept, because an older event may come after it.
	forgottenAfter = time.Hour
)

// Order is an event by which others freeze or thaw.
type Order struct {
	Pool string
	Thaw bool
	// At is when it was ordered, and Source is the event's source.
	At     time.Time
	Source string
	// Who, Reason and Until are those of the event; empty or zero where it does not say.
	Who, Reason string
	Until       time.Time
}

// errRefused marks an order that another try does not help.
var errRefused = errors.New("the order is refused")

// IsRefused reports whether the error is that of an order which must be mended.
func IsRefused(err error) bool { return errors.Is(err, errRefused) }

func refused(field, why string) error { return fmt.Errorf("%w: %s %s", errRefused, field, why) }

// Apply writes the order into the ConfigMap's data, and says for people what comes of it. Events come late,
// twice and in any order, so that an order which is older than the one in its place changes nothing.
func (o *Order) Apply(data map[string]string, now time.Time) (says string, err error) {
	made := o.freeze()
	subject := made.Subject()
	if err := o.check(now); err != nil {
		return "", err
	}
	var before *Freeze
	stored := Read(data)
	if stored != nil {
		for i := range stored.All {
			if stored.All[i].Key == KeyOf(o.Pool) {
				before = &stored.All[i]
			}
		}
	}
	switch {
	case before != nil && before.Since.After(o.At):
		return subject + " has a later order, which stays", nil
	case before != nil && !o.Thaw && before.Active(now) && before.exceeds(&made):
		return fmt.Sprintf("an order that lasts longer or holds more stays: %s", before), nil
	case before == nil && len(stored.orders()) >= maximumOrders:
		forget(data, stored, now)
		if left := len(Read(data).orders()); left >= maximumOrders {
			return "", refused("detail.nodePool", fmt.Sprintf("would make one more than %d freezes: thaw others", left))
		}
	}
	data[KeyOf(o.Pool)] = made.Text()
	if o.Thaw {
		return subject + " is thawed by " + made.Who, nil
	}
	return made.String(), nil
}

// check refuses an order that ends before it begins, or too late.
func (o *Order) check(now time.Time) error {
	switch {
	case o.Thaw:
	case !now.Before(o.end()):
		return refused("detail.until", o.end().Format(time.RFC3339)+" has passed")
	case o.end().Sub(now) > orderLongest:
		return refused("detail.until", fmt.Sprintf("%s is more than %d days ahead", o.end().Format(time.RFC3339),
			int(orderLongest.Hours()/24)))
	}
	return nil
}

// end is when the order ends. A late delivery ends no later.
func (o *Order) end() time.Time {
	switch {
	case o.Thaw:
		return o.At
	case o.Until.IsZero():
		return o.At.Add(OrderLasts)
	}
	return o.Until
}

// freeze is the order as it is stored. A thaw leaves a freeze that has ended, which shows when.
func (o *Order) freeze() Freeze {
	who := o.Source
	if o.Who != "" {
		who = o.Who + " by " + o.Source
	}
	return Freeze{
		Pool: o.Pool, Who: cmp.Or(who, "an event"), Reason: strings.TrimSpace(o.Reason),
		Since: o.At.UTC().Truncate(time.Second), Until: o.end().UTC().Truncate(time.Second),
	}
}

// exceeds reports whether the freeze holds more than the other, or longer.
func (f *Freeze) exceeds(other *Freeze) bool {
	return f.Problem != "" || f.Drains || f.Launches || other.later(f)
}

// orders are the freezes of people and events.
func (s *Freezes) orders() []Freeze {
	if s == nil {
		return nil
	}
	return s.WithoutAlarms().All
}

// forget removes freezes that have ended some time ago.
func forget(data map[string]string, stored *Freezes, now time.Time) {
	for _, one := range stored.orders() {
		if !one.Active(now.Add(-forgottenAfter)) {
			delete(data, one.Key)
		}
	}
}
