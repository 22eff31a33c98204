package nodeclass

import (
	"cmp"
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
)

// NotReady says why a class is not ready: its conditions that are not true, with their messages.
// Those that are unknown count only where none is false.
func NotReady(class *api.EC2NodeClass) string {
	cause := cmp.Or(api.NotReadyBecause(class.Status.Conditions), "it has not been resolved yet, which takes a minute")
	if class.DeletionTimestamp != nil {
		cause = "it is being deleted"
	}
	return fmt.Sprintf("EC2NodeClass %q is not ready: %s", class.Name, cause)
}
