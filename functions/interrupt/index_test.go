package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
)

// counted is a cluster of claims that counts how they are read.
type counted struct {
	kubernetes
	claims []api.NodeClaim
	lists  int
	gets   []string
	refuse error
}

func (c *counted) NodeClaims(context.Context) ([]api.NodeClaim, error) {
	c.lists++
	return slices.Clone(c.claims), c.refuse
}

func (c *counted) NodeClaim(_ context.Context, name string) (*api.NodeClaim, error) {
	c.gets = append(c.gets, name)
	if c.refuse != nil {
		return nil, c.refuse
	}
	for i := range c.claims {
		if c.claims[i].Name == name {
			return &c.claims[i], nil
		}
	}
	return nil, fmt.Errorf("reading: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "nodeclaims"}, name))
}

func (c *counted) add(name, instance string) {
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Status.ProviderID = api.ProviderID("us-east-1a", instance)
	c.claims = append(c.claims, claim)
}

func TestAStormCostsFewLists(t *testing.T) {
	c := &counted{}
	c.add("a", "i-1")
	c.add("b", "i-2")
	at := time.Now()
	h := &handler{now: func() time.Time { return at }}
	ask := func(details ...events.Detail) string {
		t.Helper()
		var messages []*message
		for _, detail := range details {
			messages = append(messages, &message{event: events.Event{Detail: detail}})
		}
		c.lists, c.gets = 0, nil
		claims, err := h.claims(t.Context(), c, append(messages, &message{foreign: true}, &message{err: errors.New("unreadable")}))
		if err != nil {
			return err.Error()
		}
		var names []string
		for i := range claims {
			names = append(names, claims[i].Name)
		}
		slices.Sort(names)
		return fmt.Sprintf("%s: %d lists, %d gets", strings.Join(names, " "), c.lists, len(c.gets))
	}
	warn := func(id string) events.Detail { return &events.SpotInterruption{InstanceID: id} }
	changed := func(id string) events.Detail { return &events.StateChange{InstanceID: id, State: events.StateRunning} }
	for _, step := range []struct {
		name    string
		before  func()
		details []events.Detail
		want    string
	}{
		{"a cold container lists", nil, []events.Detail{warn("i-1")}, "a b: 1 lists, 0 gets"},
		{"then it knows", nil, []events.Detail{warn("i-1"), warn("i-1")}, "a: 0 lists, 1 gets"},
		{"and knows whose none is", nil, []events.Detail{warn("i-9"), warn("i-2")}, "b: 0 lists, 1 gets"},
		{"but for a moment only", func() { at = at.Add(listedFor) }, []events.Detail{warn("i-9"), warn("i-2")}, "a b: 1 lists, 0 gets"},
		{"what it knows it knows for good", func() { at = at.Add(time.Hour) }, []events.Detail{warn("i-2")}, "b: 0 lists, 1 gets"},
		{"a claim that is gone is none", func() { c.claims = c.claims[:1] }, []events.Detail{warn("i-2"), warn("i-1")}, "a: 0 lists, 2 gets"},
		{"a new one is found", func() { c.add("c", "i-3") }, []events.Detail{warn("i-3")}, "a c: 1 lists, 0 gets"},
		{"the change of state of one that is new waits", func() { at = at.Add(listedFor); c.add("d", "i-4") }, []events.Detail{changed("i-4")}, ": 0 lists, 0 gets"},
		{"a warning about it does not", nil, []events.Detail{changed("i-4"), warn("i-4"), changed("i-4")}, "a c d: 1 lists, 0 gets"},
		{"nor does a change for long", func() { at = at.Add(listedForItsChange) }, []events.Detail{changed("i-9")}, "a c d: 1 lists, 0 gets"},
		{"a reservation's claims are looked for among all", nil, []events.Detail{&events.CapacityBlockExpiration{ReservationID: "cr-1"}}, "a c d: 1 lists, 0 gets"},
		{"what cannot be read is an error", func() { c.refuse = errors.New("busy") }, []events.Detail{warn("i-1")}, `nodeclaim "a": busy`},
	} {
		if step.before != nil {
			step.before()
		}
		if got := ask(step.details...); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}
