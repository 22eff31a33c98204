package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/status"
)

// Acting says whether Whittle acts in the cluster.
type Acting string

// The answers. A dry run writes nothing into the cluster, so that it looks silent.
const (
	Acts    Acting = "acting"
	Standby Acting = "standby"
	Silent  Acting = "silent"
)

// Verdict is the first thing to know at night.
type Verdict struct {
	Acting Acting `json:"acting"`
	// Why says why Whittle does not act, with the remedy.
	Why string `json:"why,omitempty"`
	// Tick is the last tick of provision that was told, zero without one, and Version that of its
	// build.
	Tick    time.Time `json:"tick,omitzero"`
	Version string    `json:"version,omitempty"`
	// Pending is how many pods wait, and Oldest since when the first of them does. Asleep is how many others
	// wait for NodePools that sleep.
	Pending int       `json:"pending"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Asleep  int       `json:"asleep,omitempty"`
}

// silentAfter is the age of the last tick after which Whittle does not act: ticks are told once a
// minute.
const silentAfter = 5 * time.Minute

func verdict(v *View, told *status.Deployment) Verdict {
	is := Verdict{Acting: Acts}
	if told != nil {
		is.Tick, is.Version = told.Tick, told.Version
	}
	for _, pod := range v.Waiting {
		if pod.Asleep {
			is.Asleep++
			continue
		}
		is.Pending++
		if is.Oldest.IsZero() || pod.Created.Before(is.Oldest) {
			is.Oldest = pod.Created
		}
	}
	switch {
	case v.Standby != "":
		is.Acting = Standby
		is.Why = "Karpenter acts in this cluster (" + v.Standby + "): scale its Deployment to 0 to let Whittle act"
	case told == nil:
		is.Acting = Silent
		is.Why = "no tick was told: this is a dry run, a version before 0.9, or the first minute of a deployment"
	case v.Time.Sub(told.Tick) > silentAfter:
		is.Acting = Silent
		is.Why = "the last tick was " + v.Age(told.Tick) + " ago: read the logs of ticker and provision"
	}
	return is
}

// VerdictText is the verdict in one line.
func (v *View) VerdictText() string {
	is := v.Verdict
	parts := []string{strings.ToUpper(string(is.Acting))}
	if is.Why != "" {
		parts[0] += ": " + is.Why
	} else {
		parts = append(parts, "last tick "+v.Age(is.Tick)+" ago")
	}
	if is.Version != "" {
		parts = append(parts, "version "+is.Version)
	}
	switch is.Pending {
	case 0:
		parts = append(parts, "no pod pending")
	case 1:
		parts = append(parts, "1 pod pending for "+v.Age(is.Oldest))
	default:
		parts = append(parts, fmt.Sprintf("%d pods pending, the oldest for %s", is.Pending, v.Age(is.Oldest)))
	}
	switch is.Asleep {
	case 0:
	case 1:
		parts = append(parts, "1 pod waits for a NodePool that sleeps")
	default:
		parts = append(parts, fmt.Sprintf("%d pods wait for NodePools that sleep", is.Asleep))
	}
	return strings.Join(parts, "; ")
}

const (
	// unservedAfter is the waiting time of a pod after which it is a problem, as for the alarm.
	unservedAfter = 10 * time.Minute
	// joinsWithin is how long a node may take until it is ready.
	joinsWithin = 10 * time.Minute
	// namesShown is how many objects of one problem are named.
	namesShown = 3
	// reasonLength is the most characters of a reason. `status -o json` has all.
	reasonLength = 240
)

// problems lists what a person may have to look at, the most urgent first.
func problems(v *View) []string {
	var unserved, held []string
	for _, pod := range v.Waiting {
		switch name := pod.Namespace + "/" + pod.Name; {
		case !pod.HeldUntil.IsZero():
			held = append(held, name)
		case pod.Asleep:
		case v.Time.Sub(cmp.Or(pod.Owed, pod.Created)) > unservedAfter:
			unserved = append(unserved, name)
		}
	}
	all := poolProblems(v)
	if v.CatalogStale() {
		all = append(all, v.CatalogText())
	}
	all = appendProblem(all, unserved, "a pod has waited for more than 10 minutes",
		"%d pods have waited for more than 10 minutes")
	all = appendProblem(all, held, "a pod is held, because the nodes launched for it did not serve it",
		"%d pods are held, because the nodes launched for them did not serve them")
	all = append(all, nodeProblems(v)...)
	for _, why := range v.IgnoredLeases {
		all = append(all, why+": if it is Karpenter's, set karpenterServiceAccounts")
	}
	return all
}

// poolProblems has a line for each of the first NodePools that are not ready, with the first reason.
func poolProblems(v *View) []string {
	var all []string
	more := 0
	for _, pool := range v.NodePools {
		switch {
		case pool.Ready:
		case len(all) == namesShown:
			more++
		default:
			text := "NodePool " + pool.Name + " is not ready"
			if len(pool.Reasons) > 0 {
				text += ": " + printable.Short(printable.Line(pool.Reasons[0]), reasonLength)
			}
			all = append(all, text)
		}
	}
	switch more {
	case 0:
	case 1:
		all = append(all, "1 other NodePool is not ready")
	default:
		all = append(all, fmt.Sprintf("%d other NodePools are not ready", more))
	}
	return all
}

// nodeProblems lists those of nodes.
func nodeProblems(v *View) []string {
	var silent, slow, draining []string
	for i := range v.Nodes {
		node := &v.Nodes[i]
		name := cmp.Or(node.Name, node.NodeClaim)
		switch node.State {
		case nodestate.Ready, nodestate.Terminating, nodestate.Rebooting, nodestate.Drained:
		case nodestate.NotReady:
			silent = append(silent, name)
		case nodestate.Draining:
			if node.HeldUp {
				draining = append(draining, name+" ("+strings.TrimPrefix(node.Reason, string(nodestate.HeldUp)+"; ")+")")
			}
		default:
			if v.Time.Sub(node.Created) > joinsWithin {
				slow = append(slow, name)
			}
		}
	}
	all := appendProblem(nil, silent, "a node is not ready", "%d nodes are not ready")
	all = appendProblem(all, slow, "a node has not become ready in 10 minutes",
		"%d nodes have not become ready in 10 minutes")
	return appendProblem(all, draining, "a drain is held up", "%d drains are held up")
}

// appendProblem adds the problem of the named objects, in words for one and for many of them.
func appendProblem(all, names []string, one, many string) []string {
	switch {
	case len(names) == 0:
		return all
	case len(names) > namesShown:
		return append(all, fmt.Sprintf(many, len(names))+": "+strings.Join(names[:namesShown], ", ")+" and others")
	case len(names) > 1:
		one = fmt.Sprintf(many, len(names))
	}
	return append(all, one+": "+strings.Join(names, ", "))
}
