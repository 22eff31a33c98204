package offering

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// crowdedType is an instance type all of whose nodes are too small for their DaemonSets.
type crowdedType struct {
	typ        *catalog.InstanceType
	daemonSets *daemonSetSum
	// room is what a node can allocate to DaemonSets and pods.
	room resource.Vector
}

// addCrowded notes the type and the DaemonSets of an unfit offering, once for neighbours that share
// both.
func (r *poolTypeReader) addCrowded(u unfitOffering) {
	if last := len(r.pool.crowded) - 1; last >= 0 && r.pool.crowded[last].typ == u.typ &&
		r.pool.crowded[last].daemonSets == u.daemonSets {
		return
	}
	room := make(resource.Vector, len(r.index.Work.Axes.Names))
	r.index.readRoom(room, u.typ)
	r.pool.crowded = append(r.pool.crowded, crowdedType{typ: u.typ, daemonSets: u.daemonSets, room: room})
}

// ExplainCrowded says why the pool launches no node of the types that meet the requirements and have
// room for the need: their DaemonSets take more than the node has. It is empty if there is no such
// type.
func (ix *Index) ExplainCrowded(pool *Pool, requirements scheduling.Requirements, need resource.Vector) string {
	var crowded []crowdedType
	for _, c := range pool.crowded {
		if typeMeets(c.typ, requirements) && c.room.Fits(need) {
			crowded = append(crowded, c)
		}
	}
	if len(crowded) == 0 {
		return ""
	}
	types := map[*catalog.InstanceType]bool{}
	for _, c := range crowded {
		types[c.typ] = true
	}
	has := fmt.Sprintf("none of the %d instance types has", len(types))
	if len(types) == 1 {
		has = fmt.Sprintf("the instance type %s has no", crowded[0].typ.Name)
	}
	var together []string
	for axis, name := range ix.Work.Axes.Names {
		best := slices.MaxFunc(crowded, func(a, b crowdedType) int { return cmp.Compare(a.left(axis), b.left(axis)) })
		if best.left(axis) < 0 {
			return fmt.Sprintf("%s room for its daemon sets: %s", has, best.lack(name, axis, len(types)))
		}
		if asked := crowded[0].asked(axis); asked > 0 {
			together = append(together, string(name)+" "+resource.Text(name, asked))
		}
	}
	return fmt.Sprintf("%s room for its daemon sets, which request %s together: lower a request, or allow larger "+
		"types in spec.template.spec.requirements", has, strings.Join(together, ", "))
}

// asked is what the DaemonSets request, and left what they leave, which is negative if they lack some.
func (c crowdedType) asked(axis int) int64 {
	if c.daemonSets == nil {
		return 0
	}
	return c.daemonSets.need[axis]
}

func (c crowdedType) left(axis int) int64 { return c.room[axis] - c.asked(axis) }

// setsNamed is the most DaemonSets that a reason names.
const setsNamed = 3

// lack says which DaemonSets request too much of a resource, of which this type leaves most.
func (c crowdedType) lack(name corev1.ResourceName, axis, types int) string {
	if c.daemonSets == nil {
		return fmt.Sprintf("the reserved %s is more than the node has", name)
	}
	asking := slices.DeleteFunc(slices.Clone(c.daemonSets.parts), func(d *DaemonSet) bool { return d.Need[axis] <= 0 })
	slices.SortStableFunc(asking, func(a, b *DaemonSet) int { return -cmp.Compare(a.Need[axis], b.Need[axis]) })
	var names []string
	for _, d := range asking[:min(len(asking), setsNamed)] {
		text := d.object.Namespace + "/" + d.object.Name
		if len(asking) > 1 && name != corev1.ResourcePods {
			text += " " + resource.Text(name, d.Need[axis])
		}
		names = append(names, text)
	}
	if more := len(asking) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	verb := "requests"
	if len(asking) > 1 {
		verb = "request"
	}
	subject := strings.Join(names, ", ")
	if has := c.typ.Allocatable[name]; has.Sign() <= 0 {
		return fmt.Sprintf("%s %s %s %s, of which no node has any: %s", subject, verb, name,
			resource.Text(name, c.asked(axis)),
			Remedy(name, "remove the request, or keep the daemon set off these nodes by its node selector"))
	}
	largest := c.typ.Name
	if types > 1 {
		largest = fmt.Sprintf("the largest (%s)", largest)
	}
	return fmt.Sprintf("%s %s %s %s, and %s offers %s: %s", subject, verb, name, resource.Text(name, c.asked(axis)),
		largest, resource.Text(name, max(c.room[axis], 0)),
		Remedy(name, "lower the request, or allow larger types in spec.template.spec.requirements"))
}
