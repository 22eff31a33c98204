package nodeclass

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// NotReady says why a class is not ready: its conditions that are not true, with their messages.
// Those that are unknown count only where none is false.
func NotReady(class *api.EC2NodeClass) string {
	var causes, unknown []string
	for _, condition := range class.Status.Conditions {
		text := strings.TrimSuffix(fmt.Sprintf("%s: %s", condition.Type, cmp.Or(condition.Message, condition.Reason)), ": ")
		switch {
		case condition.Type == api.ConditionReady:
		case condition.Status == metav1.ConditionFalse:
			causes = append(causes, text)
		case condition.Status == metav1.ConditionUnknown:
			unknown = append(unknown, text)
		}
	}
	if len(causes) == 0 {
		causes = unknown
	}
	switch ready := api.GetCondition(class.Status.Conditions, api.ConditionReady); {
	case class.DeletionTimestamp != nil:
		causes = []string{"it is being deleted"}
	case len(causes) == 0 && ready != nil && ready.Message != "":
		causes = []string{ready.Message}
	case len(causes) == 0:
		causes = []string{"it has not been resolved yet, which takes a minute"}
	}
	return fmt.Sprintf("EC2NodeClass %q is not ready: %s", class.Name, strings.Join(causes, "; "))
}
