package provision

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// reader reads the cluster for a look. It knows better than the API server what the look has found out
// itself: which offerings EC2 was short of, and what a class resolves to now. Facts that do not change
// within a look are read once.
type reader struct {
	sight.Cluster
	handler *Handler

	// catalog changes by the hour. The next look keeps it.
	catalog *catalog.Catalog
	// unavailable has the marks of this look too. The other facts are those of its first reading.
	unavailable  *catalog.Unavailable
	learned      *catalog.Learned
	reservations map[string]catalog.ReservationCount
	misfits      map[string]misfit.Misfit

	mutex sync.Mutex // for what a reading reports
	// unresolved are the errors of classes in the last reading, and events what it has to tell.
	unresolved error
	events     []cluster.Event
	shift      shift
}

// shift is what ARC told in a reading.
type shift struct {
	zones  map[string]time.Time
	change zonalshift.Change
}

func newReader(h *Handler, client *cluster.Client) *reader {
	return &reader{Cluster: sight.Cluster{Client: client}, handler: h}
}

// next is the reader of the next look.
func (r *reader) next() *reader {
	return &reader{Cluster: r.Cluster, handler: r.handler, catalog: r.catalog}
}

// once returns the fact, and reads it if it is not known yet.
func once[T any](ctx context.Context, known *T, unread bool, read func(context.Context) (T, error)) (T, error) {
	if !unread {
		return *known, nil
	}
	fact, err := read(ctx)
	if err == nil {
		*known = fact
	}
	return fact, err
}

// Catalog reads the catalogue once.
func (r *reader) Catalog(ctx context.Context) (*catalog.Catalog, error) {
	return once(ctx, &r.catalog, r.catalog == nil, r.Cluster.Catalog)
}

// Unavailable reads the marks of earlier looks once, and asks ARC for shifted zones each time.
func (r *reader) Unavailable(ctx context.Context) (*catalog.Unavailable, error) {
	unavailable, err := once(ctx, &r.unavailable, r.unavailable == nil, r.Cluster.Unavailable)
	if err != nil || r.handler.shifts == nil {
		return unavailable, err
	}
	zones, change := r.handler.shifts.Refresh(ctx, r.Client)
	unavailable.Shifted = zones
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.shift = shift{zones: zones, change: change}
	return unavailable, nil
}

// Learned reads the learned capacity once.
func (r *reader) Learned(ctx context.Context) (*catalog.Learned, error) {
	return once(ctx, &r.learned, r.learned == nil, r.Cluster.Learned)
}

// Reservations reads the counts once, and again after a class has been resolved.
func (r *reader) Reservations(ctx context.Context) (map[string]catalog.ReservationCount, error) {
	return once(ctx, &r.reservations, r.reservations == nil, r.Cluster.Reservations)
}

// Misfits reads the stored misfits once.
func (r *reader) Misfits(ctx context.Context) (map[string]misfit.Misfit, error) {
	return once(ctx, &r.misfits, r.misfits == nil, r.Cluster.Misfits)
}

// keepMisfits takes misfits for the stored ones from now on.
func (r *reader) keepMisfits(misfits map[string]misfit.Misfit) { r.misfits = misfits }

// NodeClasses brings classes up to date that are new, changed or not ready. A class that cannot be
// resolved now stays as it was, and stops no other.
func (r *reader) NodeClasses(ctx context.Context) ([]api.EC2NodeClass, error) {
	classes, err := r.Cluster.NodeClasses(ctx)
	if err != nil {
		return nil, err
	}
	var failures []error
	for i := range classes {
		class := classes[i]
		class.Default()
		if r.handler.classes.Stale(&class) {
			failures = append(failures, r.resolve(ctx, &class))
		}
		classes[i] = class
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.unresolved = errors.Join(failures...)
	return classes, nil
}

// resolve brings the class up to date.
func (r *reader) resolve(ctx context.Context, class *api.EC2NodeClass) error {
	err := guard.Run(func() (err error) {
		*class, err = r.handler.classes.Resolve(ctx, r.Client, *class, r.handler.now())
		return err
	})
	if guard.IsPanic(err) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.events = append(r.events, warning(disruption.AboutClass(class), api.EventReasonInternalError, err.Error()))
	}
	if len(class.Status.CapacityReservations) > 0 {
		r.reservations = nil // resolving has counted them anew
	}
	return err
}

// report records the events of the last reading, and returns what it could not resolve.
func (r *reader) report(view *sight.View, record func(cluster.Event)) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, event := range append(r.events,
		zonalshift.Events(r.shift.change, r.shift.zones, view.Objects.NodePools, view.Objects.NodeClasses)...) {
		record(event)
	}
	r.events, r.shift = nil, shift{}
	return r.unresolved
}
