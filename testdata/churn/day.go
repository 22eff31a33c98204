package churn

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
)

// Day is what a day is made of.
type Day struct {
	// Jobs is the number of Jobs. They begin at random times, request 0.25 to 2 cores, and take 16 minutes in the
	// mean and 10 in the median.
	Jobs int
	// Web has 20 Deployments that follow the sun.
	Web bool
	// Strategy is how the scheduler scores room: LeastAllocated, as EKS does, or MostAllocated.
	Strategy config.ScoringStrategyType
	// Annotations are those of the NodePool.
	Annotations map[string]string
	// InstanceTypes are the types that may be bought; all three of consolidationtest if empty.
	InstanceTypes []string
	Seed          uint64
}

// Result is what a day cost.
type Result struct {
	// Dollars are the nodes' price. NodeHours and PodHours are their cores and those that running pods request.
	Dollars, NodeHours, PodHours float64
	// LostHours are the cores of Jobs that evictions restarted, for the time that they had run.
	LostHours           float64
	Evictions, Launches int
	// Steerings are the taints that Whittle wrote and removed to steer pods.
	Steerings int
	// Median, Slow and Slowest are how long pods waited, in seconds: half of them less, 95 and 99 % of them.
	Median, Slow, Slowest float64
}

// Ratio is the nodes' cores for each core of work that counts.
func (r *Result) Ratio() float64 { return r.NodeHours / (r.PodHours - r.LostHours) }

func (r *Result) String() string {
	return fmt.Sprintf("$%.2f, %.2f cores for each core of work, %d evictions, %.0f core-hours lost, %d launches, "+
		"pods waited %.0f s, %.0f s, %.0f s, %d taints changed", r.Dollars, r.Ratio(), r.Evictions, r.LostHours, r.Launches,
		r.Median, r.Slow, r.Slowest, r.Steerings)
}

// Times of the day. Whittle plans at once, and consolidates each minute.
const (
	length     = 24 * time.Hour
	planEvery  = 3 * time.Second
	scaleEvery = 15 * time.Second
)

// Run lives through the day.
func (d *Day) Run(t testing.TB) Result {
	t.Helper()
	scheduler, err := newScheduler(t.Context(), d.Strategy, rand.New(rand.NewPCG(d.Seed, 1)))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{base: consolidationtest.Cluster(t), scheduler: scheduler}
	c.base.NodePools[0].Annotations = d.Annotations
	sold := c.base.InstanceTypes[poolName]
	c.base.InstanceTypes[poolName] = slices.DeleteFunc(sold, func(kind catalog.InstanceType) bool {
		return len(d.InstanceTypes) > 0 && !slices.Contains(d.InstanceTypes, kind.Name)
	})
	load := newLoad(d)
	var moves []move
	planned := -planEvery
	for c.now = 0; c.now < length; c.now += time.Second {
		load.step(c)
		c.join()
		moves = c.carryOut(moves)
		err := c.schedule(t.Context())
		if err == nil && len(c.pending) > 0 && c.now-planned >= planEvery {
			planned, err = c.now, c.provision()
		}
		if err == nil && len(moves) == 0 && c.now%time.Minute == 30*time.Second {
			moves, err = c.consolidate()
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.now%time.Minute == 0 {
			c.steer()
		}
		c.count()
	}
	return c.sum()
}

// count adds a second to the bill.
func (c *cluster) count() {
	for _, n := range c.nodes {
		c.result.Dollars += n.price / 3600
		c.result.NodeHours += float64(n.kind.Capacity.Cpu().MilliValue()) / 1000 / 3600
		for _, p := range n.pods {
			c.result.PodHours += p.cpu / 3600
		}
	}
}

func (c *cluster) sum() Result {
	slices.Sort(c.waits)
	at := func(part float64) float64 { return c.waits[int(part*float64(len(c.waits)-1))] }
	c.result.Median, c.result.Slow, c.result.Slowest = at(0.5), at(0.95), at(0.99)
	return c.result
}

// load makes pods come and go.
type load struct {
	random *rand.Rand
	// pause is the mean time between two Jobs, and next the time of the next one.
	pause, next time.Duration
	jobs        bool
	deployments [][]*pod
}

func newLoad(d *Day) *load {
	l := &load{random: rand.New(rand.NewPCG(d.Seed, 2)), jobs: d.Jobs > 0}
	if l.jobs {
		l.pause = length / time.Duration(d.Jobs)
		l.next = l.wait()
	}
	if d.Web {
		l.deployments = make([][]*pod, 20)
	}
	return l
}

func (l *load) wait() time.Duration { return time.Duration(l.random.ExpFloat64() * float64(l.pause)) }

// step ends the Jobs whose time has come, and makes the pods of this second.
func (l *load) step(c *cluster) {
	for len(c.ending) > 0 && c.ending[0].ends <= c.now {
		c.remove(c.ending[0])
	}
	for l.jobs && l.next <= c.now {
		cpu := []float64{0.25, 0.5, 0.5, 1, 1, 2}[l.random.IntN(6)]
		c.add(cpu, "job", time.Duration(math.Exp(l.random.NormFloat64())*float64(10*time.Minute)))
		l.next += l.wait()
	}
	if c.now%scaleEvery == 0 {
		for i := range l.deployments {
			l.deployments[i] = scale(c, l.deployments[i], i, len(l.deployments))
		}
	}
}

// scale makes a Deployment as large as the hour asks for. Its peak is between noon and evening.
func scale(c *cluster, pods []*pod, number, of int) []*pod {
	phase := float64(number) / float64(of) * math.Pi / 2
	sun := 1.25 + math.Sin(2*math.Pi*c.now.Seconds()/length.Seconds()+phase)
	want := max(1, int(math.Round(12*sun*(0.5+float64(number%4)/2))))
	for len(pods) < want {
		p := c.add([]float64{0.25, 0.5, 1, 0.75}[number%4], fmt.Sprintf("web-%d", number), 0)
		p.Spec.TopologySpreadConstraints = defaultSpread(p.Labels)
		pods = append(pods, p)
	}
	for len(pods) > want {
		last := goesFirst(pods)
		c.remove(pods[last])
		pods = slices.Delete(pods, last, last+1)
	}
	return pods
}

// defaultSpread is what kube-scheduler adds to pods of ReplicaSets that have no spread of their own.
func defaultSpread(labels map[string]string) []corev1.TopologySpreadConstraint {
	of := func(key string, skew int32) corev1.TopologySpreadConstraint {
		return corev1.TopologySpreadConstraint{
			MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}
	}
	return []corev1.TopologySpreadConstraint{of(corev1.LabelHostname, 3), of(corev1.LabelTopologyZone, 5)}
}

// goesFirst is the replica that the ReplicaSet controller deletes first: one that waits, then one on the node with
// most replicas, then the youngest.
func goesFirst(pods []*pod) int {
	replicas := map[*node]int{}
	for _, p := range pods {
		replicas[p.node]++
	}
	first := 0
	for i, p := range pods {
		best := pods[first]
		switch {
		case (p.node == nil) != (best.node == nil):
			if p.node == nil {
				first = i
			}
		case replicas[p.node] > replicas[best.node],
			replicas[p.node] == replicas[best.node] && p.number > best.number:
			first = i
		}
	}
	return first
}

// KeepJobs returns annotations of a NodePool that keep nodes on which Jobs run.
func KeepJobs() map[string]string { return map[string]string{api.KeepJobsAnnotationKey: "true"} }

// JobSavings returns annotations of a NodePool with another multiple than the default.
func JobSavings(multiple string) map[string]string {
	return map[string]string{api.JobSavingsAnnotationKey: multiple}
}

// Steered returns annotations of a NodePool beside those of the arguments, by which Whittle steers pods.
func Steered(others ...map[string]string) map[string]string {
	all := map[string]string{api.SteerPodsAnnotationKey: "true"}
	for _, one := range others {
		maps.Copy(all, one)
	}
	return all
}
