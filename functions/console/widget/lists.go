package widget

import (
	"fmt"

	"github.com/whittle-dev/whittle/functions/console/view"
)

// group holds pods that wait for the same reason.
type group struct {
	Count           int
	Oldest          string
	Pods            []podName // the first of them
	More            int       // the others
	Source, Message string
}

type podName struct{ Namespace, Name string }

// namedPods is how many pods of a group are named.
const namedPods = 2

// groups groups pending pods by their reason, in the order of each group's first pod. unsaid counts
// the pods in groups that the table has no room for.
func groups(shown *view.View) (list []group, unsaid int) {
	type why struct{ source, message string }
	at := map[why]int{}
	for i := range shown.Waiting {
		pod := &shown.Waiting[i]
		key := why{pod.Source, pod.Message}
		index, known := at[key]
		if !known {
			if len(list) == maximumGroups {
				unsaid++
				continue
			}
			index = len(list)
			at[key] = index
			list = append(list, group{Oldest: shown.Age(pod.Created), Source: pod.Source, Message: pod.Message})
		}
		of := &list[index]
		of.Count++
		if len(of.Pods) < namedPods {
			of.Pods = append(of.Pods, podName{pod.Namespace, pod.Name})
		} else {
			of.More++
		}
	}
	return list, unsaid
}

// lastPlan is the last plan with new nodes.
type lastPlan struct {
	Sentence string
	Rows     []planned
	More     int // new nodes that the table leaves out
}

// planned holds new nodes that look alike.
type planned struct {
	Count, Pods                               int
	Type, Capacity, Zone, Pool, Price, Extras string
}

func planOf(shown *view.View) *lastPlan {
	plan := shown.Plan
	if plan == nil {
		return nil
	}
	text := shown.Age(plan.Time) + " ago: " + count(plan.Pods, "pod", "pods") + ", " +
		count(plan.NewNodes(), "new node", "new nodes")
	if plan.Existing > 0 {
		text += fmt.Sprintf(", %d on existing nodes", plan.Existing)
	}
	if plan.Unplaced > 0 {
		text += fmt.Sprintf(", %d without a place", plan.Unplaced)
	}
	made := &lastPlan{Sentence: text, More: plan.More}
	for _, group := range plan.Nodes {
		made.Rows = append(made.Rows, planned{
			Count: group.Count, Pods: group.Pods, Type: group.InstanceType, Capacity: group.CapacityType, Zone: group.Zone,
			Pool: group.NodePool, Price: dollars(group.PricePerHour), Extras: dollars(group.ExtrasPerHour),
		})
	}
	return made
}
