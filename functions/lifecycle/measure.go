package lifecycle

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodecost"
	"github.com/whittle-dev/whittle/shared/status"
)

// pricesFor is how long a container uses the catalogue that it has read. Prices change by the hour.
const pricesFor = 10 * time.Minute

// ageOfNone is the age of a catalogue that is not there. Lifecycle tells it, because the alarm cannot
// take missing values for a missing catalogue: there are none in standby either.
const ageOfNone = 7 * 24 * time.Hour

// prices is the catalogue that this container has read. It is safe for concurrent use.
type prices struct {
	mutex sync.Mutex
	known *catalog.Catalog
	read  time.Time
}

// catalog returns the catalogue. Its errors are those of inventory.Catalog.
func (p *prices) catalog(ctx context.Context, store inventory.Store, now time.Time) (*catalog.Catalog, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.known != nil && now.Sub(p.read) < pricesFor {
		return p.known, nil
	}
	known, err := inventory.Catalog(ctx, store)
	if err == nil {
		p.known, p.read = known, now
	}
	return known, err
}

// measure writes on each tick the number of nodes and their prices. Without a catalogue it writes the
// number, and an age for which the alarm rings. The line in the log has the same, because a line costs next to
// nothing, and a series of a metric does not.
func (h *Handler) measure(ctx context.Context, store inventory.Store, s *seen) {
	now := h.now()
	tells := now.Sub(time.Unix(h.told.Load(), 0)) >= tellEvery
	if !s.tick || h.metrics == nil && !tells {
		return
	}
	known, err := h.prices.catalog(ctx, store, now)
	if err != nil {
		slog.WarnContext(ctx, "prices of nodes not read", "error", err)
	}
	sums := sumsOf(s.claims, known, nodecost.Of(known, s.owners.classes, s.owners.pools))
	slog.InfoContext(ctx, "counted nodes", sums.fields(known)...)
	h.metrics.Write(append(sums.metrics(known, now), sums.ofPools(h.metrics.Pools(), known != nil)...)...)
	if tells {
		h.told.Store(now.Unix())
		tell(ctx, store, &sums, known != nil, now)
	}
}

// tellEvery is how often a container tells people of the nodes.
const tellEvery = 5 * time.Minute

// tell writes the number of nodes and their price for the chart of the last day. Nothing depends on
// it, so that a failure is only logged.
func tell(ctx context.Context, store inventory.Store, sums *sums, priced bool, now time.Time) {
	fleet := status.Fleet{}
	for _, count := range sums.nodes {
		fleet.Nodes += count
	}
	if priced {
		fleet.PricePerHour = &sums.price
	}
	if err := status.PutFleet(ctx, store, fleet, now); err != nil {
		slog.WarnContext(ctx, "the nodes are missing in the chart of the day", "error", err)
	}
}

// sums are about the claims with an instance.
type sums struct {
	nodes map[string]int // by capacity type
	// price is that of the nodes, and saved what spot saves on the instances alone, in US dollars an
	// hour. Both are zero without a catalogue.
	price, saved float64
	// pools has the sums of each NodePool, by its name.
	pools map[string]poolSums
}

// poolSums are about the claims of a NodePool with an instance.
type poolSums struct {
	nodes int
	price float64
}

// sumsOf counts the claims with an instance, and adds up their prices. The catalogue may be nil.
func sumsOf(claims []api.NodeClaim, known *catalog.Catalog, costs nodecost.Costs) sums {
	all := sums{nodes: map[string]int{}, pools: map[string]poolSums{}}
	for i := range claims {
		if claims[i].Status.ProviderID == "" {
			continue
		}
		labels := claims[i].Labels
		kind := labels[api.CapacityTypeLabelKey]
		all.nodes[kind]++
		pool := all.pools[labels[api.NodePoolLabelKey]]
		pool.nodes++
		if known == nil {
			all.pools[labels[api.NodePoolLabelKey]] = pool
			continue
		}
		price, _ := costs.PriceOfClaim(&claims[i])
		all.price += price
		pool.price += price
		all.pools[labels[api.NodePoolLabelKey]] = pool
		if kind == api.CapacityTypeSpot {
			instance, _ := known.Price(labels)
			onDemand, _ := known.Price(onDemandLabels(labels))
			all.saved += catalog.SavingsAgainst(onDemand, instance).PerHour
		}
	}
	return all
}

// fields are those of the line in the log, which the dashboard's graphs read. The catalogue may be nil.
func (s *sums) fields(known *catalog.Catalog) []any {
	var fields []any
	for _, kind := range capacityTypes() {
		fields = append(fields, kind, s.nodes[kind])
	}
	if known == nil {
		return fields
	}
	return append(fields, "price", s.price, "saved", s.saved)
}

func capacityTypes() []string {
	return []string{api.CapacityTypeSpot, api.CapacityTypeOnDemand, api.CapacityTypeReserved}
}

// metrics are the values to write. The catalogue may be nil.
func (s *sums) metrics(known *catalog.Catalog, now time.Time) []metrics.Value {
	var values []metrics.Value
	for _, kind := range capacityTypes() {
		values = append(values, metrics.CountOf(metrics.Nodes, kind, float64(s.nodes[kind])))
	}
	if known == nil {
		return append(values, metrics.Count(metrics.CatalogAge, ageOfNone.Seconds()))
	}
	return append(values, metrics.Count(metrics.DollarsPerHour, s.price), metrics.Count(metrics.SavedDollars, s.saved),
		metrics.Count(metrics.CatalogAge, now.Sub(known.Time).Seconds()))
}

// ofPools are the values of NodePools with metrics of their own. A pool without nodes has zeros, so that its
// graph does not end. Without a catalogue no price is known.
func (s *sums) ofPools(pools []string, priced bool) []metrics.Value {
	var values []metrics.Value
	for _, pool := range pools {
		values = append(values, metrics.CountOf(metrics.PoolNodes, pool, float64(s.pools[pool].nodes)))
		if priced {
			values = append(values, metrics.CountOf(metrics.PoolDollars, pool, s.pools[pool].price))
		}
	}
	return values
}

// onDemandLabels are the labels of the same node at the on-demand price.
func onDemandLabels(labels map[string]string) map[string]string {
	other := maps.Clone(labels)
	other[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand
	return other
}
