package attempt

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

const (
	// launchTemplateNotFound is the reason of a failure that passes where the template is new. Where
	// somebody deleted it, the next attempt makes it again.
	launchTemplateNotFound = "LaunchTemplateNotFound"
	// instanceProfileNameInvalid is the reason of a failure that passes where the profile is new.
	instanceProfileNameInvalid = "InstanceProfileNameInvalid"
)

// Launched is what an attempt was made with.
type Launched struct {
	Group *Group
	Class *api.EC2NodeClass
	// Pool is nil for a claim without a pool.
	Pool *api.NodePool
	// Types are the instance types that were asked for.
	Types []catalog.InstanceType
	// CertificateAuthority is the cluster's. It is part of the class's hash.
	CertificateAuthority []byte
	// Owned are the ids of instances that were some claim's before.
	Owned map[string]bool
	// Repeat allows one more attempt at once.
	Repeat bool
}

// Answered decides what comes of a group's request. The error means that the instances could not
// be described on their claims; the next pass finds them by the token.
func Answered(in Launched, answer Answer, now time.Time) ([]Step, error) {
	steps := []Step{LeaveOut{answer.Short}}
	steps = append(steps, advise(in.Pool, answer.Short)...)
	if _, refused := nodeclass.ClearRefusals(in.Class, now); refused && len(answer.Instances) > 0 {
		steps = append(steps, ClearRefusal{})
	}
	assignments, rest, err := assign(in, answer.Instances)
	if len(assignments) > 0 {
		steps = append(steps, WriteInstances{assignments})
	}
	if len(rest) == 0 {
		return steps, err
	}
	if answer.Failure == nil {
		message := lackMessage(in.Group.Size, len(rest), answer.Short)
		reason := ReasonInsufficientCapacity
		if len(answer.Short) > 0 && answer.Short[0].Refused {
			reason = answer.Short[0].Reason
		}
		return append(steps, PlanAgain{}, GiveUp{rest, reason, message, !answer.Earlier}), err
	}
	return append(steps, failed(in, rest, answer.Failure, now)...), err
}

// assign gives the instances to the group's claims. It returns the claims without an instance too.
// On an error the claims with an instance are in neither list.
func assign(in Launched, instances []Instance) (assigned []Assignment, rest []api.NodeClaim, err error) {
	byID := map[string]*Instance{}
	var ids []string
	for i := range instances {
		byID[instances[i].ID] = &instances[i]
		ids = append(ids, instances[i].ID)
	}
	hash := ""
	if len(ids) > 0 {
		hash, err = nodeclass.Hash(in.Class, in.CertificateAuthority)
	}
	given := in.Group.Assign(ids, in.Owned)
	for i := range in.Group.Waiting {
		claim := &in.Group.Waiting[i]
		instance := byID[given[claim.Name]]
		switch {
		case instance == nil:
			rest = append(rest, *claim)
		case err == nil:
			assigned = append(assigned, assignment(claim, instance, in, hash))
		}
	}
	return assigned, rest, err
}

// failed reports the failure on the claims, and makes way for another attempt. Only a token that is
// used up is replaced, because EC2 may have carried out a request that it does not tell of.
func failed(in Launched, claims []api.NodeClaim, failure *Failure, now time.Time) []Step {
	age := now.Sub(claims[0].CreationTimestamp.Time)
	switch {
	case isOfNew(failure) && age < unknownFor:
		return await(in, claims, failure)
	case failure.Reason == "" && failure.Unseen:
		return unseen(claims, failure, now)
	}
	var steps []Step
	if len(failure.Unfit) > 0 && failedAttempts(&claims[0]) > 0 {
		// EC2 has refused them twice. Others are tried, for this claim and for those that follow.
		steps = append(steps, LeaveOut{failure.Unfit})
	}
	steps = append(steps, Fail{})
	reason := api.ReasonLaunchFailed
	if failure.Reason != "" {
		reason = failure.Reason
	}
	if failure.Class != "" {
		steps = append(steps, RefuseClass{failure.Class, failure.Reason, failure.Message})
	}
	steps = append(steps, ReportFailure{Claims: claims, Reason: reason, Message: failure.Message})
	if failure.Reason == "" && !failure.Ended {
		return steps // AWS was busy or did not answer: the next pass makes the same request
	}
	memory := next(in, claims, failure)
	memory.Failed = true
	return append(steps, Remember{claims, memory, atOnce(in, failure)})
}

// isOfNew reports whether EC2 does not know a thing that it learns of some seconds after the thing
// was made.
func isOfNew(failure *Failure) bool {
	return failure.Reason == instanceProfileNameInvalid || failure.Reason == launchTemplateNotFound
}

// atOnce reports whether another token mends the failure in this pass.
func atOnce(in Launched, failure *Failure) bool {
	return failure.Ended && in.Repeat && failure.Reason == launchTemplateNotFound
}

// next is the memory that lets another attempt follow the failure.
func next(in Launched, claims []api.NodeClaim, failure *Failure) Memory {
	return Memory{
		NextToken:  failure.Ended,
		LeaveBatch: failure.Ended && in.Group.ID != "" && len(claims) < in.Group.Size,
	}
}

// await repeats the attempt with the next pass, because the failure passes by itself.
func await(in Launched, claims []api.NodeClaim, failure *Failure) []Step {
	steps := []Step{ReportFailure{Claims: claims, Reason: failure.Reason, Message: failure.Message, Expected: true}}
	if memory := next(in, claims, failure); memory.NextToken {
		steps = append(steps, Remember{claims, memory, atOnce(in, failure)})
	}
	return steps
}

// unseen waits for the instances of an earlier request, and gives the claims up when EC2 has not
// shown them for unseenFor.
func unseen(claims []api.NodeClaim, failure *Failure, now time.Time) []Step {
	since := unseenSince(&claims[0])
	if !since.IsZero() && now.Sub(since) >= unseenFor {
		return []Step{Fail{}, GiveUp{claims, api.ReasonLaunchFailed, failure.Message, false}}
	}
	steps := []Step{Fail{}, ReportFailure{Claims: claims, Reason: api.ReasonLaunchFailed, Message: failure.Message}}
	if since.IsZero() {
		steps = append(steps, Remember{Claims: claims, Memory: Memory{Unseen: now}})
	}
	return steps
}

// lackMessage says what EC2 was short of.
func lackMessage(size, lacking int, short []Shortage) string {
	text := fmt.Sprintf("EC2 lacks capacity for %d of %d instances", lacking, size)
	if len(short) == 0 {
		return text
	}
	first := short[0]
	if first.Refused {
		text = fmt.Sprintf("EC2 refuses %d of %d instances", lacking, size)
	}
	text += fmt.Sprintf(": %s in %s", first.Code, first.Key)
	if len(short) > 1 {
		text += fmt.Sprintf(" and %d more", len(short)-1)
	}
	if first.Advice != "" {
		text += ": " + first.Advice
	}
	return text
}

// advise records, about the pool, the shortages that a person has to mend.
func advise(pool *api.NodePool, short []Shortage) []Step {
	var steps []Step
	for _, shortage := range short {
		if pool != nil && shortage.Advice != "" {
			message := shortage.Code + ": " + shortage.Advice
			steps = append(steps, Record{disruption.AboutPool(pool), corev1.EventTypeWarning, shortage.Reason, message})
		}
	}
	return steps
}
