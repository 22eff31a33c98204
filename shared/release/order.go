package release

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Verb is what a person orders about a release.
type Verb string

const (
	// Continue lets the release go on within the budgets, whatever its nodes do.
	Continue Verb = "continue"
	// Abort stops the release.
	Abort Verb = "abort"
)

// keyPrefix begins the keys of orders in the ConfigMap whittle-control.
const keyPrefix = "release."

// fields are the names of the lines of a value.
const (
	fieldOrder   = "order"
	fieldRelease = "release"
	fieldWho     = "who"
	fieldSince   = "since"
)

// KeyOf is the key of the order about the pool's release.
func KeyOf(pool string) string { return keyPrefix + pool }

// Order is a person's order about one release of a pool.
type Order struct {
	Pool string
	Verb Verb
	// Release is the ID that it is about. Empty means any, until somebody removes the order.
	Release string
	Who     string
	Since   time.Time
	// Problem is why it cannot be read, with the remedy. Such an order aborts any release.
	Problem string
}

// Orders are all that people have ordered about releases, by the pool's name.
type Orders map[string]Order

// Of is the order about the release of the pool, or nil. An order about an earlier release has ended.
func (o Orders) Of(pool, id string) *Order {
	order, has := o[pool]
	if !has || order.Release != "" && order.Release != id {
		return nil
	}
	return &order
}

// Stops tells whether the order, or nil, lets no node go.
func (o *Order) Stops() bool { return o != nil && (o.Verb == Abort || o.Problem != "") }

// String says in a sentence without its end what was ordered, and by whom.
func (o *Order) String() string {
	if o.Problem != "" {
		return "an order about its release cannot be read: " + o.Problem
	}
	done := "continued"
	if o.Verb == Abort {
		done = "aborted"
	}
	return fmt.Sprintf("its release is %s by %s", done, cmp.Or(o.Who, "somebody"))
}

// Text is the value of the order's key.
func (o *Order) Text() string {
	text := fmt.Sprintf("%s: %s\n", fieldOrder, o.Verb)
	if o.Release != "" {
		text += fmt.Sprintf("%s: %s\n", fieldRelease, o.Release)
	}
	return text + fmt.Sprintf("%s: %s\n%s: %s\n", fieldWho, strconv.Quote(o.Who), fieldSince,
		o.Since.UTC().Format(time.RFC3339))
}

// ReadOrders reads the orders in the data of the ConfigMap. It leaves other keys alone.
func ReadOrders(data map[string]string) Orders {
	orders := Orders{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if pool, is := strings.CutPrefix(key, keyPrefix); is && pool != "" {
			orders[pool] = readOrder(key, pool, data[key])
		}
	}
	return orders
}

func readOrder(key, pool, text string) Order {
	order := Order{Pool: pool}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		field, value = strings.TrimSpace(field), strings.TrimSpace(value)
		if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		if remedy := order.set(field, value); remedy != "" {
			order.Problem = cmp.Or(order.Problem, fmt.Sprintf("data.%s: %s: %q %s", key, field, value, remedy))
		}
	}
	if order.Verb == "" {
		order.Problem = cmp.Or(order.Problem, fmt.Sprintf(
			"data.%s has no order: write %s: %s or %s: %s, or remove the key", key, fieldOrder, Continue, fieldOrder, Abort))
	}
	return order
}

// set sets a field. The remedy is for a value that it cannot have, and empty otherwise.
func (o *Order) set(field, value string) (remedy string) {
	switch field {
	case fieldOrder:
		if Verb(value) != Continue && Verb(value) != Abort {
			return fmt.Sprintf("is no order: write %s or %s", Continue, Abort)
		}
		o.Verb = Verb(value)
	case fieldRelease:
		o.Release = value
	case fieldWho:
		o.Who = value
	case fieldSince:
		at, err := time.Parse(time.RFC3339, value)
		if err != nil {
			return "is not a time: write one such as 2026-03-02T07:00:00Z, or remove the line"
		}
		o.Since = at
	default:
		return "is of no known field: write one of " +
			strings.Join([]string{fieldOrder, fieldRelease, fieldWho, fieldSince}, ", ")
	}
	return ""
}
