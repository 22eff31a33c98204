package sight

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/gang"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Fleet is a cluster at one time as a decision about its nodes sees it. What only some decisions need is
// read when the first one asks. It is for one goroutine at a time.
type Fleet struct {
	Settings Settings
	// Objects are those that were read. Virtual pods for which nodes have room run on these nodes, and
	// nodes of shifted zones take no pods. The caller keeps the objects up to date with its writes.
	Objects *snapshot.Objects
	// Seen is what disruption decides by.
	Seen *disruption.Cluster

	reader Reader
	facts  *facts // nil until they are read
	// marks are offerings that the caller has marked since the facts were read.
	marks catalog.Unavailable
	// completed is set once the pods have their default topology spread, and what they come back with.
	completed bool
	// detailed has the details, with those that were not read marked; nil until they are read.
	detailed *plan.Snapshot
}

// ReadFleet reads the cluster for decisions about its nodes. The reader should read past the watch
// cache, because deletions are decided on it.
func ReadFleet(ctx context.Context, reader Reader, settings Settings, now time.Time) (*Fleet, error) {
	f := &Fleet{Settings: settings, reader: reader}
	var shifted map[string]time.Time
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { f.Objects, err = settings.objects(reading, reader); return err })
	group.Go(func() (err error) { shifted, err = reader.Shifted(reading); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	f.Objects.ShieldShifted(shifted, now)
	f.Objects.ShieldAsleep(now)
	// Without the virtual pods their nodes would look empty, so that an error ends the reading.
	bound, err := boundVirtual(ctx, reader, &settings, f.Objects, now)
	if err != nil {
		return nil, err
	}
	f.Objects.Pods = append(slices.Clip(f.Objects.Pods), bound...)
	f.Seen, err = snapshot.Disruption(f.Objects, reader.CertificateAuthority())
	return f, err
}

// Exclude leaves offerings out of later plans that the caller has marked as unavailable.
func (f *Fleet) Exclude(marks *catalog.Unavailable) { f.marks.Merge(marks) }

// Without returns what the planner sees when the nodes of the claims leave. The pods of these nodes
// wait, and likewise those of all nodes that are leaving already, for which provision has planned.
func (f *Fleet) Without(ctx context.Context, leaving []*api.NodeClaim, now time.Time) (*plan.Snapshot, error) {
	if !f.completed {
		if err := Spread(ctx, f.reader, f.Settings.DefaultTopologySpread, f.Objects.Pods); err != nil {
			return nil, err
		}
		// Any node with a claim may be asked for.
		successors(ctx, f.reader, f.Objects, func(claim *api.NodeClaim, node *corev1.Node) bool {
			return claim != nil || scheduling.IsLeaving(claim, node)
		})
		f.completed = true
	}
	without := snapshot.Without(f.Objects, f.Seen, leaving, now)
	// The offer's refusals are left out here: provision reports why a pool gets no nodes.
	offer, err := f.offer(ctx, without, now)
	if err != nil {
		return nil, err
	}
	made := gang.Keep(offer.Assemble(without, now))
	if f.facts != nil {
		f.facts.pay(made, now)
	}
	snapshot.AddUnlaunched(made, without)
	f.Settings.apply(made)
	return made, f.addDetails(ctx, made)
}

// FindNeeded notes in Seen which nodes have room for pods that began to wait a moment ago. It buys
// nothing, so that it needs no catalogue.
func (f *Fleet) FindNeeded(ctx context.Context, now time.Time) error {
	f.Seen.Needed = nil
	recent := f.Seen.Recent(now)
	if len(recent) == 0 {
		return nil
	}
	nodes := snapshot.Nodes(snapshot.Without(f.Objects, f.Seen, nil, now), now)
	waiting := map[string]*corev1.Pod{}
	for _, pod := range recent {
		nodes.Pods = append(nodes.Pods, *pod)
		waiting[string(pod.UID)] = pod
	}
	made := gang.Keep(nodes)
	f.Settings.apply(made)
	unread := details(ctx, f.reader, made, plan.NeedsOf(made.Pods, made.Nodes)) // holds only the pods that need them
	needed := map[string]*corev1.Pod{}
	for _, nomination := range planning.Solve(made).Nominations {
		needed[nomination.NodeName] = waiting[nomination.Pod.UID]
	}
	f.Seen.Needed = map[string]*corev1.Pod{}
	for i := range f.Seen.Nodes {
		if node := &f.Seen.Nodes[i]; node.Node != nil && needed[node.Node.Name] != nil {
			f.Seen.Needed[node.Claim.Name] = needed[node.Node.Name]
		}
	}
	return unread
}

// Consolidation returns what consolidation decides on.
func (f *Fleet) Consolidation(ctx context.Context, now time.Time) (*consolidation.Input, error) {
	planned, err := f.Without(ctx, nil, now)
	if err != nil {
		return nil, err
	}
	f.leaveOutStopped(planned)
	return consolidation.Of(planned, f.Seen, now), nil
}

// leaveOutStopped takes the pools out of the plan whose release has stopped. A node that replaces
// others for their price would bring it to their pods.
func (f *Fleet) leaveOutStopped(planned *plan.Snapshot) {
	stopped := func(pool api.NodePool) bool { return f.Seen.Releases[pool.Name].Stops() }
	if !slices.ContainsFunc(planned.NodePools, stopped) {
		return
	}
	for _, pool := range planned.NodePools {
		if stopped(pool) {
			planned.PausedPools = append(slices.Clip(planned.PausedPools), pool)
			planned.UnusablePools = append(slices.Clip(planned.UnusablePools), plan.UnusablePool{
				NodePool: pool.Name, Message: f.Seen.Releases[pool.Name].String()})
		}
	}
	planned.NodePools = slices.DeleteFunc(slices.Clone(planned.NodePools), stopped)
}

// Catalog returns the instance types with their prices.
func (f *Fleet) Catalog(ctx context.Context) (*catalog.Catalog, error) { return f.reader.Catalog(ctx) }

// Known is the catalogue that plans of this fleet were made from, and nil before the first or with a
// Market.
func (f *Fleet) Known() *catalog.Catalog {
	if f.facts == nil {
		return nil
	}
	return f.facts.catalog
}

// offer is what can be bought, with the pools and classes of the objects.
func (f *Fleet) offer(ctx context.Context, o *snapshot.Objects, now time.Time) (*snapshot.Offer, error) {
	if f.Settings.Market != nil {
		return f.Settings.Market.Offer(o)
	}
	if f.facts == nil {
		known := &facts{}
		group, reading := errgroup.WithContext(ctx)
		known.read(reading, group, f.reader, &f.Settings)
		if err := group.Wait(); err != nil {
			return nil, err
		}
		f.facts = known
	}
	if err := f.facts.complete(ctx, f.reader, o); err != nil {
		return nil, err
	}
	observed := f.facts.observed
	observed.Unavailable = observed.Unavailable.Clone()
	observed.Unavailable.Merge(&f.marks)
	observed.Covers = f.facts.paid.Covers(o.NodeClaims, now)
	return snapshot.NewOffer(o, f.facts.catalog, observed, now), nil
}

// addDetails reads what any pod of the snapshot may need. All pods that run on nodes with a claim may
// have to move. Later calls find what the first one read.
func (f *Fleet) addDetails(ctx context.Context, made *plan.Snapshot) error {
	if f.detailed == nil {
		known := &plan.Snapshot{}
		if err := details(ctx, f.reader, known, plan.NeedsToMove(made)); err != nil {
			return err
		}
		f.detailed = known
	}
	made.Unread, made.Namespaces = f.detailed.Unread, f.detailed.Namespaces
	made.PersistentVolumeClaims, made.PersistentVolumes = f.detailed.PersistentVolumeClaims, f.detailed.PersistentVolumes
	made.StorageClasses, made.CSINodes = f.detailed.StorageClasses, f.detailed.CSINodes
	return nil
}
