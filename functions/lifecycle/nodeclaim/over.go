package nodeclaim

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Karpenter's times. https://karpenter.sh/docs/concepts/nodeclaims/
const (
	// launchTimeout is how long a claim may be without an instance.
	launchTimeout = 5 * time.Minute
	// registrationTimeout is how long an instance may take to join as a node.
	registrationTimeout = 15 * time.Minute
)

// EC2's lists lag behind its answers: how long something may be missing in them.
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const (
	// listedWithin is when a new instance is in the list.
	listedWithin = 30 * time.Second
	// surelyListedWithin is the same where a mistake would cost a healthy node.
	surelyListedWithin = 2 * time.Minute
)

// over orders the claim's end where its time is over or what it stands for is
// gone, and tells whether it did.
func (p *pass) over() bool {
	switch expires := p.claim.Spec.ExpireAfter.Duration; {
	case p.node != nil && p.node.DeletionTimestamp != nil:
		return p.delete("deleting nodeclaim of a deleted node")
	case expires != nil && p.age() >= *expires && !p.view.ExpiryWaits:
		return p.delete("deleting expired nodeclaim", "reason", "expired")
	case p.view.Sickness != nil:
		return p.repair()
	case p.departs():
		return p.endBeforeDeparture()
	case p.claim.Status.ProviderID == "":
		if p.view.Tick && p.age() >= launchTimeout {
			return p.delete("terminating due to timeout", "reason", "launch_timeout")
		}
	case p.view.Tick && !p.is(api.ConditionTypeRegistered) && p.launchedFor() >= registrationTimeout:
		return p.delete("terminating due to timeout", "reason", "registration_timeout")
	case p.lost():
		return p.delete("garbage collecting nodeclaim with no cloudprovider representation")
	}
	return false
}

// lost tells that the instance has ended or stopped behind our back: EC2 does not list
// it, or lists it as such, and no kubelet speaks for it.
func (p *pass) lost() bool {
	if !p.view.InstancesListed || len(p.view.Nodes) > 1 || p.node != nil && disruption.IsReady(p.node) {
		return false
	}
	if instance := p.view.instance(); instance != nil {
		return instance.Ended() || instance.State == "stopped"
	}
	return p.launchedFor() >= surelyListedWithin
}

// GivenUpAt is when a claim that has not registered is given up.
func GivenUpAt(claim *api.NodeClaim) time.Time {
	if claim.Status.ProviderID == "" {
		return claim.CreationTimestamp.Add(launchTimeout)
	}
	return launchedAt(claim).Add(registrationTimeout)
}

func (p *pass) delete(message string, attributes ...any) bool {
	// Said first: who dies after the deletion would leave no reason for it.
	p.say(message, attributes...)
	p.do(p.after...)
	p.do(DeleteClaim{})
	p.lookAgain(soon)
	p.outcome.Displaces = p.node != nil
	return true
}
