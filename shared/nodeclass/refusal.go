package nodeclass

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// A class's conditions have two writers. Resolve writes all of them from the class's spec and the
// facts of its selection. Refuse sets one to False after EC2 refused a launch because of it, with
// the reason LaunchRefused. Resolve keeps a refusal until the class's spec or selection changes,
// until a launch succeeds (ClearRefusals), or until refusalHolds has passed. The fault may have
// been corrected outside the cluster, and the next launch tells.
//
// refusalHolds is Karpenter's pause after a failed validation.
const refusalHolds = 10 * time.Minute

func isRefusal(condition *metav1.Condition) bool {
	return condition.Status == metav1.ConditionFalse && condition.Reason == api.ReasonLaunchRefused
}

// Launchable reports whether a launch may be tried with the class: it is ready, or only refused
// launches keep it from being ready. Nothing new is planned with a class that is not ready. Earlier
// plans are tried again from time to time.
func Launchable(class *api.EC2NodeClass) bool {
	ready := api.GetCondition(class.Status.Conditions, api.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return ready != nil
	}
	if class.DeletionTimestamp != nil {
		return false
	}
	for _, conditionType := range readyDependents(class) {
		condition := api.GetCondition(class.Status.Conditions, conditionType)
		if condition == nil || condition.Status != metav1.ConditionTrue && !isRefusal(condition) {
			return false
		}
	}
	return true
}

// Refuse returns the class's conditions after EC2 refused a launch because of the thing that the
// condition stands for, and whether they changed.
func Refuse(class *api.EC2NodeClass, conditionType, message string, now time.Time) ([]metav1.Condition, bool) {
	conditions := slices.Clone(class.Status.Conditions)
	changed := api.SetCondition(&conditions, metav1.Condition{
		Type: conditionType, Status: metav1.ConditionFalse, Reason: api.ReasonLaunchRefused, Message: message,
		ObservedGeneration: class.Generation,
	}, now)
	changed = api.SetReady(&conditions, readyDependents(class), class.Generation, now) || changed
	return conditions, changed
}

// ClearRefusals returns the class's conditions after a launch with it succeeded, and whether they
// changed. None of its refusals holds any more.
func ClearRefusals(class *api.EC2NodeClass, now time.Time) ([]metav1.Condition, bool) {
	conditions := slices.Clone(class.Status.Conditions)
	changed := false
	for i := range conditions {
		if isRefusal(&conditions[i]) {
			changed = api.SetCondition(
				&conditions,
				metav1.Condition{Type: conditions[i].Type, Status: metav1.ConditionTrue, ObservedGeneration: class.Generation},
				now,
			) || changed
		}
	}
	if changed {
		api.SetReady(&conditions, readyDependents(class), class.Generation, now)
	}
	return conditions, changed
}

// holdRefusals restores the class's refusals that still hold.
func (c conditions) holdRefusals(class *api.EC2NodeClass) {
	if !sameSelection(&class.Status, c.status) {
		return
	}
	for i := range class.Status.Conditions {
		earlier := &class.Status.Conditions[i]
		found := api.GetCondition(c.status.Conditions, earlier.Type)
		if isRefusal(earlier) && earlier.ObservedGeneration == c.generation &&
			c.now.Sub(earlier.LastTransitionTime.Time) < refusalHolds &&
			found != nil && found.Status == metav1.ConditionTrue {
			*found = *earlier
		}
	}
}

// sameSelection reports whether two statuses select the same resources.
func sameSelection(a, b *api.EC2NodeClassStatus) bool {
	subnets := func(status *api.EC2NodeClassStatus) (ids []string) {
		for _, subnet := range status.Subnets {
			ids = append(ids, subnet.ID)
		}
		slices.Sort(ids) // the lists are in the order of free addresses
		return ids
	}
	groups := func(status *api.EC2NodeClassStatus) (ids []string) {
		for _, group := range status.SecurityGroups {
			ids = append(ids, group.ID)
		}
		return ids
	}
	images := func(status *api.EC2NodeClassStatus) (ids []string) {
		for i := range status.AMIs {
			ids = append(ids, status.AMIs[i].ID)
		}
		return ids
	}
	return slices.Equal(subnets(a), subnets(b)) && slices.Equal(groups(a), groups(b)) &&
		slices.Equal(images(a), images(b)) && a.InstanceProfile == b.InstanceProfile
}
