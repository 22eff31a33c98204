package provision

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// many is the number of pods for a short EC2, and some the number for a busy EC2. The second test
// takes ten times as long as EC2's limits would allow.
const many, some = 500, 150

// families are the instance types that these tests buy from.
func families() []string { return []string{"c5", "c6i", "c7i", "m5", "m6i", "m7i", "r5", "r6i", "r7i"} }

// crowd makes so many pods of ten sizes for the pools of three teams. Some of them must run in one
// zone. It waits until the API server lists all of them as pending.
func (e *environment) crowd(count int) {
	e.t.Helper()
	snapshot := catalogtest.Catalog(e.t)
	var kept []catalog.InstanceTypeInfo
	for _, info := range snapshot.InstanceTypes {
		family, _, _ := strings.Cut(info.InstanceType, ".")
		for _, wanted := range families() {
			if family == wanted && !info.BareMetal {
				kept = append(kept, info)
			}
		}
	}
	snapshot.InstanceTypes, snapshot.Time, snapshot.SpotPriceTime = kept, time.Now(), time.Now()
	e.try(inventory.PutCatalog(e.t.Context(), e.client, snapshot))
	const teams = 3
	for team := range teams {
		e.apply(nodePool(fmt.Sprintf("team-%d", team), "default", func(spec map[string]any) {
			spec["template"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"team": fmt.Sprint(team)}}
		}))
	}
	zones := []string{"us-east-1a", "us-east-1b", "us-east-1c"}
	var group errgroup.Group
	group.SetLimit(16)
	for i := range count {
		kind := i % 10
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("crowd-%d", i), Namespace: "default"},
			// The scheduler marks fifty pods a second as unschedulable. The test does it in its place.
			Spec: corev1.PodSpec{
				SchedulerName: "none",
				Containers: []corev1.Container{
					{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU:    resource.MustParse(fmt.Sprintf("%dm", 500+300*kind)),
						corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", 1000*(1+kind%5))),
					}}},
				},
			},
		}
		pod.Spec.NodeSelector = map[string]string{"team": fmt.Sprint(i % teams)}
		if kind < 6 {
			pod.Spec.NodeSelector[corev1.LabelTopologyZone] = zones[kind%3]
		}
		group.Go(func() error {
			stored, err := e.core.CoreV1().Pods("default").Create(e.t.Context(), pod, metav1.CreateOptions{})
			if err != nil {
				return err
			}
			stored.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
			}
			_, err = e.core.CoreV1().Pods("default").UpdateStatus(e.t.Context(), stored, metav1.UpdateOptions{})
			return err
		})
	}
	e.try(group.Wait())
	e.within(time.Minute, "all pods to be unschedulable", func() bool {
		pods, err := e.client.UnboundPods(e.t.Context())
		waiting := 0
		for i := range pods {
			if scheduling.IsProvisionable(&pods[i]) {
				waiting++
			}
		}
		return err == nil && waiting == count
	})
}

// settled tells whether each claim is launched and no pod was left out since the events
// were forgotten.
func (e *environment) settled() bool {
	e.t.Helper()
	for _, claim := range e.standing() {
		if claim.Status.ProviderID == "" {
			return false
		}
	}
	list, err := e.core.CoreV1().Events("default").List(
		e.t.Context(), metav1.ListOptions{FieldSelector: "reason=FailedScheduling,source=" + cluster.FieldManager})
	e.try(err)
	return len(list.Items) == 0
}

// ticks wakes the function until all pods have a place: until a pass has nothing to launch
// and leaves no pod out. It gives the number of passes before that one, a hundred at most.
func (e *environment) ticks(h *Handler) int {
	e.t.Helper()
	for pass := range 100 {
		e.try(e.core.CoreV1().Events("default").DeleteCollection(
			e.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "reason=FailedScheduling"}))
		h.events = recentEvents{}
		before := len(e.standing())
		// A busy or short EC2 is an error of this pass, which the next pass mends.
		_, err := h.handle(e.t.Context(), tick(fmt.Sprint(pass)))
		if err != nil {
			e.t.Logf("pass %d: %.200s", pass, err)
		}
		if err == nil && before > 0 && len(e.standing()) == before && e.settled() {
			return pass
		}
	}
	e.t.Fatal("pods wait for a place after a hundred passes")
	return 0
}

// shortage takes the capacity of a random 70 % of all offerings, and changes them from time to time
// until it is stopped.
func (e *environment) shortage(seed uint64, every time.Duration) (stop func()) {
	random := rand.New(rand.NewPCG(seed, 7))
	roll := func() {
		var starved []ec2.Starvation
		for _, info := range catalogtest.Catalog(e.t).InstanceTypes {
			family, _, _ := strings.Cut(info.InstanceType, ".")
			for _, wanted := range families() {
				for _, zone := range info.Zones {
					for _, bought := range info.SupportedUsageClasses {
						if family == wanted && random.Float64() < 0.7 {
							starved = append(starved, ec2.Starvation{InstanceType: info.InstanceType, Zone: zone, CapacityType: bought})
						}
					}
				}
			}
		}
		e.ec2.Feed("", "", "")
		for _, one := range starved {
			e.ec2.Starve(one)
		}
	}
	roll()
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				roll()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); running.Wait() }
}

// calm launches for a crowd on an EC2 that has all capacity and refuses no call.
func calm(t *testing.T, count int) (tap *wiretap, nodes int, took time.Duration) {
	t.Helper()
	e := newEnvironment(t)
	defer e.clear()
	e.crowd(count)
	tap = &wiretap{}
	e.ticks(e.tapped(tap))
	nodes = len(e.instances())
	e.nodes(nodes)
	return tap, nodes, tap.fleets[len(tap.fleets)-1].answered.Sub(tap.fleets[0].sent)
}

func TestAShortEC2(t *testing.T) {
	undisturbed, nodes, _ := calm(t, many)
	least := undisturbed.counts["CreateFleet"]
	t.Logf("with room for everything: %d nodes, %d calls of CreateFleet, %.2f calls a node", nodes, least,
		float64(least)/float64(nodes))
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			e := newEnvironment(t)
			e.crowd(many)
			tap := &wiretap{}
			stop := e.shortage(seed, 150*time.Millisecond)
			passes := e.ticks(e.tapped(tap))
			stop()
			nodes := len(e.instances())
			e.nodes(nodes)
			calls, distinct := tap.counts["CreateFleet"], tap.shortages(catalog.UnavailableFor)
			lacking := 0
			for _, call := range tap.fleets {
				if len(call.answer.Errors) > 0 {
					lacking++
				}
			}
			t.Logf(
				"70 %% short: %d nodes in %d passes, %d calls, %d of them short, %d distinct shortages; %.2f calls a node",
				nodes, passes, calls, lacking, distinct, float64(calls)/float64(nodes))
			if limit := least*3/2 + distinct; calls > limit {
				t.Errorf("%d calls, want at most %d", calls, limit)
			}
			if lacking == 0 {
				t.Error("EC2 was not short of anything")
			}
			tap.noneAskedAgain(t)
		})
	}
}

// noneAskedAgain checks that no offering that EC2 said was short was asked for again before its
// time was up.
func (w *wiretap) noneAskedAgain(t *testing.T) {
	t.Helper()
	for _, earlier := range w.fleets {
		for _, failed := range earlier.answer.Errors {
			key := failed.Lifecycle + ":" + failed.Override.InstanceType + ":" + failed.Override.Zone
			for _, later := range w.fleets {
				// One that is under way at the time of the answer, or about to be, cannot know.
				after := later.sent.Sub(earlier.answered)
				if after > 200*time.Millisecond && after < catalog.UnavailableFor && later.asked[key] {
					t.Errorf("%s was asked for %s after EC2 said it was short", key, after)
				}
			}
		}
	}
}

func TestABusyEC2(t *testing.T) {
	undisturbed, nodes, took := calm(t, some)
	least := undisturbed.counts["CreateFleet"]
	rate := float64(least) / took.Seconds() / 10
	t.Logf("at its own pace: %d nodes, %d calls of CreateFleet in %s", nodes, least, took.Round(time.Millisecond))
	e := newEnvironment(t)
	e.crowd(some)
	bucket := &bucket{rate: rate, tokens: 1, last: time.Now()}
	tap := &wiretap{limit: bucket.take}
	h := e.tapped(tap)
	config := e.config.Copy()
	config.Retryer = function.Deps{}.Retryer
	config.HTTPClient = &http.Client{Transport: tap.wrap(http.DefaultTransport)}
	h.fleet = fleet.NewLauncher(awsec2.NewFromConfig(config), awsec2.NewFromConfig(config), clusterName)
	began := time.Now()
	passes := e.ticks(h)
	calls := tap.counts["CreateFleet"]
	t.Logf(
		"with %.2f calls a second let through: %d nodes in %d passes and %s, %d calls", rate, len(e.instances()), passes,
		time.Since(began).Round(time.Millisecond), calls)
	e.nodes(len(e.instances()))
	if calls >= 2*least {
		t.Errorf("%d calls, want fewer than twice the least, %d", calls, least)
	}
	if calls == len(tap.fleets) {
		t.Error("no call was refused")
	}
}

// bucket lets calls through as EC2 does: so many a second, and those that were saved up,
// here one.
type bucket struct {
	mutex        sync.Mutex
	rate, tokens float64
	last         time.Time
}

func (b *bucket) take() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := time.Now()
	b.tokens = min(1, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
