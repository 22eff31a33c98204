package inventory

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
)

// FreezesLast is how long a reading of RecentFreezes counts. A drain has an eviction for each pod,
// and a plan a launch for each group: a reading for each would double their calls.
const FreezesLast = time.Second

// RecentFreezes reads what people have frozen, for the steps of one pass. It is safe for several
// goroutines.
type RecentFreezes struct {
	store Store
	now   func() time.Time

	mutex sync.Mutex
	began time.Time // of the last reading; zero before the first
	known *freeze.Freezes
}

// NewRecentFreezes returns a reader that has read nothing yet.
func NewRecentFreezes(store Store, now func() time.Time) *RecentFreezes {
	return &RecentFreezes{store: store, now: now}
}

// Read reads the freezes, unless the last reading still counts. A reading that failed does not.
func (r *RecentFreezes) Read(ctx context.Context) (*freeze.Freezes, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	now := r.now()
	if !r.began.IsZero() && now.Sub(r.began) < FreezesLast {
		return r.known, nil
	}
	known, err := Freezes(ctx, r.store)
	if err != nil {
		return nil, err
	}
	r.began, r.known = now, known
	return known, nil
}

// PutAlarms stores a reading of the alarms beside the orders of people. It keeps a later reading of
// another container.
func PutAlarms(ctx context.Context, store Store, alarms *freeze.Alarms) error {
	text, err := alarms.Text()
	if err != nil {
		return fmt.Errorf("encoding the alarms: %w", err)
	}
	err = changeControl(ctx, store, func(data map[string]string) bool {
		stored, err := freeze.ReadAlarms(data)
		if err == nil && stored != nil && stored.Read.After(alarms.Read) {
			return false
		}
		data[freeze.AlarmsKey] = text
		return true
	})
	if err != nil {
		return fmt.Errorf("storing the states of alarms: %w", err)
	}
	return nil
}

// ForgetAlarms removes the alarms of a setting that is gone.
func ForgetAlarms(ctx context.Context, store Store) error {
	return ChangeControl(ctx, store, map[string]string{freeze.AlarmsKey: ""})
}

// Order writes what an event orders, and says for people what comes of it.
func Order(ctx context.Context, store Store, order freeze.Order, now time.Time) (says string, err error) {
	var refused error
	err = changeControl(ctx, store, func(data map[string]string) bool {
		before := maps.Clone(data)
		says, refused = order.Apply(data, now)
		return refused == nil && !maps.Equal(before, data)
	})
	if err != nil {
		return "", fmt.Errorf("writing an order of an event: %w", err)
	}
	return says, refused
}
