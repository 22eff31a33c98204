package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/plan"
)

// launching is one round of launches, side by side.
type launching struct {
	run      *run
	snapshot *plan.Snapshot
	owned    map[string]bool // instances by id, as they were when the round began

	mutex    sync.Mutex
	launched []*api.NodeClaim
	marks    catalog.Unavailable
	short    bool
	throttle error
	failures error
}

func (l *launching) failed(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.failures = errors.Join(l.failures, err)
	if fleet.IsThrottled(err) {
		l.throttle = err
	}
}

func (l *launching) isShort() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.short = true
}

// stopped is why no more is to be asked for in this round, nil to go on.
func (l *launching) stopped(ctx context.Context) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.throttle != nil {
		return errThrottled
	}
	return ctx.Err()
}

var errThrottled = errors.New("EC2 asks for fewer calls")

// mark leaves out what EC2 was short of, from now on in this round too.
func (l *launching) mark(short []fleet.Shortage) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, shortage := range short {
		until := l.run.now().Add(shortage.For)
		l.marks.LeaveOut(shortage.Key, until)
		l.run.unavailable.LeaveOut(shortage.Key, until)
	}
}

// unavailable is what EC2 has been short of up to now.
func (l *launching) unavailable() *catalog.Unavailable {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.run.unavailable.Clone()
}

// outcome writes down what came of a group's request. The claims that may be launched
// anew with another token come back as groups.
func (l *launching) outcome(ctx context.Context, group launch.Group, class *api.EC2NodeClass, types []catalog.InstanceType, outcome fleet.Outcome, failure error) []launch.Group {
	l.mark(outcome.Short)
	l.advise(ctx, group, outcome.Short)
	byID := map[string]*fleet.Instance{}
	var ids []string
	for i := range outcome.Instances {
		byID[outcome.Instances[i].ID] = &outcome.Instances[i]
		ids = append(ids, outcome.Instances[i].ID)
	}
	given := group.Assign(ids, l.owned)
	var rest []api.NodeClaim
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range group.Waiting {
		claim := &group.Waiting[i]
		instance := byID[given[claim.Name]]
		if instance == nil {
			rest = append(rest, *claim)
			continue
		}
		writing.Go(func() error {
			stored, err := l.run.launched(ctx, claim, instance, class, types)
			l.failed(err)
			if stored != nil {
				l.mutex.Lock()
				l.launched = append(l.launched, stored)
				l.mutex.Unlock()
			}
			return nil
		})
	}
	_ = writing.Wait() // the failures are gathered: one claim's does not stop another's
	if len(rest) == 0 {
		return nil
	}
	if failure == nil {
		l.isShort()
		l.giveUp(ctx, rest, reasonInsufficientCapacity, lacking(group, len(rest), outcome.Short), !outcome.Earlier)
		return nil
	}
	return l.refused(ctx, group, rest, failure)
}

// lacking says what EC2 was short of.
func lacking(group launch.Group, count int, short []fleet.Shortage) string {
	text := fmt.Sprintf("EC2 lacks capacity for %d of %d instances", count, group.Size)
	if len(short) == 0 {
		return text
	}
	first := short[0]
	text += fmt.Sprintf(": %s in %s", first.Code, first.Key)
	if len(short) > 1 {
		text += fmt.Sprintf(" and %d more", len(short)-1)
	}
	if advice := first.Advice(); advice != "" {
		text += ": " + advice
	}
	return text
}

// advise tells the pool of shortages that somebody has to mend.
func (l *launching) advise(ctx context.Context, group launch.Group, short []fleet.Shortage) {
	for _, shortage := range short {
		advice := shortage.Advice()
		if advice == "" {
			continue
		}
		name := group.Waiting[0].Labels[api.NodePoolLabelKey]
		for i := range l.snapshot.NodePools {
			if pool := &l.snapshot.NodePools[i]; pool.Name == name {
				l.run.record(ctx, disruption.AboutPool(pool), corev1.EventTypeWarning, shortage.Reason(), shortage.Code+": "+advice)
			}
		}
	}
}

// refused says on the claims why they have no instance, and makes way for another try.
func (l *launching) refused(ctx context.Context, group launch.Group, claims []api.NodeClaim, failure error) []launch.Group {
	r := l.run
	l.failed(failure)
	unseen := errors.Is(failure, fleet.ErrUnseen)
	if unseen && r.now().Sub(claims[0].CreationTimestamp.Time) >= unseenFor {
		l.giveUp(ctx, claims, api.ReasonLaunchFailed, failure.Error(), false)
		return nil
	}
	reason, message := api.ReasonLaunchFailed, failure.Error()
	known := fleet.FailureIn(failure)
	if known != nil {
		reason, message = known.Reason, known.Error()
		l.blame(ctx, claims[0].Spec.NodeClassRef, known)
	}
	l.tell(ctx, claims, reason, message)
	if known == nil && !errors.Is(failure, fleet.ErrRefused) {
		return nil // AWS was busy, did not answer, or has not shown what it launched: the same again
	}
	// The same token would give the same answer for as long as EC2 remembers it. A batch
	// stays one only as a whole: its size is part of the request.
	change := func(claim *api.NodeClaim) map[string]any {
		changed := map[string]any{api.AttemptAnnotationKey: strconv.Itoa(attempt(claim) + 1)}
		if group.ID != "" && len(claims) < group.Size {
			changed[api.BatchAnnotationKey] = nil
		}
		return changed
	}
	changed := make([]*api.NodeClaim, len(claims))
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range claims {
		writing.Go(func() error {
			var err error
			changed[i], err = r.annotate(ctx, &claims[i], change(&claims[i]))
			l.failed(err)
			return nil
		})
	}
	_ = writing.Wait() // the failures are gathered: one claim's does not stop another's
	return launch.Groups(present(changed))
}

// blame writes on the EC2NodeClass which of its conditions is not true after all. It is
// taken for true again when what the class selects has been read anew, as the next pass
// does, and the launch is tried again.
func (l *launching) blame(ctx context.Context, ref *api.NodeClassReference, failure *fleet.Failure) {
	r := l.run
	// Without dry runs nothing would find out that rights have come: the next pass tries.
	if failure.Class == "" || failure.Class == api.ConditionTypeValidationSucceeded && !r.classes.DryRun {
		return
	}
	classes, err := r.client.NodeClasses(ctx) // this pass may have written it since it was read
	class := classOf(ref, classes)
	if err == nil && class != nil {
		conditions := slices.Clone(class.Status.Conditions)
		api.SetCondition(&conditions, metav1.Condition{
			Type: failure.Class, Status: metav1.ConditionFalse, Reason: failure.ClassReason, Message: limited(failure.Error()), ObservedGeneration: class.Generation,
		}, r.now())
		api.SetReady(&conditions, api.EC2NodeClassReadyDependents(), class.Generation, r.now())
		_, err = r.client.PatchNodeClassStatus(ctx, class.Name, map[string]any{
			"metadata": map[string]any{"resourceVersion": class.ResourceVersion}, "status": map[string]any{"conditions": conditions},
		})
		r.record(ctx, reference("karpenter.k8s.aws/v1", "EC2NodeClass", "", class.Name, class.UID), corev1.EventTypeWarning, failure.ClassReason, limited(failure.Error()))
	}
	if err != nil && !cluster.IsConflict(err) && !cluster.IsGone(err) {
		slog.WarnContext(ctx, "the status of an ec2nodeclass is not written", "EC2NodeClass", ref.Name, "error", err)
	}
}

// unbuilt tells that a request cannot even be made: what is wrong is in the claim or
// its class.
func (l *launching) unbuilt(ctx context.Context, claims []api.NodeClaim, err error) {
	l.tell(ctx, claims, api.ReasonLaunchFailed, err.Error())
	l.failed(err)
}

// tell writes the condition Launched of the claims, which says Unknown as long as
// another try may succeed, and an event on the first of them. What cannot be written
// is logged: the launch does not depend on it.
func (l *launching) tell(ctx context.Context, claims []api.NodeClaim, reason, message string) {
	r := l.run
	r.metrics.Write(metrics.Count(metrics.LaunchFailures, float64(len(claims))))
	slog.WarnContext(ctx, "failed launching nodeclaim", "NodeClaim", claims[0].Name, "nodeclaims", len(claims), "reason", reason, "error", message)
	r.record(ctx, claimReference(&claims[0]), corev1.EventTypeWarning, reason, limited(message))
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range claims {
		writing.Go(func() error {
			claim := &claims[i]
			conditions := slices.Clone(claim.Status.Conditions)
			unknown := metav1.Condition{
				Type: api.ConditionTypeLaunched, Status: metav1.ConditionUnknown, Reason: reason, Message: limited(message), ObservedGeneration: claim.Generation,
			}
			if !api.SetCondition(&conditions, unknown, r.now()) {
				return nil
			}
			api.SetReady(&conditions, api.NodeClaimReadyDependents(), claim.Generation, r.now())
			stored, err := r.client.PatchNodeClaimStatus(ctx, claim.Name, map[string]any{
				"metadata": map[string]any{"resourceVersion": claim.ResourceVersion}, "status": map[string]any{"conditions": conditions},
			})
			if err == nil {
				*claim = *stored
			} else if !cluster.IsConflict(err) && !cluster.IsGone(err) {
				slog.WarnContext(ctx, "the status of a nodeclaim is not written", "NodeClaim", claim.Name, "error", err)
			}
			return nil
		})
	}
	_ = writing.Wait()
}

// hold makes sure that the claims cannot go before their instances: one that a person
// wrote has no finalizer yet. A claim that has changed or gone since it was read is
// left out.
func (l *launching) hold(ctx context.Context, claims []api.NodeClaim) ([]api.NodeClaim, error) {
	var held []api.NodeClaim
	for i := range claims {
		claim := &claims[i]
		if slices.Contains(claim.Finalizers, api.TerminationFinalizer) {
			held = append(held, *claim)
			continue
		}
		stored, err := l.run.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
			"resourceVersion": claim.ResourceVersion, "finalizers": append(slices.Clone(claim.Finalizers), api.TerminationFinalizer),
		}})
		switch {
		case err == nil:
			held = append(held, *stored)
		case !cluster.IsConflict(err) && !cluster.IsGone(err):
			return nil, err
		}
	}
	return held, nil
}

// giveUp gives claims up and says why. Certain tells that no instance was launched for
// them: else their finalizer holds them until lifecycle has made sure of it.
func (l *launching) giveUp(ctx context.Context, claims []api.NodeClaim, reason, why string, certain bool) {
	slog.WarnContext(ctx, "giving up nodeclaim", "NodeClaim", claims[0].Name, "nodeclaims", len(claims), "reason", reason, "error", why)
	l.run.record(ctx, claimReference(&claims[0]), corev1.EventTypeWarning, reason, limited(why))
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range claims {
		writing.Go(func() error {
			l.failed(l.run.abandon(ctx, &claims[i], certain))
			return nil
		})
	}
	_ = writing.Wait() // the failures are gathered: one claim's does not stop another's
}

func (r *run) abandon(ctx context.Context, claim *api.NodeClaim, certain bool) error {
	if certain {
		_, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
			"resourceVersion": claim.ResourceVersion,
			"finalizers":      slices.DeleteFunc(slices.Clone(claim.Finalizers), func(finalizer string) bool { return finalizer == api.TerminationFinalizer }),
		}})
		if err != nil && !cluster.IsConflict(err) && !cluster.IsGone(err) {
			return err
		}
	}
	return r.client.DeleteNodeClaim(ctx, claim.Name, claim.UID)
}

// annotate changes annotations of a claim as it was read; nil when it has changed or gone since.
func (r *run) annotate(ctx context.Context, claim *api.NodeClaim, annotations map[string]any) (*api.NodeClaim, error) {
	stored, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion, "annotations": annotations,
	}})
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil, nil
	}
	return stored, err
}

// attempt is the number of the claim's launch; a claim that a person wrote has none yet.
func attempt(claim *api.NodeClaim) int {
	number, err := strconv.Atoi(claim.Annotations[api.AttemptAnnotationKey])
	if err != nil || number < 1 {
		return 1
	}
	return number
}

// firstPause is what the third attempt waits for, counted from the claim's creation.
const firstPause = 20 * time.Second

// due tells whether it is time for the claim's attempt: the second comes with the next
// pass, and each further one waits about twice as long as the one before, so that what
// a person has to mend is not asked for every few seconds until the claim's time is up.
func (r *run) due(claim *api.NodeClaim) bool {
	number := attempt(claim)
	if number <= 2 {
		return true
	}
	wait := firstPause * time.Duration(1<<min(number-2, 8)-1)
	return r.now().Sub(claim.CreationTimestamp.Time) >= wait
}

// launched writes the instance on its claim: labels first, then the status that
// says the launch is done. Killed in between, the next pass finds the claim
// without a providerID, asks EC2 with the same token, and writes both again.
func (r *run) launched(ctx context.Context, claim *api.NodeClaim, instance *fleet.Instance, class *api.EC2NodeClass, types []catalog.InstanceType) (*api.NodeClaim, error) {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: instance.InstanceType,
		corev1.LabelTopologyZone:       instance.Zone,
		api.CapacityTypeLabelKey:       instance.CapacityType,
	}
	status := map[string]any{"providerID": instance.ProviderID(), "imageID": instance.ImageID}
	// The profile stays for as long as a claim names it.
	annotations := map[string]any{api.AnnotationInstanceProfile: class.Status.InstanceProfile}
	// What the class is now is what the instance was made from.
	hash, err := nodeclass.Hash(class, r.client.CertificateAuthority())
	if err != nil {
		return nil, err
	}
	annotations[api.AnnotationEC2NodeClassHash], annotations[api.AnnotationEC2NodeClassHashVersion] = hash, api.EC2NodeClassHashVersion
	metadata := map[string]any{"annotations": annotations}
	price, savings := 0.0, catalog.Savings{}
	for i := range types {
		if types[i].Name != instance.InstanceType {
			continue
		}
		known := types[i].Requirements.Labels()
		if offering := offeringOf(&types[i], instance); offering != nil {
			price, savings = offering.Price, types[i].Savings(*offering)
			maps.Copy(known, offeringLabels(offering))
		}
		maps.Copy(known, labels)
		labels = known
		status["capacity"], status["allocatable"] = types[i].Capacity, types[i].Allocatable
	}
	metadata["labels"] = labels
	if _, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": metadata}); err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", instance.ID, claim.Name, err)
	}
	conditions := slices.Clone(claim.Status.Conditions)
	api.SetCondition(&conditions, metav1.Condition{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, ObservedGeneration: claim.Generation}, r.now())
	if api.GetCondition(conditions, api.ConditionTypeRegistered) == nil {
		api.AwaitNode(&conditions, claim.Generation, r.now())
	}
	api.SetReady(&conditions, api.NodeClaimReadyDependents(), claim.Generation, r.now())
	status["conditions"] = conditions
	stored, err := r.client.PatchNodeClaimStatus(ctx, claim.Name, map[string]any{"status": status})
	if err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", instance.ID, claim.Name, err)
	}
	slog.InfoContext(ctx, "launched nodeclaim", "NodeClaim", claim.Name, "provider-id", instance.ProviderID(),
		"instance-type", instance.InstanceType, "zone", instance.Zone, "capacity-type", instance.CapacityType,
		"price", price, "savings", savings.PerHour, "savings-fraction", savings.Fraction)
	return stored, nil
}

// reasonInsufficientCapacity is Karpenter's reason for the event.
const reasonInsufficientCapacity = "InsufficientCapacityError"
