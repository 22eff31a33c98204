package nodeclaim

import (
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// unlaunchedAfter is when provision is woken for a claim without an instance. Provision's own claims
// have theirs within seconds. Its ticks look at pods, and not at a claim that a person has created.
const unlaunchedAfter = 10 * time.Second

// Karpenter's times. https://karpenter.sh/docs/concepts/nodeclaims/
const (
	// launchTimeout is how long a claim may be without an instance.
	launchTimeout = 5 * time.Minute
	// registrationTimeout is how long an instance may take to join as a node.
	registrationTimeout = 15 * time.Minute
)

// EC2's answers are eventually consistent. These are the times for which something may be missing.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const (
	// listedWithin is when a new instance is listed.
	listedWithin = 30 * time.Second
	// surelyKnownWithin is when EC2 knows a new instance by its id. A mistake would cost a healthy
	// node.
	surelyKnownWithin = 2 * time.Minute
)

// deleteIfDue deletes a claim whose time is over, or whose node or instance has gone. It reports
// whether it did.
func (p *pass) deleteIfDue() bool {
	switch {
	case p.node != nil && p.node.DeletionTimestamp != nil:
		return p.delete("deleting nodeclaim of a deleted node")
	case p.isShifted() && !p.lost():
		return false
	case p.expired() && !p.view.ExpiryWaits && p.view.Frozen == "":
		return p.delete("deleting expired nodeclaim", "reason", "expired")
	case p.view.Unhealthy != nil:
		return p.repair()
	case p.departsSoon():
		return p.deleteBeforeDeparture()
	case p.claim.Status.ProviderID == "":
		return p.deleteUnlaunched()
	case p.view.Tick && p.overdue():
		return p.delete("terminating due to timeout", "reason", "registration_timeout")
	case p.lost():
		p.confirm()
		if p.explainEnd() {
			p.write()
		}
		return p.delete("garbage collecting nodeclaim with no cloudprovider representation")
	}
	return false
}

// deleteUnlaunched deletes a claim that has had no instance for too long. An instance that EC2 lists for
// the claim is provision's to write on it, which was perhaps unable to. It gets the time that an instance
// has to join.
func (p *pass) deleteUnlaunched() bool {
	limit := launchTimeout
	if slices.ContainsFunc(p.view.Instances, func(i Instance) bool { return !i.isEnding() }) {
		limit = registrationTimeout
	}
	return p.view.Tick && p.age() >= limit && p.delete("terminating due to timeout", "reason", "launch_timeout")
}

// expired reports whether the claim has outlived its expireAfter.
func (p *pass) expired() bool {
	return expiredAt(p.claim, p.now)
}

// isShifted reports whether a zonal shift keeps the claim's instance.
func (p *pass) isShifted() bool { return p.now.Before(p.view.ShiftedUntil) }

// lost reports whether the instance has ended or stopped without Whittle: EC2 says so by its id, and
// the node is not ready.
func (p *pass) lost() bool {
	if len(p.view.Nodes) > 1 || p.node != nil && disruption.IsReady(p.node) {
		return false
	}
	if instance := p.view.Instance(); instance != nil {
		return instance.isEnding() || instance.State == stateStopped
	}
	return p.absent()
}

// GivenUpAt is when a claim that has never registered is deleted for it.
func GivenUpAt(claim *api.NodeClaim) time.Time {
	if claim.Status.ProviderID == "" {
		return claim.CreationTimestamp.Add(launchTimeout)
	}
	return launchedAt(claim).Add(registrationTimeout)
}

// delete deletes the claim. It returns true, for callers that report the deletion.
func (p *pass) delete(message string, attributes ...any) bool {
	// The log line comes before the deletion: a pass that died after it would leave no reason.
	p.log(message, attributes...)
	p.do(p.reports...)
	p.do(DeleteClaim{})
	p.lookAgain(drainPause)
	p.outcome.WantsCapacity = p.node != nil
	return true
}
