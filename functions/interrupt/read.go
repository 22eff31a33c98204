package interrupt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
)

// idsPerList is how many instances or reservations one list names. Its URL then stays short enough
// for every proxy. One page of AWS Health may name hundreds.
const idsPerList = 100

// search has the ids that events name and for which no claim was found yet.
type search struct{ instances, reservations map[string]bool }

func searchFor(batch []events.Event) *search {
	s := &search{map[string]bool{}, map[string]bool{}}
	for _, event := range batch {
		for _, id := range event.Detail.Instances() {
			s.instances[id] = true
		}
		if block, ok := event.Detail.(*events.CapacityBlockExpiration); ok {
			s.reservations[block.ReservationID] = true
		}
	}
	return s
}

// awaits returns whether the event names an id for which no claim was found.
func (s *search) awaits(event events.Event) bool {
	if block, ok := event.Detail.(*events.CapacityBlockExpiration); ok && s.reservations[block.ReservationID] {
		return true
	}
	return slices.ContainsFunc(event.Detail.Instances(), func(id string) bool { return s.instances[id] })
}

// cached lists the claims of the instances by their labels, and removes the instances found from
// the search. The API server answers from its watch cache, which may lag: in a storm over a large
// cluster no batch may cost a list of all claims.
func (s *search) cached(ctx context.Context, client kubernetes) ([]api.NodeClaim, error) {
	found, err := list(ctx, client, withLabel(api.LabelInstanceID, s.instances), true)
	for _, claim := range found {
		if id, launched := api.InstanceID(claim.Status.ProviderID); launched {
			delete(s.instances, id)
		}
	}
	return found, err
}

// stored lists the claims of the remaining ids from the API server's store. An instance's claim may
// be new, or it may be one that lifecycle has not labelled yet, as after a migration from
// Karpenter. An instance without a claim is foreign.
func (s *search) stored(ctx context.Context, client kubernetes) ([]api.NodeClaim, error) {
	selectors := withLabel(api.LabelCapacityReservationID, s.reservations)
	if len(s.instances) > 0 {
		selectors = append(selectors, withLabel(api.LabelInstanceID, s.instances)...)
		selectors = append(selectors, selector(api.LabelInstanceID, selection.DoesNotExist, nil))
	}
	return list(ctx, client, selectors, false)
}

// list returns the claims that one of the selectors matches, each once, by name. When a list fails
// it returns the claims of the others and the error.
func list(ctx context.Context, client kubernetes, selectors []labels.Selector, cached bool) ([]api.NodeClaim, error) {
	found, failed := make([][]api.NodeClaim, len(selectors)), make([]error, len(selectors))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, selector := range selectors {
		group.Go(func() error {
			found[i], failed[i] = client.SelectNodeClaims(ctx, selector, cached)
			return nil
		})
	}
	_ = group.Wait() // each list has its own error
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b api.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b api.NodeClaim) bool { return a.Name == b.Name }), errors.Join(failed...)
}

// withLabel selects objects whose label has one of the values. It drops values that no label can
// have.
func withLabel(label string, values map[string]bool) []labels.Selector {
	valid := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(value string) bool {
		return len(validation.IsValidLabelValue(value)) > 0
	})
	var selectors []labels.Selector
	for some := range slices.Chunk(valid, idsPerList) {
		selectors = append(selectors, selector(label, selection.In, some))
	}
	return selectors
}

func selector(label string, operator selection.Operator, values []string) labels.Selector {
	requirement, err := labels.NewRequirement(label, operator, values)
	if err != nil {
		panic(fmt.Sprintf("selecting by label %s: %v", label, err)) // withLabel checks the values
	}
	return labels.NewSelector().Add(*requirement)
}
