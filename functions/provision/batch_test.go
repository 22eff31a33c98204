package provision

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// together is how many equal nodes the tests of batches launch.
const together = 3

// equal makes pods that each need a node of their own, all of one kind.
func (e *environment) equal(count int) {
	e.t.Helper()
	for i := range count {
		e.pod(fmt.Sprintf("equal-%d", i), "14", nil)
	}
}

// tapped is a new container whose calls to EC2 go through the tap.
func (e *environment) tapped(tap *wiretap) *Handler {
	made := e.handler(alive())
	config := e.config.Copy()
	config.HTTPClient = &http.Client{Transport: tap.wrap(http.DefaultTransport)}
	made.fleet = fleet.New(awsec2.NewFromConfig(config), clusterName)
	return made
}

// afterwards is a new container when the dead one's lease has run out.
func (e *environment) afterwards() *Handler {
	next := e.handler(alive())
	next.now = func() time.Time { return time.Now().Add(2 * time.Minute) }
	return next
}

// nodes checks that there are so many claims and instances, each one's the other's.
func (e *environment) nodes(want int) {
	e.t.Helper()
	running := map[string]bool{}
	for _, instance := range e.instances() {
		running[instance.ProviderID()] = true
	}
	claims := e.standing()
	for _, claim := range claims {
		if !running[claim.Status.ProviderID] {
			e.t.Errorf("claim %s has %q, which is no other's and runs", claim.Name, claim.Status.ProviderID)
		}
		delete(running, claim.Status.ProviderID)
		if !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeLaunched) {
			e.t.Errorf("claim %s: conditions %+v", claim.Name, claim.Status.Conditions)
		}
	}
	if len(claims) != want || len(running) != 0 {
		e.t.Errorf("%d claims, want %d; %d instances beside theirs: %v", len(claims), want, len(running), running)
	}
}

func TestEqualNodesAreLaunchedByOneCall(t *testing.T) {
	e := newEnvironment(t)
	e.equal(together)
	tap := &wiretap{}
	if _, err := e.tapped(tap).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	e.nodes(together)
	if tap.counts["CreateFleet"] != 1 || tap.fleets[0].wanted != fmt.Sprint(together) {
		t.Errorf("calls %v, fleets %+v, want one for all", tap.counts, tap.fleets)
	}
	for _, instance := range e.instances() {
		if instance.Tags[api.BatchTagKey] != tap.fleets[0].token || len(tap.fleets[0].token) > 64 {
			t.Errorf("token %q, tags %v", tap.fleets[0].token, instance.Tags)
		}
	}
}

func TestABatchTickedTwiceAtOnceIsLaunchedOnce(t *testing.T) {
	e := newEnvironment(t)
	e.equal(together)
	e.tickedAtOnce()
	e.nodes(together)
}

// cut launches equal nodes and ends the function when EC2 has answered.
func (e *environment) cut() {
	e.t.Helper()
	e.equal(together)
	if _, err := e.tapped(&wiretap{cutAfter: 1}).handle(e.t.Context(), tick("1")); err == nil {
		e.t.Fatal("the function was not cut off")
	}
	if len(e.instances()) != together {
		e.t.Fatalf("%d instances", len(e.instances()))
	}
}

// strays are the instances that lifecycle would end a minute from now.
func (e *environment) strays() []nodeclaim.Instance {
	e.t.Helper()
	listed, err := fleet.New(awsec2.NewFromConfig(e.config), clusterName).Instances(e.t.Context())
	e.try(err)
	var instances []nodeclaim.Instance
	for _, instance := range listed {
		instances = append(instances, nodeclaim.Instance{
			ID: instance.ID, Zone: instance.Zone, State: instance.State, LaunchTime: instance.LaunchTime, Tags: instance.Tags,
		})
	}
	return nodeclaim.Strays(instances, e.claims(), time.Now().Add(time.Minute))
}

func TestABatchThatEC2ShowsLate(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.SetVisibility(2 * time.Second)
	e.cut()
	e.try(e.core.CoordinationV1().Leases("whittle-system").Delete(t.Context(), leaseName, metav1.DeleteOptions{}))
	marks := &catalog.Unavailable{}
	marks.LeaveOut(catalog.CapacityTypeKey(api.CapacityTypeSpot), time.Now().Add(time.Hour))
	e.try(inventory.MarkUnavailable(t.Context(), e.client, marks, time.Now()))
	// The request is another one now, and EC2 shows nothing of the first yet.
	_, err := e.handler(alive()).handle(t.Context(), tick("2"))
	if err != nil && !strings.Contains(err.Error(), fleet.ErrUnseen.Error()) {
		t.Fatal(err)
	}
	if len(e.instances()) != together {
		t.Fatalf("%d instances, though the first launch got through", len(e.instances()))
	}
	if left := e.strays(); len(left) != 0 {
		t.Errorf("strays %+v, while their claims wait for EC2 to show them", left)
	}
	e.until("the instances to be found", func() bool {
		_, err := e.handler(alive()).handle(t.Context(), tick("3"))
		return err == nil &&
			!slices.ContainsFunc(e.standing(), func(claim api.NodeClaim) bool { return claim.Status.ProviderID == "" })
	})
	e.nodes(together)
}

func TestAClaimOfABatchThatIsDeletedMeanwhileLeavesAStray(t *testing.T) {
	e := newEnvironment(t)
	e.cut()
	gone := e.claims()[1]
	e.try(e.client.DeleteNodeClaim(t.Context(), gone.Name, gone.UID))
	next := e.afterwards()
	for range 2 {
		if _, err := next.handle(t.Context(), later(tick("2"))); err != nil {
			t.Fatal(err)
		}
	}
	// The pod of the deleted claim has got another; the others kept theirs.
	if claims := e.standing(); len(claims) != together || len(e.instances()) != together+1 {
		t.Fatalf(
			"%d claims and %d instances, want %d and one more that is nobody's", len(claims), len(e.instances()), together)
	}
	if left := e.strays(); len(left) != 0 {
		t.Errorf("strays %+v, while it is not settled whose they are", left)
	}
	// Lifecycle lets the deleted claim go when all is seen that may have been launched for it.
	_, err := e.client.PatchNodeClaim(
		t.Context(), gone.Name, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
	e.try(err)
	left := e.strays()
	if len(left) != 1 {
		t.Fatalf("strays %+v, want the deleted claim's instance", left)
	}
	e.try(e.ec2.Terminate(left[0].ID))
	e.nodes(together)
}

func TestABatchOfWhichAClaimWasDeletedBeforeItsLaunchWaits(t *testing.T) {
	e := newEnvironment(t)
	e.equal(together)
	e.ec2.Throttle("CreateFleet", 1, 0)
	if _, err := e.handler(alive()).handle(t.Context(), tick("1")); err == nil {
		t.Fatal("the handler returns no error although EC2 refuses calls")
	}
	e.ec2.Throttle("CreateFleet", 0, 0)
	gone := e.claims()[0]
	e.try(e.client.DeleteNodeClaim(t.Context(), gone.Name, gone.UID))
	if _, err := e.handler(alive()).handle(t.Context(), tick("2")); err != nil {
		t.Fatal(err)
	}
	// Somebody may just have asked for it: only the pod that lost its claim gets a node.
	if running := e.instances(); len(running) != 1 {
		t.Fatalf("%d instances run", len(running))
	}
	if _, err := e.afterwards().handle(t.Context(), later(tick("3"))); err != nil {
		t.Fatal(err)
	}
	e.nodes(together)
}

func TestABatchThatGetsFewerThanItAskedFor(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.SetLimits(ec2.Limits{SpotInstances: 1, OnDemandVCPUs: -1})
	e.equal(together)
	tap := &wiretap{}
	if _, err := e.tapped(tap).handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	e.nodes(together)
	bought := map[string]int{}
	for _, instance := range e.instances() {
		bought[instance.CapacityType]++
	}
	if bought["spot"] != 1 || bought["on-demand"] != together-1 || tap.counts["CreateFleet"] != 2 {
		t.Errorf("bought %v with %d calls, want what spot has and the rest on demand", bought, tap.counts["CreateFleet"])
	}
	if messages := e.events("default", "SpotQuotaExceeded"); len(messages) != 1 ||
		!strings.Contains(messages[0], "quota of spot vCPUs") {
		t.Errorf("the pool has the events %q", messages)
	}
}
