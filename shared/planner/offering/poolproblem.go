package offering

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// poolProblem says why a NodePool launches no nodes, whatever the pods. It is empty if there is no
// such reason.
func poolProblem(nodePool *api.NodePool, classes map[string]*api.EC2NodeClass, types *typeList) string {
	switch ref := nodePool.Spec.Template.Spec.NodeClassRef; {
	case nodePool.DeletionTimestamp != nil:
		return "is being deleted"
	case nodePool.Spec.Replicas != nil:
		return "has a fixed number of nodes (spec.replicas) and launches none for pods"
	case isFalse(nodePool.Status.Conditions, api.ConditionReady):
		return fmt.Sprintf("is not ready: %s", api.GetCondition(nodePool.Status.Conditions, api.ConditionReady).Message)
	case len(types.all) > 0 && (ref == nil || classes[ref.Name] == nil):
		return "" // The instance types of the snapshot suffice, even if it lacks the node class.
	case ref == nil:
		return "names no node class: set spec.template.spec.nodeClassRef"
	case classes[ref.Name] == nil:
		return fmt.Sprintf(
			"node class %q does not exist, and the pool has no list of instance types: "+
				"create it or change spec.template.spec.nodeClassRef",
			ref.Name,
		)
	case classes[ref.Name].DeletionTimestamp != nil:
		return fmt.Sprintf("node class %q is being deleted", ref.Name)
	case isFalse(classes[ref.Name].Status.Conditions, api.ConditionReady):
		return fmt.Sprintf(
			"node class %q is not ready: %s",
			ref.Name,
			api.GetCondition(classes[ref.Name].Status.Conditions, api.ConditionReady).Message,
		)
	}
	return ""
}

func isFalse(conditions []metav1.Condition, conditionType string) bool {
	c := api.GetCondition(conditions, conditionType)
	return c != nil && c.Status == metav1.ConditionFalse
}

// explainNoTypes says why a pool without another problem has no pool types.
func (p *Pool) explainNoTypes() string {
	if len(p.types.all) == 0 {
		return "no instance type is known for its node class: " +
			"its subnets or images are not resolved yet, or the catalog is empty"
	}
	allowed, known := 0, 0
	for i := range p.types.all {
		if typeMeets(p.types.all[i], p.Requirements) {
			allowed++
			for j := range p.types.all[i].Offerings {
				if p.types.all[i].Offerings[j].AllowedBy(p.Requirements) {
					known++
				}
			}
		}
	}
	if allowed > 0 {
		return fmt.Sprintf(
			"no offering available: %d of %d instance types meet its requirements, "+
				"but none of their %d offerings in its zones and capacity types has a known price and capacity now",
			allowed,
			len(p.types.all),
			known,
		)
	}
	for _, key := range p.Requirements.Keys() {
		want := p.Requirements[key]
		if !slices.ContainsFunc(p.types.all, func(t *catalog.InstanceType) bool {
			have, ok := t.Requirements[key]
			return !ok || have.Intersects(want)
		}) {
			return fmt.Sprintf(
				"none of %d instance types has %s: change spec.template.spec.requirements",
				len(p.types.all),
				want,
			)
		}
	}
	return fmt.Sprintf("none of %d instance types meets all of spec.template.spec.requirements together", len(p.types.all))
}
