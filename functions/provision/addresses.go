package provision

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
)

// addressesLast is how long a reading of the subnets' free addresses counts. Meanwhile this
// container counts its own launches. It does not see those of others.
const addressesLast = 5 * time.Second

// addresses are the free addresses of the subnets of classes that have several subnets in a zone. A
// warm container keeps them.
type addresses struct {
	mutex sync.Mutex
	read  time.Time
	known launch.Addresses
}

// refreshAddresses reads the free addresses of the classes' subnets, unless the last reading still
// counts. After a failure the order of the subnets in the class's status decides, which was by free
// addresses when the class was resolved.
func (h *Handler) refreshAddresses(ctx context.Context, classes []api.EC2NodeClass) {
	a := &h.addresses
	a.mutex.Lock()
	defer a.mutex.Unlock()
	subnets := launch.SubnetsWithChoice(classes)
	if len(subnets) == 0 || h.now().Sub(a.read) < addressesLast && a.known.Has(subnets) {
		return
	}
	free, err := h.fleet.FreeAddresses(ctx, subnets)
	if err != nil {
		slog.WarnContext(ctx, "the free addresses of subnets are unknown: the order in the ec2nodeclass decides",
			"error", err)
		a.known = launch.Addresses{}
		return
	}
	a.read, a.known = h.now(), launch.Addresses{Free: free}
}

// build builds a request by the addresses that are left, and reserves those that the request may
// take. Its errors are those of launch.Build.
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

// settle gives back the addresses that the request did not use. launched counts its instances by
// subnet.
func (a *addresses) settle(request *launch.Request, launched map[string]int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.known.Settle(request, launched)
}
