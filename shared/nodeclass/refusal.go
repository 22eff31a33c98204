package nodeclass

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// A class's conditions have two writers. Resolve writes all of them from the class's spec and the
// facts of its selection. Refuse sets one to False after a launch because of it failed. The reason is
// LaunchRefused, or InstanceEnded where EC2 launched an instance and ended it before it joined.
// Resolve keeps a refusal until the class's spec or selection changes, or until RefusalHolds has
// passed. The fault may have been corrected outside the cluster, and the next launch tells. A launch
// that succeeds clears LaunchRefused before that (ClearRefusals). It does not clear InstanceEnded,
// because that launch had succeeded too.

// RefusalHolds is how long a refusal holds. It is Karpenter's pause after a failed validation.
const RefusalHolds = 10 * time.Minute

// Refusal is what a failed launch says against a class.
type Refusal struct {
	// Condition is the type of the class's condition that is not true after all.
	Condition string
	// Reason is LaunchRefused or InstanceEnded.
	Reason  string
	Message string
}

func isRefusal(condition *metav1.Condition) bool {
	return condition.Status == metav1.ConditionFalse &&
		(condition.Reason == api.ReasonLaunchRefused || condition.Reason == api.ReasonInstanceEnded)
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

// Refuse returns the class's conditions after a launch failed because of the thing that the refusal's
// condition stands for, and whether they changed.
func Refuse(class *api.EC2NodeClass, refusal Refusal, now time.Time) ([]metav1.Condition, bool) {
	conditions := slices.Clone(class.Status.Conditions)
	changed := api.SetCondition(&conditions, metav1.Condition{
		Type: refusal.Condition, Status: metav1.ConditionFalse, Reason: refusal.Reason, Message: refusal.Message,
		ObservedGeneration: class.Generation,
	}, now)
	changed = api.SetReady(&conditions, readyDependents(class), class.Generation, now) || changed
	return conditions, changed
}

// RefuseEnded returns the class's conditions after EC2 ended the claim's instance before it joined, and
// whether they changed. They do not where the class's spec has changed since the launch. The error
// says that the class cannot be hashed.
func RefuseEnded(
	class *api.EC2NodeClass, claim *api.NodeClaim, certificateAuthority []byte, message string, now time.Time,
) (conditions []metav1.Condition, changed bool, err error) {
	defaulted := class.DeepCopy()
	defaulted.Default()
	hash, err := Hash(defaulted, certificateAuthority)
	if err != nil {
		return class.Status.Conditions, false, err
	}
	sameVersion := claim.Annotations[api.AnnotationEC2NodeClassHashVersion] == api.EC2NodeClassHashVersion
	if sameVersion && claim.Annotations[api.AnnotationEC2NodeClassHash] != hash {
		return class.Status.Conditions, false, nil
	}
	conditions, changed = Refuse(class, Refusal{
		Condition: api.ConditionTypeValidationSucceeded, Reason: api.ReasonInstanceEnded, Message: message,
	}, now)
	return conditions, changed, nil
}

// ClearRefusals returns the class's conditions after EC2 launched an instance with it, and whether
// they changed. Its refusals with the reason LaunchRefused do not hold any more.
func ClearRefusals(class *api.EC2NodeClass, now time.Time) ([]metav1.Condition, bool) {
	conditions := slices.Clone(class.Status.Conditions)
	changed := false
	for i := range conditions {
		if isRefusal(&conditions[i]) && conditions[i].Reason == api.ReasonLaunchRefused {
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
			c.now.Sub(earlier.LastTransitionTime.Time) < RefusalHolds &&
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
