package instancetypes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/faults"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nearest"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// gapsNamed is the most gaps of one kind.
const gapsNamed = 8

// Gaps says what the objects ask for and the table does not know, one line each, for people. Only a
// cluster's own catalogue goes with free counts of capacity reservations, and the built-in table lacks
// some instance types.
func (t *Table) Gaps(o *snapshot.Objects) []string {
	var gaps []string
	for i := range o.NodeClasses {
		if uncounted := t.uncounted(&o.NodeClasses[i]); len(uncounted) > 0 && len(gaps) < gapsNamed {
			gaps = append(gaps, fmt.Sprintf("EC2NodeClass %q: status.capacityReservations: nothing here holds the free "+
				"counts of its %d capacity reservations, so the plan uses none of those: say them, as in -reserved %s=1, or plan "+
				"with the cluster's own catalogue", o.NodeClasses[i].Name, len(uncounted), uncounted[0]))
		}
	}
	if t.builtin {
		gaps = append(gaps, t.lacking(o)...)
	}
	return gaps
}

// uncounted are the class's capacity reservations whose free instances nobody has said. A cluster's catalogue
// goes with the counts, and a user's own table with offerings.
func (t *Table) uncounted(class *api.EC2NodeClass) []string {
	if !t.assume {
		return nil
	}
	var ids []string
	for _, reservation := range class.Status.CapacityReservations {
		if _, counted := t.observed.Reservations[reservation.ID]; !counted {
			ids = append(ids, reservation.ID)
		}
	}
	return ids
}

// lacking are the instance types and families that a NodePool or a pod names and no type of the table
// has.
func (t *Table) lacking(o *snapshot.Objects) []string {
	known := map[string]map[string]bool{corev1.LabelInstanceTypeStable: {}, api.LabelInstanceFamily: {}}
	for i := range t.facts.InstanceTypes {
		known[corev1.LabelInstanceTypeStable][t.facts.InstanceTypes[i].InstanceType] = true
		family, _, _ := strings.Cut(t.facts.InstanceTypes[i].InstanceType, ".")
		known[api.LabelInstanceFamily][family] = true
	}
	var gaps []string
	named := map[string]bool{}
	note := func(subject, key string, values ...string) {
		for _, value := range values {
			if known[key] != nil && !known[key][value] && !named[key+value] && len(gaps) < gapsNamed {
				named[key+value] = true
				meant := faults.Question(nearest.To(value, slices.Sorted(maps.Keys(known[key]))))
				gaps = append(gaps, fmt.Sprintf(
					"%s names %s %s: the built-in table lacks it; use -prices aws, or correct the name%s", subject, key, value, meant))
			}
		}
	}
	for i := range o.NodePools {
		for _, term := range o.NodePools[i].Spec.Template.Spec.Requirements {
			if term.Operator == corev1.NodeSelectorOpIn {
				note(fmt.Sprintf("NodePool %q", o.NodePools[i].Name), term.Key, term.Values...)
			}
		}
	}
	for i := range o.Pods {
		for _, key := range []string{api.LabelInstanceFamily, corev1.LabelInstanceTypeStable} {
			if value, ok := o.Pods[i].Spec.NodeSelector[key]; ok {
				note(fmt.Sprintf("pod %s/%s", o.Pods[i].Namespace, o.Pods[i].Name), key, value)
			}
		}
	}
	return gaps
}
