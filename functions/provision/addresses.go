package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// addressesLast is how long the free addresses of subnets are believed. What this
// container launches meanwhile is counted; what others do to the subnets is not.
const addressesLast = 5 * time.Second

// addresses are the free addresses of the subnets of classes that have a choice of
// subnets in a zone: a warm container's cache.
type addresses struct {
	mutex sync.Mutex
	read  time.Time
	known launch.Addresses
}

// refresh reads the free addresses of the classes' subnets unless that was a moment ago.
// Where it fails, the order of the class's status decides, which a minute ago was by
// free addresses.
func (h *handler) refreshAddresses(ctx context.Context, classes []api.EC2NodeClass) {
	a := &h.addresses
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var subnets []string
	fresh := h.now().Sub(a.read) < addressesLast
	for i := range classes {
		if !launch.HasChoice(&classes[i]) {
			continue
		}
		for _, subnet := range classes[i].Status.Subnets {
			subnets = append(subnets, subnet.ID)
			_, known := a.known.Free[subnet.ID]
			fresh = fresh && known
		}
	}
	if len(subnets) == 0 || fresh {
		return
	}
	free, err := h.fleet.FreeAddresses(ctx, subnets)
	if err != nil {
		slog.WarnContext(ctx, "the free addresses of subnets are not read: those that had most when the ec2nodeclass was resolved are used", "error", err)
		a.known = launch.Addresses{}
		return
	}
	a.read, a.known = h.now(), launch.Addresses{Free: free}
}

// build decides a request by the addresses that are left and counts its own.
func (a *addresses) build(in launch.Input) (launch.Request, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	in.Addresses = &a.known
	request, err := launch.Build(in)
	if err == nil {
		a.known.Reserve(&request)
	}
	return request, err
}

// settle gives back what the request did not use.
func (a *addresses) settle(request *launch.Request, launched map[string]int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.known.Settle(request, launched)
}
