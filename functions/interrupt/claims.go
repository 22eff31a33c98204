package main

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

// named is how many instances or reservations one list is asked for, so that its address stays
// of a length that every proxy lets through. A page of AWS Health's may name hundreds.
const named = 100

// sought is what events name and no claim was found for yet: instances and reservations.
type sought struct{ instances, reservations map[string]bool }

func soughtBy(messages []*message) *sought {
	s := &sought{map[string]bool{}, map[string]bool{}}
	for _, message := range messages {
		if !message.acted() {
			continue
		}
		for _, id := range message.event.Detail.Instances() {
			s.instances[id] = true
		}
		if block, ok := message.event.Detail.(*events.CapacityBlockExpiration); ok {
			s.reservations[block.ReservationID] = true
		}
	}
	return s
}

// names tells whether the event names what no claim was found for.
func (s *sought) names(event events.Event) bool {
	block, ok := event.Detail.(*events.CapacityBlockExpiration)
	return ok && s.reservations[block.ReservationID] || slices.ContainsFunc(event.Detail.Instances(), func(id string) bool { return s.instances[id] })
}

// cached finds the claims of the instances by their labels, in the API server's memory, which may
// lag a little: a storm over a large cluster must not list all of it for each batch.
func (s *sought) cached(ctx context.Context, client kubernetes) ([]api.NodeClaim, error) {
	found, err := list(ctx, client, naming(api.LabelInstanceID, s.instances), true)
	for _, claim := range found {
		if id, launched := api.InstanceID(claim.Status.ProviderID); launched {
			delete(s.instances, id)
		}
	}
	return found, err
}

// stored asks the store for what is left: an instance's claim may be new, or one that lifecycle has not
// labelled yet, as after Karpenter. Else the instance is somebody else's.
func (s *sought) stored(ctx context.Context, client kubernetes) ([]api.NodeClaim, error) {
	wanted := naming(api.LabelCapacityReservationID, s.reservations)
	if len(s.instances) > 0 {
		wanted = append(append(wanted, naming(api.LabelInstanceID, s.instances)...), selecting(api.LabelInstanceID, selection.DoesNotExist, nil))
	}
	return list(ctx, client, wanted, false)
}

// list reads the claims that one of the selectors matches, each once, by their names.
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
	_ = group.Wait() // each has its own error
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b api.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b api.NodeClaim) bool { return a.Name == b.Name }), errors.Join(failed...)
}

// naming selects by a label that has one of the values, without those that no label can have.
func naming(label string, values map[string]bool) []labels.Selector {
	possible := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(value string) bool { return len(validation.IsValidLabelValue(value)) > 0 })
	var selectors []labels.Selector
	for some := range slices.Chunk(possible, named) {
		selectors = append(selectors, selecting(label, selection.In, some))
	}
	return selectors
}

func selecting(label string, operator selection.Operator, values []string) labels.Selector {
	requirement, err := labels.NewRequirement(label, operator, values)
	if err != nil {
		panic(fmt.Sprintf("selecting by label %s: %v", label, err)) // the values have been checked
	}
	return labels.NewSelector().Add(*requirement)
}
