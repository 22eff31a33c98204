package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

const (
	// parallel is the number of requests that one pass has under way at most.
	parallel = 16
	// typesEvery is how often, in minutes of the hour, the catalogue is asked whether the claims'
	// instance types still exist: Karpenter's interval.
	typesEvery = 30
)

// scope is which claims a pass works on, and for which cluster.
type scope struct {
	cluster string
	tick    bool
	// report is set in the first pass of a chain, whose events tell of lasting hindrances.
	report bool
	// skipDrains is set on a tick that met another pass, which carries out the drains.
	skipDrains bool
	// watched is set where a watch runs while there is work.
	watched bool
	// binds is set where Whittle binds the pods of joining nodes.
	binds bool
	// now is when the pass began.
	now time.Time
}

// listing is what EC2 listed by the cluster's tags.
type listing struct {
	answered  bool
	instances []nodeclaim.Instance
}

// description is what EC2 said of the instances that it was asked for by id.
type description struct {
	found  map[string]nodeclaim.Instance
	absent map[string]bool // ids that EC2 does not know
}

// owners are what claims are made from, and are read on a tick.
type owners struct {
	// complete is set when all pools and classes are there.
	complete bool
	pools    []api.NodePool
	classes  []api.EC2NodeClass
}

// predecessors are the kinds before pools and classes, and are read on a tick.
type predecessors struct {
	provisioners []legacy.Provisioner
	templates    []legacy.AWSNodeTemplate
}

// inspection is what only a tick reads.
type inspection struct {
	statuses     map[string]fleet.Status // by instance id; nil unless EC2 answered
	owners       owners
	predecessors predecessors
	defects      []cluster.Event // about classes that Whittle panics on
}

// seen is the cluster at the beginning of a pass. It does not change after read has made it.
type seen struct {
	scope
	listing      listing
	claims       []api.NodeClaim
	nodes        []corev1.Node
	owners       owners
	predecessors predecessors
	origins      map[string]*drift.Origin // by pool, on a tick
	views        []nodeclaim.View         // one for each claim that the pass works on
	blocked      []repair.PoolHealth      // pools with too many unhealthy nodes for a repair
	// expected are the pods without a node that claims were planned for, by the claim's name.
	expected map[string][]*corev1.Pod
	// events are those of the reading: objects that Whittle panics on, and zonal shifts.
	events []cluster.Event
	// failed are the readings that the pass does without. Drains go on while EC2 refuses to list
	// instances.
	failed error
}

// read lists what the pass decides on. A tick's pass works on all claims. Any other pass works only
// on claims that are starting or ending, so that it costs one list where there are none.
func (h *Handler) read(ctx context.Context, client kubernetes, wake queue.Message) (*seen, error) {
	in := scope{cluster: h.cluster, tick: wake.Reason == queue.ReasonTick, report: wake.Hop == 0,
		watched: h.watch != nil, binds: h.binds, now: h.now()}
	claims, listed, unlisted, err := h.readClaims(ctx, client, in.tick)
	if err != nil {
		return nil, err
	}
	in.skipDrains = in.tick && slices.ContainsFunc(claims, isDeleted) && h.leaseHeld(ctx, client)
	// Lambda bills the time in which the function waits. All of this comes after the claims.
	var inspected inspection
	var uninspected error
	var inspecting sync.WaitGroup
	inspecting.Go(func() { inspected, uninspected = h.inspect(ctx, client, in, claims) })
	described, undescribed := describeInstances(ctx, h.fleet, instancesToDescribe(in, claims, listed))
	nodes, err := readNodes(ctx, client, in, claims)
	inspecting.Wait()
	if err != nil {
		return nil, err
	}
	joining, unnamed := describeInstances(ctx, h.fleet, instancesThatJoin(in, facts{
		claims: claims, nodes: nodes, listed: listed, described: described,
	}))
	described.add(joining)
	shifted, news := readShifts(ctx, h.shifts, in, claims, inspected.owners)
	origins, unfound := findOrigins(ctx, client, claims, inspected.owners, h.now())
	views := buildViews(in, facts{
		claims: claims, nodes: nodes, listed: listed, described: described, origins: origins,
		originsKnown: inspected.owners.complete, shifted: shifted,
	})
	views, blocked := examine(in, views, inspected.statuses, h.now())
	expected := readExpectedPods(ctx, client, claims, views)
	views = addExpected(views, expected)
	return &seen{
		scope: in, listing: listed, claims: claims, nodes: nodes, owners: inspected.owners,
		predecessors: inspected.predecessors, origins: origins, views: views, blocked: blocked, expected: expected,
		events: append(inspected.defects, news...),
		failed: errors.Join(unlisted, undescribed, unnamed, uninspected, unfound),
	}, nil
}

// readClaims lists the claims, and EC2's instances where they decide something. Unlisted is EC2's
// refusal, which the pass does without.
func (h *Handler) readClaims(
	ctx context.Context, client kubernetes, tick bool,
) (claims []api.NodeClaim, listed listing, unlisted, err error) {
	// EC2 is listed before the claims. A claim is written before its instance is launched, so that
	// a listed instance without a claim belongs to nobody.
	if tick {
		listed, unlisted = listInstances(ctx, h.fleet)
	}
	if claims, err = client.NodeClaims(ctx); err != nil {
		return nil, listing{}, nil, err
	}
	if !tick && slices.ContainsFunc(claims, isUnlaunchedEnding) {
		listed, unlisted = listInstances(ctx, h.fleet)
	}
	return claims, listed, unlisted, nil
}

// listInstances lists the instances with the cluster's tags.
func listInstances(ctx context.Context, ec2 instances) (listing, error) {
	listed, err := ec2.Instances(ctx)
	if err != nil {
		return listing{}, err
	}
	made := listing{answered: true}
	for i := range listed {
		made.instances = append(made.instances, instanceOf(&listed[i]))
	}
	return made, nil
}

// describeInstances asks EC2 by id for the instances of which the list does not tell enough.
// Nothing is decided on an instance that the answer is not about.
func describeInstances(ctx context.Context, ec2 instances, ids []string) (description, error) {
	if len(ids) == 0 {
		return description{}, nil
	}
	answer, err := ec2.Describe(ctx, ids...)
	described := description{found: map[string]nodeclaim.Instance{}, absent: map[string]bool{}}
	for i := range answer.Found {
		described.found[answer.Found[i].ID] = instanceOf(&answer.Found[i])
	}
	for _, id := range answer.Absent {
		described.absent[id] = true
	}
	return described, err
}

// add adds what EC2 said of other instances that it knows.
func (d *description) add(more description) {
	if d.found == nil {
		d.found = map[string]nodeclaim.Instance{}
	}
	maps.Copy(d.found, more.found)
}

// instanceOf is what package nodeclaim decides by.
func instanceOf(instance *fleet.Instance) nodeclaim.Instance {
	return nodeclaim.Instance{
		ID: instance.ID, Zone: instance.Zone, State: instance.State, LaunchTime: instance.LaunchTime,
		Partition: instance.Partition, Tags: instance.Tags, SubnetID: instance.SubnetID,
		SecurityGroupIDs: instance.SecurityGroupIDs, ReservationID: instance.ReservationID,
		StateReason: instance.StateReason, HostName: instance.HostName,
	}
}

// readNodes lists the nodes where one may join or leave.
func readNodes(ctx context.Context, client kubernetes, in scope, claims []api.NodeClaim) ([]corev1.Node, error) {
	if !in.tick && !slices.ContainsFunc(claims, isInFlight) {
		return nil, nil
	}
	return client.Nodes(ctx)
}

// checkInstances asks EC2 which instances fail their status checks or have work announced, if the
// cluster has instances. Without the answer, which is nil, only the kubelets' conditions and the
// events of AWS Health count, and the next tick asks again.
func checkInstances(ctx context.Context, ec2 instances, claims []api.NodeClaim) map[string]fleet.Status {
	if !slices.ContainsFunc(claims, hasInstance) {
		return nil
	}
	statuses, err := ec2.Statuses(ctx)
	if err != nil {
		slog.WarnContext(ctx, "status checks of instances not read", "error", err)
		return nil
	}
	return statuses
}

// inspect reads what only a tick reads. It does without what it cannot read, and returns the
// errors.
func (h *Handler) inspect(
	ctx context.Context, client kubernetes, in scope, claims []api.NodeClaim,
) (inspection, error) {
	if !in.tick {
		return inspection{}, nil
	}
	var seen inspection
	var unowned, unlisted error
	var group sync.WaitGroup
	group.Go(func() { seen.statuses = checkInstances(ctx, h.fleet, claims) })
	group.Go(func() { seen.owners, seen.defects, unowned = listOwners(ctx, client, h.resolve, h.expressions) })
	group.Go(func() { seen.predecessors, unlisted = listPredecessors(ctx, client) })
	group.Wait()
	return seen, errors.Join(unowned, unlisted)
}

// listOwners reads the pools and classes, and resolves the classes. It evaluates their kubelet
// expressions before, if they are allowed. Without the objects no status is written. The events are
// about classes that Whittle panics on.
func listOwners(
	ctx context.Context, client kubernetes, resolve resolve, expressions bool,
) (owners, []cluster.Event, error) {
	pools, poolsErr := client.NodePools(ctx)
	classes, classesErr := client.NodeClasses(ctx)
	if err := errors.Join(poolsErr, classesErr); err != nil {
		return owners{}, nil, err
	}
	var defects []cluster.Event
	var unevaluated error
	if expressions {
		defects, unevaluated = evaluateExpressions(ctx, client, classes)
	}
	failed := []error{unevaluated}
	for i := range classes {
		resolved, err := resolveClass(ctx, resolve, classes[i])
		if guard.IsPanic(err) {
			defects = append(defects, defect(disruption.AboutClass(&resolved), err))
		}
		classes[i], failed = resolved, append(failed, err)
	}
	for i := range pools {
		pools[i].Default()
	}
	pools = slices.DeleteFunc(pools, isForeignPool)
	return owners{complete: true, pools: pools, classes: classes}, defects, errors.Join(failed...)
}

// resolveClass gives the class its defaults and its status. With an error it has its last status.
func resolveClass(ctx context.Context, resolve resolve, class api.EC2NodeClass) (api.EC2NodeClass, error) {
	err := guard.Run(func() error {
		class.Default()
		resolved, err := resolve(ctx, class)
		if err == nil {
			class = resolved
		}
		return err
	})
	if guard.IsPanic(err) {
		err = fmt.Errorf("ec2nodeclass %q: %w", class.Name, err)
	}
	return class, err
}

// readShifts asks for the shifted zones, by id, where there is a claim that may end. A pass that
// has read the pools returns the events of shifts that began or ended. Another one must not take
// the change, which is told once.
func readShifts(
	ctx context.Context, read shifts, in scope, claims []api.NodeClaim, from owners,
) (map[string]time.Time, []cluster.Event) {
	if read == nil || !in.tick && len(claims) == 0 {
		return nil, nil
	}
	shifted, changed := read(ctx, from.complete)
	if !from.complete {
		return shifted, nil
	}
	return shifted, zonalshift.Events(changed, shifted, from.pools, from.classes)
}

// findOrigins finds what the claims of each pool would be made from now.
func findOrigins(
	ctx context.Context, client kubernetes, claims []api.NodeClaim, from owners, now time.Time,
) (map[string]*drift.Origin, error) {
	if !from.complete {
		return nil, nil
	}
	var known *catalog.Catalog
	var unread error
	if len(claims) > 0 && now.Minute()%typesEvery == 0 {
		known, unread = inventory.Catalog(ctx, client)
		if errors.Is(unread, inventory.ErrNoCatalog) {
			unread = nil
		}
	}
	origins, err := drift.Origins(from.pools, from.classes, client.CertificateAuthority(), known)
	return origins, errors.Join(unread, err)
}

// readExpectedPods reads which pods the joining nodes were launched for, by the claim's name.
// Without the answer the nodes join all the same, and the scheduler chooses their pods by itself.
func readExpectedPods(
	ctx context.Context, client kubernetes, claims []api.NodeClaim, views []nodeclaim.View,
) map[string][]*corev1.Pod {
	if !slices.ContainsFunc(views, func(view nodeclaim.View) bool { return view.AwaitsPods() }) {
		return nil
	}
	unbound, err := client.UnboundPods(ctx)
	if err != nil {
		slog.WarnContext(ctx, "unbound pods not read, and none nominated", "error", err)
		return nil
	}
	return nodeclaim.ExpectedPods(claims, unbound)
}
