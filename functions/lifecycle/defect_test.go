package lifecycle

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
)

// defective is a cluster whose writes a test records. Other calls panic.
type defective struct {
	kubernetes
	pools   []api.NodePool
	classes []api.EC2NodeClass
	mutex   sync.Mutex
	written []string
	events  []cluster.Event
}

func (d *defective) NodePools(context.Context) ([]api.NodePool, error)       { return d.pools, nil }
func (d *defective) NodeClasses(context.Context) ([]api.EC2NodeClass, error) { return d.classes, nil }

func (d *defective) Provisioners(context.Context) ([]legacy.Provisioner, error) { return nil, nil }

func (d *defective) PatchNodeClaim(_ context.Context, name string, _ map[string]any) (*api.NodeClaim, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.written = append(d.written, name)
	return &api.NodeClaim{}, nil
}

func (d *defective) PatchNodeClaimStatus(ctx context.Context, name string, _ map[string]any) (*api.NodeClaim, error) {
	return d.PatchNodeClaim(ctx, name, nil)
}

func (d *defective) Record(_ context.Context, event cluster.Event, _ time.Time) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.events = append(d.events, event)
	return nil
}

func TestAPanicOverOneClaimStopsNoOther(t *testing.T) {
	launched := func(name string) nodeclaim.View {
		now := metav1.Now()
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: now}}
		claim.Status.ProviderID = api.ProviderID("eu-central-1a", "i-1")
		claim.Status.Conditions = []metav1.Condition{
			{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, LastTransitionTime: now},
		}
		return nodeclaim.View{Claim: claim, Tick: true}
	}
	broken, healthy := launched("broken"), launched("healthy")
	broken.Origin = &drift.Origin{} // no pool
	client := &defective{}
	p := passOver(client, time.Now, &seen{views: []nodeclaim.View{broken, healthy}})
	err := p.run(t.Context()).failed
	if err == nil || !strings.Contains(err.Error(), `nodeclaim "broken"`) {
		t.Errorf("error %v, want one that names the claim", err)
	}
	if len(client.written) == 0 || client.written[0] != "healthy" {
		t.Errorf("wrote %v, want the other claim", client.written)
	}
	p.events.Flush(t.Context(), client, 1, time.Now())
	if len(client.events) != 1 || client.events[0].About.Name != "broken" ||
		client.events[0].Reason != api.EventReasonInternalError {
		t.Errorf("events %+v, want one about the claim", client.events)
	}
}

func TestAPanicOverOneClassStopsNoOther(t *testing.T) {
	client := &defective{classes: make([]api.EC2NodeClass, 2)}
	client.classes[0].Name, client.classes[1].Name = "broken", "healthy"
	from, defects, failed := listOwners(t.Context(), client,
		func(_ context.Context, class api.EC2NodeClass) (api.EC2NodeClass, error) {
			if class.Name == "broken" {
				panic("user data")
			}
			class.Status.InstanceProfile = "resolved"
			return class, nil
		}, false)
	if !from.complete || len(from.classes) != 2 || from.classes[1].Status.InstanceProfile != "resolved" {
		t.Errorf("complete %v, classes %+v", from.complete, from.classes)
	}
	if failed == nil || !strings.Contains(failed.Error(), `ec2nodeclass "broken"`) {
		t.Errorf("error %v, want one that names the class", failed)
	}
	if len(defects) != 1 || defects[0].About.Name != "broken" {
		t.Errorf("events %+v, want one about the class", defects)
	}
}
