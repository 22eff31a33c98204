package offering

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nearest"
	"github.com/whittle-dev/whittle/shared/scheduling"
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
		return "is not ready: " + api.NotReadyBecause(nodePool.Status.Conditions)
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
			api.NotReadyBecause(classes[ref.Name].Status.Conditions),
		)
	}
	return ""
}

func isFalse(conditions []metav1.Condition, conditionType string) bool {
	c := api.GetCondition(conditions, conditionType)
	return c != nil && c.Status == metav1.ConditionFalse
}

// explainNoTypes says why a pool without another problem has no pool types.
func (ix *Index) explainNoTypes(p *Pool) string {
	if text := ix.ExplainCrowded(p, nil, nil); text != "" {
		return text
	}
	if len(p.types.all) == 0 {
		return "no instance type is known for its node class: " +
			"its subnets or images are not resolved yet, or the catalog is empty"
	}
	if text := p.explainUnavailable(); text != "" {
		return text
	}
	for _, key := range p.Requirements.Keys() {
		want := p.Requirements[key]
		if !slices.ContainsFunc(p.types.all, func(t *catalog.InstanceType) bool {
			have, ok := t.Requirements[key]
			return !ok || have.Intersects(want)
		}) {
			return fmt.Sprintf(
				"none of %d known instance types has %s: change spec.template.spec.requirements%s",
				len(p.types.all), want, p.meant(want),
			)
		}
	}
	return fmt.Sprintf(
		"none of %d known instance types meets all of spec.template.spec.requirements together", len(p.types.all))
}

// meant asks whether a value of the types is meant that is nearly one of the wanted ones.
func (p *Pool) meant(want scheduling.Requirement) string {
	values, _ := want.Values()
	var known, near []string
	for _, t := range p.types.all {
		of, _ := t.Requirements[want.Key()].Values()
		known = append(known, of...)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, value := range values {
		if word := nearest.To(value, known); word != "" && !slices.Contains(near, strconv.Quote(word)) {
			near = append(near, strconv.Quote(word))
		}
	}
	if len(near) == 0 || len(near) > meantNamed {
		return ""
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}

// meantNamed is the most values that a question names.
const meantNamed = 3

// reservationsNamed is the most capacity reservations that a reason names.
const reservationsNamed = 8

// explainUnavailable says why the pool can buy no offering of the instance types that meet its
// requirements. It is empty if no type meets them.
func (p *Pool) explainUnavailable() string {
	allowed, known, reserved := 0, 0, 0
	var reservations []string
	for _, typ := range p.types.all {
		if !typeMeets(typ, p.Requirements) {
			continue
		}
		allowed++
		for j := range typ.Offerings {
			o := &typ.Offerings[j]
			if !o.AllowedBy(p.Requirements) {
				continue
			}
			known++
			if o.CapacityType == api.CapacityTypeReserved {
				reserved++
				reservations = append(reservations, o.ReservationID)
			}
		}
	}
	switch {
	case allowed == 0:
		return ""
	case known > 0 && known == reserved:
		slices.Sort(reservations)
		reservations = slices.Compact(reservations)
		if more := len(reservations) - reservationsNamed; more > 0 {
			reservations = append(reservations[:reservationsNamed], fmt.Sprintf("%d more", more))
		}
		return fmt.Sprintf("no offering available: it allows only capacity reservations (%s), and none of them is known to "+
			"have a free instance now", strings.Join(reservations, ", "))
	}
	return fmt.Sprintf("no offering available: %d of %d instance types meet its requirements, "+
		"but none of their %d offerings in its zones and capacity types has a known price and capacity now",
		allowed, len(p.types.all), known)
}
