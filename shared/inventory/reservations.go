package inventory

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
)

const (
	reservationsName = "whittle-capacity-reservations"
	reservationsKey  = "reservations.json"
	// reservationsFor is the time for which a count is kept that nobody refreshes, because the
	// reservation ended or no class selects it.
	reservationsFor = 24 * time.Hour
)

// Reservations reads the number of free instances of capacity reservations, by id, each with the
// time of EC2's answer. Instances launched later are not in the count.
func Reservations(ctx context.Context, store Store) (map[string]catalog.ReservationCount, error) {
	counts, _, err := readReservations(ctx, store)
	return counts, err
}

// PutReservations stores the counts that EC2 gave at the time read. Of two counts of a reservation
// the later one stays, in any order of writes. Without counts it writes nothing.
func PutReservations(ctx context.Context, store Store, available map[string]int, read time.Time) error {
	if len(available) == 0 {
		return nil
	}
	return replace(func() error {
		counts, version, err := readReservations(ctx, store)
		if err != nil {
			return err
		}
		for id, left := range available {
			if known, ok := counts[id]; !ok || read.After(known.Time) {
				counts[id] = catalog.ReservationCount{Available: left, Time: read.UTC()}
			}
		}
		maps.DeleteFunc(
			counts,
			func(_ string, count catalog.ReservationCount) bool { return read.Sub(count.Time) >= reservationsFor },
		)
		return put(ctx, store, reservationsName, reservationsKey, version, counts)
	})
}

// readReservations treats an unreadable ConfigMap as empty. Reservations are then not used until
// they are counted again, within a minute.
func readReservations(ctx context.Context, store Store) (map[string]catalog.ReservationCount, string, error) {
	counts := map[string]catalog.ReservationCount{}
	stored, err := store.ConfigMap(ctx, reservationsName)
	if err != nil || stored == nil {
		return counts, "", err
	}
	if err := json.Unmarshal([]byte(stored.Data[reservationsKey]), &counts); err != nil || counts == nil {
		counts = map[string]catalog.ReservationCount{}
	}
	return counts, stored.ResourceVersion, nil
}
