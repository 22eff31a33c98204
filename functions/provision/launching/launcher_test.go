package launching_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/provision/launching"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/publish"
)

var now = catalogtest.Now

// objects is a cluster that stores what launches write of claims. A write fails once its context
// has ended.
type objects struct {
	launching.Client // panics on any other call
	mutex            sync.Mutex
	patched          map[string][]map[string]any // by the claim's name
	deleted          []string
}

func (o *objects) write(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.patched == nil {
		o.patched = map[string][]map[string]any{}
	}
	o.patched[name] = append(o.patched[name], patch)
	stored := claim(name)
	if annotations, given := patch["metadata"].(map[string]any)["annotations"].(map[string]any); given {
		if attempt, given := annotations[api.AttemptAnnotationKey].(string); given {
			stored.Annotations[api.AttemptAnnotationKey] = attempt
		}
	}
	return &stored, nil
}

func (o *objects) PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error) {
	return o.write(ctx, name, patch)
}

func (o *objects) PatchNodeClaimStatus(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error) {
	return o.write(ctx, name, map[string]any{"metadata": map[string]any{}, "status": patch["status"]})
}

func (o *objects) DeleteNodeClaim(_ context.Context, name string, _ types.UID) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.deleted = append(o.deleted, name)
	return nil
}

func (*objects) NodeClasses(context.Context) ([]api.EC2NodeClass, error) { return nil, nil }

func (*objects) CertificateAuthority() []byte { return nil }

// machines is an EC2 that answers each request by the function.
type machines struct {
	launching.Fleet // panics on any other call
	answer          func(launch.Request) (fleet.Outcome, error)
	earlier         []fleet.Instance

	mutex    sync.Mutex
	requests []launch.Request
}

func (m *machines) Launch(_ context.Context, request launch.Request) (fleet.Outcome, error) {
	m.mutex.Lock()
	m.requests = append(m.requests, request)
	m.mutex.Unlock()
	return m.answer(request)
}

func (m *machines) InstancesOf(context.Context, *api.NodeClaim) ([]fleet.Instance, error) {
	return m.earlier, nil
}

func (m *machines) FreeAddresses(context.Context, []string) (map[string]int, error) { return nil, nil }

func instance(id string) fleet.Instance {
	return fleet.Instance{
		ID: id, InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: api.CapacityTypeOnDemand, State: "running",
		ImageID: "ami-1", SubnetID: "subnet-a",
	}
}

// claim is a claim that waits for an m5.large.
func claim(name string) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("0f0e0d0c-" + name), CreationTimestamp: metav1.NewTime(now.Add(-time.Minute)),
		Finalizers: []string{api.TerminationFinalizer}, Annotations: map[string]string{api.AttemptAnnotationKey: "1"},
	}}
	made.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	made.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5.large"}},
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{api.CapacityTypeOnDemand}},
	}
	return made
}

func groups(count int) []launch.Group {
	var claims []api.NodeClaim
	for i := range count {
		claims = append(claims, claim(fmt.Sprint("claim-", i)))
	}
	return launch.Groups(claims)
}

// world is a launcher on a cluster and an EC2 of a test.
type world struct {
	*launching.Launcher
	objects  *objects
	machines *machines
	facts    launching.Facts
	events   []string // their reasons
	frozen   *freeze.Freeze
	unread   error // of what people have frozen
}

func newWorld(t *testing.T, answer func(launch.Request) (fleet.Outcome, error)) *world {
	t.Helper()
	class := catalogtest.NodeClass("default")
	types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, now)
	w := &world{objects: &objects{}, machines: &machines{answer: answer}}
	var mutex sync.Mutex
	w.Launcher = &launching.Launcher{
		Frozen:  func(context.Context, string) (*freeze.Freeze, error) { return w.frozen, w.unread },
		Cluster: "test", Client: w.objects, Fleet: w.machines, Now: func() time.Time { return now },
		Addresses: &launching.Addresses{}, Tokens: &launching.Tokens{}, Published: &publish.Pending{},
		Record: func(event cluster.Event) {
			mutex.Lock()
			defer mutex.Unlock()
			w.events = append(w.events, event.Reason)
		},
	}
	w.facts = launching.Facts{
		Unavailable: &catalog.Unavailable{},
		SourceOf:    func(*api.NodeClaim) launching.Source { return launching.Source{Class: class, Types: types} },
	}
	return w
}

func TestThrottlingStopsTheGroupsThatHaveNotBegun(t *testing.T) {
	throttled := &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
	w := newWorld(t, func(launch.Request) (fleet.Outcome, error) { return fleet.Outcome{}, throttled })
	result, err := w.Launch(t.Context(), w.facts, groups(40))
	if !errors.Is(err, throttled) || !strings.Contains(err.Error(), "launches are left: EC2 asks for fewer calls") {
		t.Errorf("error %v", err)
	}
	// Four groups are under way at once. Another may have been let in beside each.
	if asked := len(w.machines.requests); asked > 20 || result.Short || len(result.Launched) != 0 {
		t.Errorf("EC2 was asked %d times, result %+v", asked, result)
	}
}

func TestAnAnswerIsWrittenDownAfterThePassesTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, func(launch.Request) (fleet.Outcome, error) {
		cancel() // the time is up, and the instance runs
		return fleet.Outcome{Instances: []fleet.Instance{instance("i-1")}}, nil
	})
	result, err := w.Launch(ctx, w.facts, groups(1))
	if err != nil || len(result.Launched) != 1 || len(w.objects.patched["claim-0"]) != 2 {
		t.Errorf("launched %v, wrote %v, %v", result.Launched, w.objects.patched, err)
	}
}

func TestAGroupIsRepeatedOnceInAPass(t *testing.T) {
	w := newWorld(t, func(launch.Request) (fleet.Outcome, error) {
		return fleet.Outcome{}, fmt.Errorf("%w: %w", fleet.ErrRefused, &fleet.Failure{Reason: "LaunchTemplateNotFound"})
	})
	if _, err := w.Launch(t.Context(), w.facts, groups(1)); err == nil {
		t.Error("no error")
	}
	if len(w.machines.requests) != 2 {
		t.Fatalf("EC2 was asked %d times, want twice", len(w.machines.requests))
	}
	first, second := w.machines.requests[0], w.machines.requests[1]
	if first.ClientToken == second.ClientToken {
		t.Errorf("both requests have the token %q", first.ClientToken)
	}
	if !first.Repeated || second.Repeated {
		t.Errorf("repeated are %t and %t, want the token alone that this pass did not write", first.Repeated, second.Repeated)
	}
}

func TestAShortageIsKnownToLaterLaunchesOfTheRound(t *testing.T) {
	short := fleet.Shortage{Key: catalog.CapacityTypeKey(""), For: time.Minute, Code: "InsufficientInstanceCapacity"}
	w := newWorld(t, func(launch.Request) (fleet.Outcome, error) {
		return fleet.Outcome{Short: []fleet.Shortage{short}}, nil
	})
	result, err := w.Launch(t.Context(), w.facts, groups(12))
	if err != nil || !result.Short || result.Lacking.Until[short.Key] != now.Add(short.For) {
		t.Errorf("short %t of %v, %v", result.Short, result.Lacking.Until, err)
	}
	if asked := len(w.machines.requests); asked > 4 {
		t.Errorf("EC2 was asked %d times, although it lacked everything", asked)
	}
	if len(w.facts.Unavailable.Until) != 0 {
		t.Error("the facts of the round have changed")
	}
	if len(w.objects.deleted) == 0 || len(w.events) == 0 {
		t.Errorf("gave up %v, events %v", w.objects.deleted, w.events)
	}
}

// TestTheLastOfTwoDenialsLeavesTheClassWithNothing launches two groups that EC2 denies at the same
// moment, each of one capacity type. One claim is given up. The other one stays, because its class
// may launch nothing at all.
func TestTheLastOfTwoDenialsLeavesTheClassWithNothing(t *testing.T) {
	for range 50 {
		var asked sync.WaitGroup
		asked.Add(2)
		denied := make(chan string, 2)
		denied <- api.CapacityTypeSpot
		denied <- api.CapacityTypeOnDemand
		w := newWorld(t, func(launch.Request) (fleet.Outcome, error) {
			asked.Done()
			asked.Wait()
			return fleet.Outcome{
				Short: []fleet.Shortage{
					{Key: catalog.CapacityTypeKey(<-denied), For: time.Minute, Code: "UnauthorizedOperation"},
				},
				Refused: &fleet.Failure{Reason: "Unauthorized", Code: "UnauthorizedOperation"},
			}, nil
		})
		_, err := w.Launch(t.Context(), w.facts, groups(2))
		if len(w.objects.deleted) != 1 {
			t.Fatalf("%v were given up, want one of two; %v", w.objects.deleted, err)
		}
	}
}

// A batch of three claims of which one was never written is launched one by one, unless an earlier
// request has instances.
func TestACutBatchIsLaunchedOneByOne(t *testing.T) {
	cut := func() []launch.Group {
		claims := []api.NodeClaim{claim("a"), claim("b")}
		for i := range claims {
			claims[i].Annotations[api.BatchAnnotationKey] = launch.Batch{ID: "batch", Size: 3, Index: i}.String()
		}
		return launch.Groups(claims)
	}
	launched := 0
	var mutex sync.Mutex
	one := func(launch.Request) (fleet.Outcome, error) {
		mutex.Lock()
		defer mutex.Unlock()
		launched++
		return fleet.Outcome{Instances: []fleet.Instance{instance(fmt.Sprint("i-", launched))}}, nil
	}
	t.Run("without instances", func(t *testing.T) {
		w := newWorld(t, one)
		result, err := w.Launch(t.Context(), w.facts, cut())
		if err != nil || len(result.Launched) != 2 || len(w.machines.requests) != 2 {
			t.Errorf("launched %d by %d requests, %v", len(result.Launched), len(w.machines.requests), err)
		}
		for _, request := range w.machines.requests {
			if request.Count != 1 || request.Repeated {
				t.Errorf("request %+v", request)
			}
		}
	})
	t.Run("with the instances of an earlier request", func(t *testing.T) {
		w := newWorld(t, one)
		leaving := instance("i-leaves")
		leaving.State = "shutting-down"
		w.machines.earlier = []fleet.Instance{instance("i-early"), leaving}
		result, err := w.Launch(t.Context(), w.facts, cut())
		if !errors.Is(err, fleet.ErrUnseen) || len(result.Launched) != 1 || len(w.machines.requests) != 0 {
			t.Errorf("launched %d by %d requests, %v", len(result.Launched), len(w.machines.requests), err)
		}
	})
	t.Run("a group alone is left for the next pass once the round is stopped", func(t *testing.T) {
		throttled := &smithy.GenericAPIError{Code: "RequestLimitExceeded"}
		w := newWorld(t, func(launch.Request) (fleet.Outcome, error) { return fleet.Outcome{}, throttled })
		if _, err := w.Launch(t.Context(), w.facts, cut()); !errors.Is(err, throttled) || len(w.machines.requests) != 1 {
			t.Errorf("EC2 was asked %d times, %v", len(w.machines.requests), err)
		}
	})
}

func TestAFreezeIsTheLastThingReadBeforeALaunch(t *testing.T) {
	w := newWorld(t, func(launch.Request) (fleet.Outcome, error) {
		return fleet.Outcome{Instances: []fleet.Instance{instance("i-1")}}, nil
	})
	w.frozen = &freeze.Freeze{Who: "alice", Launches: true}
	result, err := w.Launch(t.Context(), w.facts, groups(1))
	if err != nil || result.Short || len(w.machines.requests) != 0 {
		t.Errorf("frozen: %v, %+v, %d requests", err, result, len(w.machines.requests))
	}
	if len(w.objects.deleted) > 0 {
		t.Errorf("deleted %v", w.objects.deleted)
	}
	w.frozen, w.unread = nil, errors.New("no answer")
	if _, err := w.Launch(t.Context(), w.facts, groups(1)); !errors.Is(err, w.unread) || len(w.machines.requests) != 0 {
		t.Errorf("unread: %v, %d requests", err, len(w.machines.requests))
	}
	w.unread = nil
	if result, err := w.Launch(t.Context(), w.facts, groups(1)); err != nil || len(result.Launched) != 1 {
		t.Errorf("after the thaw: %v, %+v", err, result)
	}
}
