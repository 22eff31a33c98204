package sight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/buffer"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/provisioningrequest"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// View is a cluster at one time as a plan for its waiting pods sees it, with everything that was decided
// on the way.
type View struct {
	Now      time.Time
	Settings Settings
	// Objects are those that were read, with the defaults of pools and classes.
	Objects *snapshot.Objects
	// Catalog is the cluster's catalogue, and nil with a Market.
	Catalog *catalog.Catalog
	// Offer has the pools that may get nodes, the others with their reasons, and the NodeOverlays that
	// do not apply.
	Offer *snapshot.Offer
	// Snapshot is what planning.Solve takes.
	Snapshot *plan.Snapshot
	// Held are the waiting pods that no node is planned for.
	Held []Held
	// Misfits are the pods that the nodes launched for them did not serve, by UID. MisfitsChanged is set
	// where they differ from the stored ones.
	Misfits        map[string]misfit.Misfit
	MisfitsChanged bool
	// Requests and Buffers are those whose virtual pods are in the snapshot.
	Requests []provisioningrequest.Request
	Buffers  []buffer.Buffer
	// Incomplete is why a part of the view is missing, or nil. The view without it is good: pods that
	// need the part are held. A later reading may have it.
	Incomplete error
}

// HeldReason says why no node is planned for a waiting pod.
type HeldReason string

const (
	// HeldMisfit is for a pod that the node launched for it did not serve.
	HeldMisfit HeldReason = "Misfit"
	// HeldRequest is for a pod that a ProvisioningRequest has room for.
	HeldRequest HeldReason = "ProvisioningRequest"
	// HeldUnread is for a pod that needs volumes or namespaces, which could not be read.
	HeldUnread HeldReason = "DetailsUnread"
	// HeldGang is for a pod whose PodGroup could not be read.
	HeldGang HeldReason = "PodGroupUnread"
)

// Held is a waiting pod that no node is planned for.
type Held struct {
	Pod    plan.PodRef
	Reason HeldReason
	// Message says why, and what a person can do.
	Message string
	// Until is when the pod is planned for again; zero where no time decides.
	Until time.Time
}

// facts are what Whittle knows of EC2 and remembers of the cluster.
type facts struct {
	catalog  *catalog.Catalog
	observed catalog.Observed
	misfits  map[string]misfit.Misfit
	// paid is how commitments pay for the nodes, or nil. unpaid is why it is not known, or nil.
	paid   *commitment.Reading
	unpaid error
}

// Read reads the cluster and puts together what a plan for its waiting pods is made from. Without a view
// the error is why nothing can be planned. View.Incomplete is what affects a part only.
func Read(ctx context.Context, reader Reader, settings Settings, now time.Time) (*View, error) {
	v := &View{Now: now, Settings: settings}
	known := &facts{}
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { v.Objects, err = settings.objects(reading, reader); return err })
	group.Go(func() (err error) { known.misfits, err = reader.Misfits(reading); return err })
	if settings.Market == nil {
		known.read(reading, group, reader, &settings)
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := v.offer(ctx, reader, known); err != nil {
		return nil, err
	}
	successors(ctx, reader, v.Objects, scheduling.IsLeaving)
	v.Snapshot = v.Offer.Assemble(v.Objects, now)
	known.pay(v.Snapshot, now)
	snapshot.AddUnlaunched(v.Snapshot, v.Objects)
	settings.apply(v.Snapshot)
	incomplete := []error{known.unpaid, v.addRequests(ctx, reader), v.addBuffers(ctx, reader)}
	if err := Spread(ctx, reader, settings.DefaultTopologySpread, v.Snapshot.Pods); err != nil {
		return nil, err
	}
	incomplete = append(incomplete, v.addDetails(ctx, reader))
	v.holdMisfits(known.misfits)
	v.Incomplete = errors.Join(append(incomplete, v.addGangs(ctx, reader))...)
	return v, nil
}

// objects reads those of Whittle's own kinds of classes. A trial counts those of all kinds.
func (s *Settings) objects(ctx context.Context, reader Reader) (*snapshot.Objects, error) {
	if s.Market != nil {
		return everything(ctx, reader)
	}
	return Objects(ctx, reader)
}

// read reads the facts that do not depend on the cluster's objects.
func (f *facts) read(ctx context.Context, group *errgroup.Group, reader Reader, settings *Settings) {
	if settings.Commitments {
		group.Go(func() error {
			// Without an answer prices are those without commitments.
			f.paid, f.unpaid = reader.Commitments(ctx)
			return nil
		})
	}
	group.Go(func() (err error) { f.catalog, err = reader.Catalog(ctx); return err })
	group.Go(func() (err error) { f.observed.Unavailable, err = reader.Unavailable(ctx); return err })
	group.Go(func() (err error) { f.observed.Learned, err = reader.Learned(ctx); return err })
}

// complete reads the facts that only some classes need.
func (f *facts) complete(ctx context.Context, reader Reader, o *snapshot.Objects) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { f.observed.Kubelet, err = reader.KubeletValues(ctx, o.NodeClasses); return err })
	if slices.ContainsFunc(o.NodeClasses, hasReservations) {
		group.Go(func() error {
			counts, err := reader.Reservations(ctx)
			f.observed.Reservations = catalog.Available(counts, o.NodeClaims)
			return err
		})
	}
	return group.Wait()
}

// pay notes on the nodes which part of their price commitments pay.
func (f *facts) pay(s *plan.Snapshot, now time.Time) {
	for i := range s.Nodes {
		s.Nodes[i].Paid = f.paid.Paid(s.Nodes[i].NodeClaim, now)
	}
}

func hasReservations(class api.EC2NodeClass) bool { return len(class.Status.CapacityReservations) > 0 }

// offer decides which pools may get nodes, and of which types.
func (v *View) offer(ctx context.Context, reader Reader, known *facts) (err error) {
	if market := v.Settings.Market; market != nil {
		v.Offer, err = market.Offer(v.Objects)
		return err
	}
	if err := known.complete(ctx, reader, v.Objects); err != nil {
		return err
	}
	known.observed.Covers = known.paid.Covers(v.Objects.NodeClaims, v.Now)
	v.Catalog = known.catalog
	v.Offer = snapshot.NewOffer(v.Objects, known.catalog, known.observed, v.Now)
	return nil
}

// addRequests adds the pods of ProvisioningRequests to those that wait. Those that wait for their
// room are gangs. Real pods that a request has room for need no place. No other pod waits for
// requests: where one cannot be read, the plan is made without.
func (v *View) addRequests(ctx context.Context, reader Reader) error {
	if !v.Settings.ProvisioningRequests {
		return nil
	}
	requests, err := Requests(ctx, reader, v.Objects)
	if err != nil {
		return fmt.Errorf("provisioningrequests are not read, and nothing is launched for them: %w", err)
	}
	v.Requests = requests
	v.hold(func(pod *corev1.Pod) *Held {
		if !provisioningrequest.Consumed(pod, requests) {
			return nil
		}
		return &Held{Reason: HeldRequest, Message: fmt.Sprintf(
			"the ProvisioningRequest %q has room for it: the scheduler binds it there once its node is ready",
			pod.Namespace+"/"+provisioningrequest.NameOf(pod))}
	})
	for i := range requests {
		if request := &requests[i]; request.Grows() {
			AddRequest(v.Snapshot, request)
		}
	}
	return nil
}

// AddRequest adds the request's pods, which are a gang while they wait for their room.
func AddRequest(s *plan.Snapshot, request *provisioningrequest.Request) {
	s.Pods = append(s.Pods, request.Pods...)
	if request.Stage == provisioningrequest.Waits {
		s.Gangs = append(s.Gangs, request.Gang())
	}
}

// addBuffers adds the pods that CapacityBuffers keep room for to those that wait. Pods wait for no
// buffer: where one cannot be read, the plan is made without.
func (v *View) addBuffers(ctx context.Context, reader Reader) error {
	if !v.Settings.CapacityBuffers {
		return nil
	}
	buffers, err := Buffers(ctx, reader, v.Objects.LimitRanges)
	if err != nil {
		return fmt.Errorf("capacitybuffers are not read, and nothing is launched for them: %w", err)
	}
	v.Buffers = buffers
	v.Snapshot.Pods = append(slices.Clip(v.Snapshot.Pods), buffer.Pods(buffers)...)
	return nil
}

// addDetails reads the details that the pods need. Pods wait that need what could not be read.
func (v *View) addDetails(ctx context.Context, reader Reader) error {
	needs, asked := plan.NeedsOf(v.Snapshot.Pods, v.Snapshot.Nodes), plan.Details{}
	if v.Settings.AllDetails {
		asked = asked.Not()
	}
	err := details(ctx, reader, v.Snapshot, needs.Or(asked))
	lacking := needs.And(v.Snapshot.Unread)
	if err == nil || lacking == (plan.Details{}) {
		return err
	}
	v.hold(func(pod *corev1.Pod) *Held {
		if !lacking.Namespaces && !plan.MountsClaim(pod) {
			return nil
		}
		return &Held{Reason: HeldUnread, Message: fmt.Sprintf(
			"the cluster's %s could not be read, and a plan for the pod needs them: it waits for the next plan", lacking)}
	})
	return fmt.Errorf("%s are not read, and pods that need them wait: %w", lacking, err)
}

// holdMisfits takes the pods out of the snapshot that the node launched for them did not serve, until
// their time has come.
func (v *View) holdMisfits(known map[string]misfit.Misfit) {
	v.Misfits, v.MisfitsChanged = misfit.Note(v.Snapshot, known, v.Now)
	for _, held := range misfit.Hold(v.Snapshot, v.Misfits, v.Now) {
		v.Held = append(v.Held, Held{Pod: held.Pod, Reason: HeldMisfit, Message: held.Message, Until: held.Until})
	}
}

// addGangs reads the gangs of the snapshot's pods, and nothing where no pod names one. Pods whose gang
// cannot be read wait.
func (v *View) addGangs(ctx context.Context, reader Reader) error {
	if !slices.ContainsFunc(v.Snapshot.Pods, func(pod corev1.Pod) bool { return namesGang(&pod) }) {
		return nil
	}
	groups, err := reader.PodGroups(ctx)
	v.Snapshot.Gangs = append(v.Snapshot.Gangs, plan.GangsOf(groups)...)
	if err == nil {
		return nil
	}
	v.hold(func(pod *corev1.Pod) *Held {
		if !namesGang(pod) {
			return nil
		}
		return &Held{Reason: HeldGang, Message: fmt.Sprintf(
			"its PodGroup %q could not be read: it waits for the next plan", plan.GangOf(pod).Name)}
	})
	return fmt.Errorf("podgroups are not read, and their pods wait: %w", err)
}

func namesGang(pod *corev1.Pod) bool {
	return plan.GangOf(pod).Name != "" && !scheduling.IsVirtual(pod)
}

// hold takes the pods out of the snapshot for which why returns a reason.
func (v *View) hold(why func(*corev1.Pod) *Held) {
	v.Snapshot.Pods = slices.DeleteFunc(slices.Clone(v.Snapshot.Pods), func(pod corev1.Pod) bool {
		held := why(&pod)
		if held == nil {
			return false
		}
		held.Pod = plan.RefOf(&pod)
		v.Held = append(v.Held, *held)
		return true
	})
}
