package simulate

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/engine"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Run is one simulation. All its methods but those of ec2.Machines and ec2.Events run in the engine's
// goroutine.
type Run struct {
	options Options
	result  Result
	engine  *engine.Engine
	weather *weather
	began   time.Time
	ends    time.Time
	// prepared is true once the cluster can take pods. Nothing goes wrong before.
	prepared bool

	store   *apiserver.Store
	servers []*apiserver.Server
	streams []*stream

	server  *wire.Server
	ec2     *ec2.Service
	calling string // the name of the call to AWS that is carried out
	events  int

	mail        map[string]*mail
	idle        map[string][]*container
	running     map[string]int
	live        map[string]*invocation
	invocations int
	work        sync.WaitGroup

	machines   map[string]*machine // by instance
	instances  []ec2.Instance      // as copied gives them; nil until someone asks
	hosts      map[string]*machine // by node
	bound      map[types.UID]bool  // pods that functions have bound
	scheduling types.UID           // of the pod that the scheduler binds
	workloads  []*workload
	soonTasks  map[string]bool
	changed    bool                   // since the invariants were checked
	over       chan struct{}          // closed at the end
	unclaimed  map[string]time.Time   // instances without a claim, and since when
	evictions  map[string]string      // what functions ordered about a pod, by its UID
	started    map[string]bool        // requests whose jobs run
	zones      map[string]string      // of persistent volumes, by their names
	unwanted   map[string]time.Time   // attachments that no pod needs, and since when
	scales     []scale                // of the static pool, the oldest first; none without one
	voluntary  map[string]time.Time   // claims that disrupt has deleted, and when
	freed      map[string]time.Time   // pools, and when one of their claims last went
	served     map[string]bool        // nodes on which a pod of a workload has run
	busy       map[string]time.Time   // pools, and when their budget last let no further node go
	busySince  map[string]time.Time   // pools, and since when it had let none go then
	soft       map[string]time.Time   // pools of which all nodes have the soft taint, and since when
	awaited    map[string]time.Time   // claims, and when a pod that they were launched for was last being drained
	brakedAt   time.Time              // when the pool that drifts last got no nodes, because they do not join
	staged     bool                   // the changed template rolls out in stages, until a person continues it
	badUntil   time.Time              // until then machines of the changed template do not join; zero: they do
	stirredAt  map[bool]time.Time     // when something last changed that may make a node superfluous, a late one or not
	proposals  map[string]int         // claims, and how often they were proposed since a move of theirs began
	vain       map[string][]time.Time // by the UID of a pod: when a node that was bought for it went unused
	lowest     float64                // the lowest price in an hour of late
	kept       []string               // the claims that their pods kept then
	paused     bool                   // a pool got no nodes then, because its last ones have not joined
	resting    bool                   // no more jobs come, nor pods without a place
	beside     bool                   // a function changed nodes while another invocation had its Lease
	violations map[string]bool
}

// apiServers is the number of API servers of a cluster.
const apiServers = 2

// Simulate runs one simulation. It must be called in a bubble of testing/synctest.
func Simulate(options Options) Result {
	// Where goroutines compete, Go's scheduler decides. With one processor, and without a collector that
	// interrupts them, it decides alike each time.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r := &Run{
		options: options, over: make(chan struct{}), mail: map[string]*mail{}, live: map[string]*invocation{},
		idle: map[string][]*container{}, running: map[string]int{},
		machines: map[string]*machine{}, hosts: map[string]*machine{}, bound: map[types.UID]bool{},
		soonTasks: map[string]bool{},
		unclaimed: map[string]time.Time{},
		started:   map[string]bool{}, zones: map[string]string{}, unwanted: map[string]time.Time{},
		evictions: map[string]string{}, voluntary: map[string]time.Time{}, violations: map[string]bool{},
		freed: map[string]time.Time{}, served: map[string]bool{}, vain: map[string][]time.Time{},
		busy: map[string]time.Time{}, busySince: map[string]time.Time{}, awaited: map[string]time.Time{},
		soft: map[string]time.Time{}, stirredAt: map[bool]time.Time{}, proposals: map[string]int{},
	}
	r.result = Result{Seed: options.Seed, Done: map[string]int{}}
	r.options.Calm = options.Calm || options.Scene != nil
	r.engine = engine.New(options.Seed, r.step)
	r.began = time.Now()
	r.ends = r.began.Add(time.Duration(options.Minutes) * time.Minute)
	r.weather = r.makeWeather()
	r.store = apiserver.NewStore(time.Now)
	r.store.Listen(r.observe)
	for n := range apiServers {
		server := apiserver.NewServer(r.store, func() time.Duration { return r.cacheLag(n) })
		server.Absent = []*apiserver.Kind{apiserver.Provisioners, apiserver.NodeTemplates}
		server.Unknown = func(what string) { r.violate("the model of the API server does not know %s", what) }
		r.servers = append(r.servers, server)
	}
	if err := r.prepare(); err != nil {
		r.violate("the world cannot be made: %v", err)
	}
	r.engine.Run(r.ends)
	if len(r.result.Violations) == 0 {
		r.settled()
	}
	if len(r.result.Violations) == 0 {
		r.compareAtRest()
	}
	r.end()
	r.result.Hash, r.result.Steps = r.engine.Hash(), r.engine.Steps()
	r.result.Virtual = time.Since(r.began)
	return r.result
}

// cacheLag is how far a server's watch cache is behind now. It changes every few seconds.
func (r *Run) cacheLag(server int) time.Duration {
	if !r.weather.bad() || r.weather.cacheLag == 0 {
		return 0
	}
	turn := int64(time.Since(r.began) / (5 * time.Second))
	return r.engine.Between(0, r.weather.cacheLag, "cache", fmt.Sprint(server), fmt.Sprint(turn))
}

// prepare makes the cluster and starts everything.
func (r *Run) prepare() error {
	types, err := offered()
	if err != nil {
		return err
	}
	if err := r.openAccount(types); err != nil {
		return err
	}
	for _, queue := range queueNames() {
		r.mail[queue] = r.newMail(queue)
	}
	if err := r.furnish(); err != nil {
		return err
	}
	r.controllers()
	r.engine.In(time.Second, func() { r.catalog(0) })
	return nil
}

// catalog invokes the function catalog until it has written the instance types. Then the rest begins.
func (r *Run) catalog(tries int) {
	r.invoke("catalog", []byte("{}"), func(_ []byte, ok bool) {
		if !ok && tries < 3 {
			r.catalog(tries + 1)
			return
		}
		if !ok {
			r.violate("the function catalog fails")
			return
		}
		r.tick(0)
		r.awaitClass()
	})
}

// awaitClass waits until lifecycle has made the node class ready. Then pods come, and things go wrong.
func (r *Run) awaitClass() {
	if !r.classReady() {
		if time.Since(r.began) > 5*time.Minute {
			r.violate("the node class is not ready after 5 minutes: %s", r.classProblem())
			return
		}
		r.engine.In(time.Second, r.awaitClass)
		return
	}
	r.prepared = true
	r.trace("the cluster is ready")
	if r.options.Scene != nil {
		r.options.Scene(r.store, r.engine)
		return
	}
	r.begins()
}

// observe learns every change of an object.
func (r *Run) observe(change apiserver.Change) {
	r.changed = r.changed || seen(change)
	r.stirred(change)
	r.proposed(change)
	if change.After == nil && change.Before != nil && change.Before.Kind == apiserver.NodeClaims {
		if claim, ok := change.Before.Typed.(*api.NodeClaim); ok {
			r.released(claim)
			r.boughtInVain(claim)
		}
	}
	r.announce(change)
	r.react(change)
}

// collectEvery is how many events pass between two collections of garbage.
const collectEvery = 16000

// step follows each event.
func (r *Run) step() {
	if r.engine.Steps()%collectEvery == 0 {
		runtime.GC() // every other goroutine waits now
	}
	if !r.changed {
		return
	}
	r.changed = false
	r.check()
}

// trace notes what happened.
func (r *Run) trace(format string, arguments ...any) {
	line := fmt.Sprintf("%10.3f ", time.Since(r.began).Seconds()) + fmt.Sprintf(format, arguments...)
	r.engine.Note(line)
	r.show(line)
}

// remark adds to the trace what may differ between two runs of a seed: the words of an error.
func (r *Run) remark(text string) { r.show("           " + text) }

func (r *Run) show(line string) {
	if r.options.Live != nil {
		_, _ = fmt.Fprintln(r.options.Live, line) // a person watches
	}
	if r.options.Keep {
		r.result.Trace = append(r.result.Trace, line)
	}
}

// violate notes a broken invariant, which ends the simulation.
func (r *Run) violate(format string, arguments ...any) {
	said := fmt.Sprintf(format, arguments...)
	r.traceEvents()
	r.trace("VIOLATION: %s", said)
	r.result.Violations = append(r.result.Violations, said)
	r.engine.Stop()
}

// traceEvents traces what the product told its users within the last minutes, because a violation
// is often a decision that an event explains.
func (r *Run) traceEvents() {
	for _, event := range apiserver.List[corev1.Event](r.store, apiserver.Events) {
		if time.Since(event.LastTimestamp.Time) < 5*time.Minute {
			r.trace("event on %s/%s: %s: %s", event.InvolvedObject.Kind, event.InvolvedObject.Name,
				event.Reason, event.Message)
		}
	}
}

// end ends everything, so that no goroutine is left.
func (r *Run) end() {
	close(r.over)
	for _, s := range r.streams {
		s.end()
	}
	r.stopAll()
	done := make(chan struct{})
	go func() {
		r.work.Wait()
		close(done)
	}()
	<-done
	if r.ec2 != nil {
		_ = r.ec2.Close() // it returns nil
	}
}

// stopAll ends the invocations that run.
func (r *Run) stopAll() {
	for _, i := range r.live {
		i.network.dead.Store(true)
		i.cancel()
	}
}

// soon lets a controller run after a moment. Several requests for it become one.
func (r *Run) soon(name string, least, most time.Duration, f func()) {
	if r.soonTasks[name] {
		return
	}
	r.soonTasks[name] = true
	r.engine.In(r.engine.Between(least, most, name, fmt.Sprint(r.engine.Steps())), func() {
		delete(r.soonTasks, name)
		f()
	})
}

// ConsoleOutput is what a machine prints: nothing here.
func (r *Run) ConsoleOutput(string) string { return "" }

// InstanceChanged boots and ends machines. EC2 calls it from a goroutine of its own.
func (r *Run) InstanceChanged(i ec2.Instance) {
	r.engine.Arrive("machine "+i.ID+" "+string(i.State), func() {
		r.stale()
		r.power(i)
	})
}
