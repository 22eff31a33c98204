package nodeclass

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Finalizers returns the finalizers that the class should have, and whether they differ from those
// that it has. A class gets the finalizer when it is first seen, because its profile is made then.
func Finalizers(class *api.EC2NodeClass) (finalizers []string, changed bool) {
	if class.DeletionTimestamp != nil || slices.Contains(class.Finalizers, api.EC2NodeClassTerminationFinalizer) {
		return class.Finalizers, false
	}
	return append(slices.Clone(class.Finalizers), api.EC2NodeClassTerminationFinalizer), true
}

// Released returns the finalizers of the class without Whittle's.
func Released(class *api.EC2NodeClass) []string {
	return slices.DeleteFunc(slices.Clone(class.Finalizers), func(finalizer string) bool {
		return finalizer == api.EC2NodeClassTerminationFinalizer
	})
}

// IsEnding reports whether the class is deleted and Whittle's finalizer holds it.
func IsEnding(class *api.EC2NodeClass) bool {
	return class.DeletionTimestamp != nil && slices.Contains(class.Finalizers, api.EC2NodeClassTerminationFinalizer)
}

// Holders returns the sorted names of the claims that were made with the class.
func Holders(class *api.EC2NodeClass, claims []api.NodeClaim) []string {
	var names []string
	for i := range claims {
		if isOf(&claims[i], class.Name) {
			names = append(names, claims[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// WaitingMessage says which claims a deleted class waits for. It names the first five.
func WaitingMessage(holders []string) string {
	const few = 5
	named, others := strings.Join(holders[:min(few, len(holders))], ", "), ""
	if len(holders) > few {
		others = fmt.Sprintf(" and %d others", len(holders)-few)
	}
	return "Waiting on NodeClaim termination for " + named + others
}

func isOf(claim *api.NodeClaim, class string) bool {
	return claim.Spec.NodeClassRef.IsEC2NodeClass() && claim.Spec.NodeClassRef.Name == class
}
