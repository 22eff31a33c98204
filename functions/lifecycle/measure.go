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
)

// pricesFor is how long a container believes the catalogue that it has read: prices change by the hour.
const pricesFor = 10 * time.Minute

// prices is the catalogue as this container knows it.
type prices struct {
	mutex sync.Mutex
	known *catalog.Snapshot
	read  time.Time
}

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

// measure writes, each minute, what nodes there are and what they cost. Without a catalogue they are counted only.
func (h *handler) measure(ctx context.Context, store inventory.Store, s *seen) {
	if !s.tick || h.metrics == nil {
		return
	}
	known, err := h.prices.catalog(ctx, store, h.now())
	if err != nil {
		slog.WarnContext(ctx, "what the nodes cost is not known", "error", err)
	}
	h.metrics.Write(fleetValues(s.claims, known, h.now())...)
}

// fleetValues counts the claims that have an instance, by capacity type, and their prices where the catalogue is there.
func fleetValues(claims []api.NodeClaim, known *catalog.Snapshot, now time.Time) []metrics.Value {
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
		costs, _ := known.Price(labels)
		price += costs
		if kind == api.CapacityTypeSpot {
			onDemand, _ := known.Price(onDemandLabels(labels))
			saved += catalog.SavingsAgainst(onDemand, costs).PerHour
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

// onDemandLabels are the labels of the same node bought on demand.
func onDemandLabels(labels map[string]string) map[string]string {
	other := maps.Clone(labels)
	other[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand
	return other
}
