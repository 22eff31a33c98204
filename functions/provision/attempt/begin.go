package attempt

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

const (
	// ReasonInsufficientCapacity is Karpenter's reason for events about claims that EC2 has no
	// room for.
	ReasonInsufficientCapacity = "InsufficientCapacityError"
	// unseenFor is how long EC2 may not show the instance of an earlier request for a claim. Then
	// the claim is given up, and its pods are planned for again.
	unseenFor = launch.SettledAfter
	// firstPause is the pause before the third attempt, counted from the claim's creation.
	firstPause = 20 * time.Second
	// unknownFor is how long after a claim was written EC2 may not know its instance profile or its
	// launch template. Both are eventually consistent, and EC2 refuses a new profile for 10 to 20 s.
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency
	// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
	unknownFor = 30 * time.Second
)

// Group is the claims that one request is made for.
type Group struct {
	launch.Group
	// Fresh means that this pass wrote the claims, and that nobody has asked EC2 for them yet.
	Fresh bool
}

// Number is the number of the claim's attempt, from 1. A claim that a person wrote has none yet.
func Number(claim *api.NodeClaim) int {
	number, err := strconv.Atoi(claim.Annotations[api.AttemptAnnotationKey])
	if err != nil || number < 1 {
		return 1
	}
	return number
}

// failedAttempts is how often EC2 refused to launch for the claim.
func failedAttempts(claim *api.NodeClaim) int {
	count, err := strconv.Atoi(claim.Annotations[api.FailedAttemptsAnnotationKey])
	if err != nil {
		return 0
	}
	return count
}

// unseenSince is when EC2 first did not say what became of the claim's attempt. It is zero where EC2
// said so, or was not asked yet.
func unseenSince(claim *api.NodeClaim) time.Time {
	since, err := time.Parse(time.RFC3339, claim.Annotations[api.UnseenSinceAnnotationKey])
	if err != nil {
		return time.Time{}
	}
	return since
}

// isDue returns whether it is time for the claim's attempt. After the first failure it follows with
// the next pass. Each later one waits about twice as long as the one before, because a person may
// have to mend something first.
func isDue(claim *api.NodeClaim, now time.Time) bool {
	failed := failedAttempts(claim)
	if failed <= 1 {
		return true
	}
	wait := firstPause * time.Duration(1<<min(failed-1, 8)-1)
	return now.Sub(claim.CreationTimestamp.Time) >= wait
}

// Begin decides how the group's attempt begins. It returns no step when the attempt has to wait.
// The class is nil when it does not exist.
func Begin(group *Group, class *api.EC2NodeClass, now time.Time) []Step {
	switch {
	case !isDue(&group.Waiting[0], now):
		return nil
	case class != nil && isUndecided(class):
		// Karpenter waits too. The pass that resolves the class decides.
		return []Step{ReportFailure{
			Claims: group.Waiting, Reason: api.ReasonNodeClassReadinessUnknown, Expected: true,
			Message: "NodeClass is in Ready=Unknown: nobody has resolved its selectors yet",
		}}
	case class == nil || !nodeclass.Launchable(class):
		const message = "its EC2NodeClass does not exist or is not ready"
		return []Step{GiveUp{group.Waiting, api.ReasonNodeClassNotReady, message, group.Fresh}}
	case group.Whole():
		return []Step{Request{}}
	case group.Fresh:
		return []Step{Separate{}}
	case !group.Deleted.IsZero() && now.Sub(group.Deleted) < launch.SettledAfter:
		return []Step{Find{}} // EC2 may still show instances: a later pass looks again
	}
	// The writing of the batch was cut off, or some of its claims were deleted. Its instances, if
	// there are any, show whether EC2 was asked for them.
	return []Step{Find{NotFound: []Step{Separate{}}}}
}

// isUndecided reports whether nobody knows yet if a launch with the class may be tried.
func isUndecided(class *api.EC2NodeClass) bool {
	ready := api.GetCondition(class.Status.Conditions, api.ConditionReady)
	return class.DeletionTimestamp == nil && (ready == nil || ready.Status == metav1.ConditionUnknown)
}

// NoOffering decides about a group for which no offering is left to ask for. An earlier request,
// made when there was one, may have instances.
func NoOffering(group *Group, message string, now time.Time) []Step {
	first := &group.Waiting[0]
	waits := first.CreationTimestamp.Time
	if since := unseenSince(first); since.After(waits) {
		waits = since
	}
	giveUp := []Step{GiveUp{group.Waiting, ReasonInsufficientCapacity, message, group.Fresh}, PlanAgain{}}
	switch {
	case group.Fresh:
		return giveUp
	case now.Sub(waits) < unseenFor:
		return []Step{Find{}} // EC2 may still show instances: a later pass looks again
	}
	return []Step{Find{NotFound: giveUp}}
}

// Unbuildable decides about a group whose request cannot be built: the claim or its class is wrong.
func Unbuildable(group *Group, message string) []Step {
	return []Step{ReportFailure{Claims: group.Waiting, Reason: api.ReasonLaunchFailed, Message: message}}
}
