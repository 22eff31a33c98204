package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	compareSelector = "compare=true"
	// comparePatience limits one step of a comparison.
	comparePatience = 4 * time.Minute
)

// ComparedWorld is the part of the local world that a comparison uses.
type ComparedWorld interface {
	// Prices returns the price of each instance that has not ended, in dollars an hour, by ID.
	Prices() map[string]float64
	// LaunchTimes returns the launch time of each instance, by ID.
	LaunchTimes() map[string]time.Time
}

// Autoscaler is one of the two compared.
type Autoscaler struct {
	Name string
	// Start installs it in the cluster and Stop removes it, as the README describes.
	Start, Stop func(context.Context) error
	// Calls counts its calls to AWS by service and action. Requests counts those to the API server
	// by verb and resource, such as "list pods".
	Calls    func() map[string]int
	Requests func() (map[string]int, error)
}

// watching begins the counts of requests that stay open.
const watching = "watch "

// WithoutWatches is how many requests there are that are no watches.
func WithoutWatches(requests map[string]int) int {
	count := 0
	for request, times := range requests {
		if !strings.HasPrefix(request, watching) {
			count += times
		}
	}
	return count
}

// Wave is a scaling of Deployments at one moment.
type Wave struct {
	Name     string
	Replicas map[string]int // by Deployment; the others stay as they are
}

// waves is the workload of a comparison, starting with no pod.
func waves() []Wave {
	return []Wave{
		{"15 pods of one shape", map[string]int{"inflate": 15}},
		{"150 of five shapes", map[string]int{"api": 40, "web": 30, "cache": 20, "batch": 40, "workers": 20}},
		{"10 on-demand only", map[string]int{"steady": 10}},
	}
}

// Comparison compares two autoscalers in one cluster.
type Comparison struct {
	Setup    Setup
	World    ComparedWorld
	NodeRole string // the nodes' role, in the EC2NodeClass
	// Watch is how long nobody may touch anything after a change of autoscalers.
	Watch    time.Duration
	timeline *Timeline
	pods     map[string]int // by Deployment
}

// Measure is the result of one autoscaler for one wave.
type Measure struct {
	Wave                     string
	ToCreateFleet, ToRunning time.Duration // from the first pod that waited; ToRunning of the slowest pod
	Nodes                    int           // all, after the wave
	PricePerHour             float64       // of all nodes
	Calls                    map[string]int
	Requests                 int            // to the API server, without watches
	Asked                    map[string]int // all of them, by verb and resource
}

// Begin applies the workload without replicas and follows the cluster until ctx ends.
func (c *Comparison) Begin(ctx context.Context) error {
	c.timeline, c.pods = c.Setup.Timeline, map[string]int{}
	variables := map[string]string{"CLUSTER_NAME": c.Setup.Name, "NODE_ROLE": c.NodeRole}
	if err := c.Setup.Client.Apply(ctx, filepath.Join(c.Setup.Root, "testdata", "manifests", "compare.yaml"),
		variables); err != nil {
		return err
	}
	_, err := c.watch(ctx, c.timeline)
	return err
}

func (c *Comparison) watch(ctx context.Context, timeline *Timeline) (*watcher, error) {
	return watchCluster(ctx, c.Setup.Client, timeline, func(claim *api.NodeClaim) float64 {
		id, _ := api.InstanceID(claim.Status.ProviderID)
		return c.World.Prices()[id]
	})
}

// Let starts an autoscaler and waits until the NodePool is ready.
func (c *Comparison) Let(ctx context.Context, who Autoscaler) error {
	c.timeline.Add("starting", "%s", who.Name)
	if err := who.Start(ctx); err != nil {
		return err
	}
	err := WaitForPool(ctx, c.Setup.Client, "default")
	c.timeline.Add("started", "%s", who.Name)
	return err
}

// WaitForPool waits until a NodePool is ready.
func WaitForPool(ctx context.Context, client *Client, name string) error {
	what := fmt.Sprintf("NodePool %q to be ready", name)
	return Until(ctx, comparePatience, what, func(ctx context.Context) (bool, string, error) {
		pool, err := client.Objects.Resource(api.NodePoolGVR()).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		conditions, _, err := unstructured.NestedSlice(pool.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(condition any) bool {
			of, _ := condition.(map[string]any)
			return of["type"] == "Ready" && of["status"] == "True"
		}), fmt.Sprint(conditions), err
	})
}

// Runs has an autoscaler serve the whole workload so many times, and returns the medians. The
// workload is removed between two runs, and stays after the last.
func (c *Comparison) Runs(ctx context.Context, who Autoscaler, runs int) ([]Measure, error) {
	var all [][]Measure
	for run := range runs {
		if run > 0 {
			if err := c.Empty(ctx); err != nil {
				return nil, err
			}
		}
		measured, err := c.waves(ctx, who, waves())
		if err != nil {
			return nil, err
		}
		all = append(all, measured)
	}
	return Medians(all), nil
}

// FirstWave has an autoscaler serve the workload's first wave.
func (c *Comparison) FirstWave(ctx context.Context, who Autoscaler) error {
	_, err := c.waves(ctx, who, waves()[:1])
	return err
}

func (c *Comparison) waves(ctx context.Context, who Autoscaler, all []Wave) ([]Measure, error) {
	var measured []Measure
	for _, wave := range all {
		measure, err := c.Serve(ctx, who, wave)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", who.Name, wave.Name, err)
		}
		measured = append(measured, measure)
	}
	return measured, nil
}

// Serve scales the Deployments of a wave and waits until all pods run.
func (c *Comparison) Serve(ctx context.Context, who Autoscaler, wave Wave) (Measure, error) {
	measure := Measure{Wave: wave.Name}
	calls := who.Calls()
	requests, err := who.Requests()
	if err != nil {
		return measure, err
	}
	// The API server may cut a watch that lasts through a whole comparison, and the missed events
	// would not be measured.
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	watcher, err := c.watch(within, NewTimeline(io.Discard))
	if err != nil {
		return measure, err
	}
	launched := c.World.LaunchTimes()
	since := time.Now()
	for _, name := range slices.Sorted(maps.Keys(wave.Replicas)) {
		if err := c.Setup.Client.Scale(ctx, "default", name, wave.Replicas[name]); err != nil {
			return measure, err
		}
		c.pods[name] = wave.Replicas[name]
	}
	total := 0
	for _, replicas := range c.pods {
		total += replicas
	}
	c.timeline.Add("pending", "%s: %d in all", wave.Name, total)
	if err := Until(ctx, comparePatience, fmt.Sprintf("%d running pods", total),
		c.Setup.Client.Running("default", compareSelector, total)); err != nil {
		return measure, err
	}
	first, slowest := watcher.waits(since)
	if first.IsZero() {
		return measure, errors.New("no pod was seen to wait, so that nothing was measured")
	}
	measure.ToRunning = slowest
	for id, at := range c.World.LaunchTimes() {
		if _, before := launched[id]; !before && (measure.ToCreateFleet == 0 || at.Sub(first) < measure.ToCreateFleet) {
			measure.ToCreateFleet = at.Sub(first)
		}
	}
	for _, price := range c.World.Prices() {
		measure.Nodes++
		measure.PricePerHour += price
	}
	measure.Calls = more(who.Calls(), calls)
	after, err := who.Requests()
	measure.Asked = more(after, requests)
	measure.Requests = WithoutWatches(measure.Asked)
	c.timeline.Add("running", "%d pods on %d nodes, $%.4f/h", total, measure.Nodes, measure.PricePerHour)
	return measure, err
}

// more is what the later counts have beyond the earlier ones.
func more(later, earlier map[string]int) map[string]int {
	made := map[string]int{}
	for what, count := range later {
		if count > earlier[what] {
			made[what] = count - earlier[what]
		}
	}
	return made
}

// Empty removes the workload and waits until no instance is left.
func (c *Comparison) Empty(ctx context.Context) error {
	start := time.Now()
	for name := range c.pods {
		if err := c.Setup.Client.Scale(ctx, "default", name, 0); err != nil {
			return err
		}
		c.pods[name] = 0
	}
	c.timeline.Add("scaled down", "all to 0")
	err := Until(ctx, comparePatience, "no node, no claim, no instance", func(ctx context.Context) (bool, string, error) {
		nodes, err := c.Setup.Client.Nodes(ctx)
		if err != nil {
			return false, "", err
		}
		claims, err := c.Setup.Client.NodeClaims(ctx)
		alive := len(c.World.Prices())
		return len(nodes)+len(claims)+alive == 0,
			fmt.Sprintf("%d nodes, %d claims, %d instances", len(nodes), len(claims), alive), err
	})
	c.timeline.Add("empty", "no node and no instance after %.1f s", time.Since(start).Seconds())
	return err
}
