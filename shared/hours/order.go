package hours

import (
	"fmt"
	"time"
)

// Order is what a person ordered for the whole cluster. Nil is no order.
type Order struct {
	// SleepUntil is when the sleep of one command ends, or zero.
	SleepUntil time.Time
	// AwakeUntil is until when Windows do not count, or zero.
	AwakeUntil time.Time
	// Windows are the times at which the cluster sleeps again and again.
	Windows Windows
	// Reason is why, in a person's words.
	Reason string
	// Problem is why an order could not be read, or nil. Such an order orders nothing.
	Problem error
}

// Keys of the data of the ConfigMap that has an order.
const (
	OrderSleepUntil = "sleepUntil"
	OrderAwakeUntil = "awakeUntil"
	OrderSleep      = "sleep"
	OrderTimeZone   = "timeZone"
	OrderReason     = "reason"
)

// OrderError is a key of the ConfigMap that cannot be read.
type OrderError struct {
	Key, Value string
	// Problem is the problem and its remedy.
	Problem string
}

func (e *OrderError) Error() string { return fmt.Sprintf("data.%s: %q %s", e.Key, e.Value, e.Problem) }

// ReadOrder reads the data of the ConfigMap. Where a key cannot be read there is no order, so that
// nothing sleeps by mistake, and the error is an OrderError.
func ReadOrder(data map[string]string) (*Order, error) {
	order := &Order{Reason: data[OrderReason]}
	var err error
	if order.SleepUntil, err = readTime(data, OrderSleepUntil); err != nil {
		return nil, err
	}
	if order.AwakeUntil, err = readTime(data, OrderAwakeUntil); err != nil {
		return nil, err
	}
	zone, err := Zone(data[OrderTimeZone])
	if err != nil {
		return nil, &OrderError{OrderTimeZone, data[OrderTimeZone], err.Error()}
	}
	if text := data[OrderSleep]; text != "" {
		if order.Windows, err = Parse(text, zone); err != nil {
			return nil, &OrderError{OrderSleep, text, err.Error()}
		}
	} else {
		order.Windows = Windows{zone: zone}
	}
	return order, nil
}

// readTime reads a time of the ConfigMap. It is zero for an absent one.
func readTime(data map[string]string, key string) (time.Time, error) {
	text := data[key]
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, &OrderError{key, text, "is not a time: write one such as 2026-03-02T07:00:00Z, or remove it"}
	}
	return at, nil
}

// DeepCopy returns the order itself, which never changes.
func (o *Order) DeepCopy() *Order { return o }

// Sleep is a sleep at one time.
type Sleep struct {
	// Inside is true while it lasts.
	Inside bool
	// Changes is when it ends, or when the next one begins. It is zero where that is not known.
	Changes time.Time
}

// Sleep is the cluster's sleep at the time.
func (o *Order) Sleep(now time.Time) Sleep {
	switch {
	case o == nil:
		return Sleep{}
	case now.Before(o.SleepUntil):
		if end := o.after(o.SleepUntil); end.Inside {
			return end
		}
		return Sleep{Inside: true, Changes: o.SleepUntil}
	}
	return o.after(now)
}

// after is the sleep by the windows.
func (o *Order) after(now time.Time) Sleep {
	if !now.Before(o.AwakeUntil) {
		return Sleep{Inside: o.Windows.Inside(now), Changes: o.Windows.Next(now)}
	}
	if o.Windows.Inside(o.AwakeUntil) {
		return Sleep{Changes: o.AwakeUntil}
	}
	return Sleep{Changes: o.Windows.Next(o.AwakeUntil)}
}

// Text is the time for people, in the zone.
func Text(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2 Jan 15:04") + " " + zone.String()
}
