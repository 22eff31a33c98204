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

// claims reads the claims that the events may be about: a storm over a large cluster must not
// list all of it for each batch. They are found by labels, in the API server's memory, which may
// lag a little. Of an instance that is not found so the store is asked: its claim may be new, or one that
// lifecycle has not labelled yet, as after Karpenter. Else it is somebody else's.
func claims(ctx context.Context, client kubernetes, messages []*message) ([]api.NodeClaim, error) {
	instances, reservations := map[string]bool{}, map[string]bool{}
	for _, message := range messages {
		if message.err != nil || message.foreign {
			continue
		}
		for _, id := range message.event.Detail.Instances() {
			instances[id] = true
		}
		if block, ok := message.event.Detail.(*events.CapacityBlockExpiration); ok {
			reservations[block.ReservationID] = true
		}
	}
	found, err := list(ctx, client, naming(api.LabelInstanceID, instances), true)
	for _, claim := range found {
		if id, launched := api.InstanceID(claim.Status.ProviderID); launched {
			delete(instances, id)
		}
	}
	wanted := naming(api.LabelCapacityReservationID, reservations)
	if len(instances) > 0 {
		wanted = append(append(wanted, naming(api.LabelInstanceID, instances)...), selecting(api.LabelInstanceID, selection.DoesNotExist, nil))
	}
	if err == nil {
		var more []api.NodeClaim
		more, err = list(ctx, client, wanted, false)
		found = append(found, more...)
	}
	slices.SortFunc(found, func(a, b api.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(found, func(a, b api.NodeClaim) bool { return a.Name == b.Name }), err
}

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
	return slices.Concat(found...), errors.Join(failed...)
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
