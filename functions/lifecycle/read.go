package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
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

// seen is the cluster at the beginning of a pass.
type seen struct {
	tick bool
	// skipDrains is set on a tick that met another pass, which carries out the drains.
	skipDrains      bool
	instancesListed bool
	instances       []nodeclaim.Instance // those that EC2 listed by their tags
	// described are the instances that EC2 was asked for by id. Absent are ids that it does not know.
	described map[string]nodeclaim.Instance
	absent    map[string]bool
	claims    []api.NodeClaim
	nodes     []corev1.Node
	statuses  map[string]fleet.Status // by instance id; nil unless EC2 was asked, on a tick
	views     []nodeclaim.View        // one for each claim that the pass works on
	blocked   []repair.PoolHealth     // pools with too many unhealthy nodes for a repair
	pools     []api.NodePool          // on a tick
	classes   []api.EC2NodeClass      // on a tick
	// provisioners and templates are the kinds before pools and classes, on a tick.
	provisioners []legacy.Provisioner
	templates    []legacy.AWSNodeTemplate
	cluster      string
	// classesListed is set when classes and pools are complete.
	classesListed bool
	origins       map[string]*drift.Origin // by pool, on a tick
	// shifted are the zones that zonal shifts move traffic away from, by id.
	shifted map[string]time.Time
	// events are those of the reading: objects that Whittle panics on, and zonal shifts.
	events []cluster.Event
	// failed are the readings that the pass does without. A node still registers while EC2 refuses
	// to list instances.
	failed error
}

// read lists what the pass decides on. A tick's pass works on all claims. Any other pass works only
// on claims that are starting or ending, so that it costs one list where there are none.
func (h *Handler) read(ctx context.Context, client kubernetes, wake queue.Message) (*seen, error) {
	s := &seen{tick: wake.Reason == queue.ReasonTick, cluster: h.cluster}
	// EC2 is listed before the claims. A claim is written before its instance is launched, so that
	// a listed instance without a claim belongs to nobody.
	if s.tick {
		s.listInstances(ctx, h.fleet)
	}
	var err error
	if s.claims, err = client.NodeClaims(ctx); err != nil {
		return nil, err
	}
	s.skipDrains = s.tick && slices.ContainsFunc(s.claims, isDeleted) && h.leaseHeld(ctx, client)
	if !s.tick && slices.ContainsFunc(s.claims, isUnlaunchedEnding) {
		s.listInstances(ctx, h.fleet)
	}
	s.describeInstances(ctx, h.fleet)
	if s.tick || slices.ContainsFunc(s.claims, isInFlight) {
		if s.nodes, err = client.Nodes(ctx); err != nil {
			return nil, err
		}
	}
	if s.tick {
		s.checkInstances(ctx, h.fleet)
		s.listPools(ctx, client, h.resolve, h.expressions)
		s.listProvisioners(ctx, client)
	}
	s.readShifts(ctx, h.shifts)
	s.findOrigins(ctx, client, h.now())
	s.buildViews(h.cluster, wake.Hop == 0)
	s.examine(h.now())
	s.findExpectedPods(ctx, client)
	return s, nil
}

// listInstances lists the instances with the cluster's tags.
func (s *seen) listInstances(ctx context.Context, ec2 instances) {
	listed, err := ec2.Instances(ctx)
	if err != nil {
		s.failed = errors.Join(s.failed, err)
		return
	}
	s.instancesListed = true
	for i := range listed {
		s.instances = append(s.instances, instanceOf(&listed[i]))
	}
}

// describeInstances asks EC2 by id for the instances of which the list does not tell enough.
// Nothing is decided on an instance that the answer is not about.
func (s *seen) describeInstances(ctx context.Context, ec2 instances) {
	ids := s.instancesToDescribe()
	if len(ids) == 0 {
		return
	}
	answer, err := ec2.Describe(ctx, ids...)
	s.failed = errors.Join(s.failed, err)
	s.described, s.absent = map[string]nodeclaim.Instance{}, map[string]bool{}
	for i := range answer.Found {
		s.described[answer.Found[i].ID] = instanceOf(&answer.Found[i])
	}
	for _, id := range answer.Absent {
		s.absent[id] = true
	}
}

// instanceOf is what package nodeclaim decides by.
func instanceOf(instance *fleet.Instance) nodeclaim.Instance {
	return nodeclaim.Instance{
		ID: instance.ID, Zone: instance.Zone, State: instance.State, LaunchTime: instance.LaunchTime,
		Partition: instance.Partition, Tags: instance.Tags, SubnetID: instance.SubnetID,
		SecurityGroupIDs: instance.SecurityGroupIDs, ReservationID: instance.ReservationID,
		StateReason: instance.StateReason,
	}
}

// checkInstances asks EC2 which instances fail their status checks or have work announced, if the
// cluster has instances. Without the answer only the kubelets' conditions and the events of AWS
// Health count, and the next tick asks again.
func (s *seen) checkInstances(ctx context.Context, ec2 instances) {
	if !slices.ContainsFunc(s.claims, hasInstance) {
		return
	}
	statuses, err := ec2.Statuses(ctx)
	if err != nil {
		slog.WarnContext(ctx, "status checks of instances not read", "error", err)
		return
	}
	s.statuses = statuses
}

// listPools reads the pools and classes, and resolves the classes. It evaluates their kubelet
// expressions before, if they are allowed. Without the objects no status is written.
func (s *seen) listPools(ctx context.Context, client kubernetes, resolve resolve, expressions bool) {
	pools, poolsErr := client.NodePools(ctx)
	classes, classesErr := client.NodeClasses(ctx)
	if err := errors.Join(poolsErr, classesErr); err != nil {
		s.failed = errors.Join(s.failed, err)
		return
	}
	if expressions {
		s.evaluateExpressions(ctx, client, classes)
	}
	for i := range classes {
		err := guard.Run(func() error {
			classes[i].Default()
			resolved, err := resolve(ctx, classes[i])
			if err == nil {
				classes[i] = resolved
			}
			return err
		})
		if guard.IsPanic(err) {
			err = fmt.Errorf("ec2nodeclass %q: %w", classes[i].Name, err)
			s.events = append(s.events, defect(aboutClass(&classes[i]), err))
		}
		s.failed = errors.Join(s.failed, err)
	}
	for i := range pools {
		pools[i].Default()
	}
	s.pools = slices.DeleteFunc(pools, isForeignPool)
	s.classes, s.classesListed = classes, true
}

// readShifts asks for the shifted zones where there is a claim that may end. A pass that has read the
// pools records the events of shifts that began or ended. Another one must not take the change, which
// is told once.
func (s *seen) readShifts(ctx context.Context, read shifts) {
	if read == nil || !s.tick && len(s.claims) == 0 {
		return
	}
	var changed zonalshift.Change
	s.shifted, changed = read(ctx, s.classesListed)
	if s.classesListed {
		s.events = append(s.events, zonalshift.Events(changed, s.shifted, s.pools, s.classes)...)
	}
}

// findOrigins finds what the claims of each pool would be made from now.
func (s *seen) findOrigins(ctx context.Context, client kubernetes, now time.Time) {
	if !s.classesListed {
		return
	}
	var known *catalog.Snapshot
	if len(s.claims) > 0 && now.Minute()%typesEvery == 0 {
		var err error
		if known, err = inventory.Catalog(ctx, client); err != nil && !errors.Is(err, inventory.ErrNoCatalog) {
			s.failed = errors.Join(s.failed, err)
		}
	}
	var err error
	s.origins, err = drift.Origins(s.pools, s.classes, client.CertificateAuthority(), known)
	s.failed = errors.Join(s.failed, err)
}

// findExpectedPods reads which pods the joining nodes were launched for. Without the answer the nodes
// join all the same, and the scheduler chooses their pods by itself.
func (s *seen) findExpectedPods(ctx context.Context, client kubernetes) {
	if !slices.ContainsFunc(s.views, func(view nodeclaim.View) bool { return view.AwaitsPods() }) {
		return
	}
	unbound, err := client.UnboundPods(ctx)
	if err != nil {
		slog.WarnContext(ctx, "unbound pods not read, and none nominated", "error", err)
		return
	}
	expected := nodeclaim.ExpectedPods(s.claims, unbound)
	for i := range s.views {
		s.views[i].Expected = expected[s.views[i].Claim.Name]
	}
}
