package main

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
)

// pricesFor is how long a container uses the catalogue that it has read. Prices change by the hour.
const pricesFor = 10 * time.Minute

// prices is the catalogue that this container has read. It is safe for concurrent use.
type prices struct {
	mutex sync.Mutex
	known *catalog.Snapshot
	read  time.Time
}

// catalog returns the catalogue. Its errors are those of inventory.Catalog.
func (p *prices) catalog(ctx context.Context, store inventory.Store, now time.Time) (*catalog.Snapshot, error) {
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

// measure writes each minute the number of nodes and their prices. Without a catalogue it writes
// only the number.
func (h *handler) measure(ctx context.Context, store inventory.Store, s *seen) {
	if !s.tick || h.metrics == nil {
		return
	}
	known, err := h.prices.catalog(ctx, store, h.now())
	if err != nil {
		slog.WarnContext(ctx, "prices of nodes not read", "error", err)
	}
	h.metrics.Write(fleetValues(s.claims, known, nodecost.Of(known, s.classes, s.pools), h.now())...)
}

// fleetValues counts the claims with an instance by capacity type, and adds up their prices in US
// dollars per hour. What spot saves is about the instances alone. The catalogue may be nil.
func fleetValues(
	claims []api.NodeClaim, known *catalog.Snapshot, costs nodecost.Costs, now time.Time,
) []metrics.Value {
	nodes := map[string]float64{}
	var price, saved float64
	for i := range claims {
		if claims[i].Status.ProviderID == "" {
			continue
		}
		labels := claims[i].Labels
		kind := labels[api.CapacityTypeLabelKey]
		nodes[kind]++
		if known == nil {
			continue
		}
		whole, _ := costs.PriceOfClaim(&claims[i])
		price += whole
		if kind == api.CapacityTypeSpot {
			instance, _ := known.Price(labels)
			onDemand, _ := known.Price(onDemandLabels(labels))
			saved += catalog.SavingsAgainst(onDemand, instance).PerHour
		}
	}
	var values []metrics.Value
	for _, kind := range []string{api.CapacityTypeSpot, api.CapacityTypeOnDemand, api.CapacityTypeReserved} {
		values = append(values, metrics.CountOf(metrics.Nodes, kind, nodes[kind]))
	}
	if known == nil {
		return values
	}
	return append(values, metrics.Count(metrics.DollarsPerHour, price), metrics.Count(metrics.SavedDollars, saved),
		metrics.Count(metrics.CatalogAge, now.Sub(known.Time).Seconds()))
}

// onDemandLabels are the labels of the same node at the on-demand price.
func onDemandLabels(labels map[string]string) map[string]string {
	other := maps.Clone(labels)
	other[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand
	return other
}
