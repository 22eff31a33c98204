package launching

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

// Addresses are the free addresses of the subnets of classes that have several subnets in a zone. A
// warm container keeps them. The zero value has none. It is safe for concurrent use.
type Addresses struct {
	mutex sync.Mutex
	read  time.Time
	known launch.Addresses
}

// refresh reads the free addresses of the classes' subnets, unless the last reading still
// counts. After a failure the order of the subnets in the class's status decides, which was by free
// addresses when the class was resolved.
func (a *Addresses) refresh(ctx context.Context, ec2 Fleet, classes []api.EC2NodeClass, now time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	subnets := launch.SubnetsWithChoice(classes)
	if len(subnets) == 0 || now.Sub(a.read) < addressesLast && a.known.Has(subnets) {
		return
	}
	free, err := ec2.FreeAddresses(ctx, subnets)
	if err != nil {
		slog.WarnContext(ctx, "the free addresses of subnets are unknown: the order in the ec2nodeclass decides",
			"error", err)
		a.known = launch.Addresses{}
		return
	}
	a.read, a.known = now, launch.Addresses{Free: free}
}

// build builds a request by the addresses that are left, and reserves those that the request may
// take. Its errors are those of launch.Build.
func (a *Addresses) build(in launch.Input) (launch.Request, error) {
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
func (a *Addresses) settle(request *launch.Request, launched map[string]int) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.known.Settle(request, launched)
}
