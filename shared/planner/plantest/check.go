package plantest

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Check lists what is wrong with a plan, each with its class before the first colon: what the
// scheduler would not bind, what a launch could turn out as that does not hold its pods, what
// limits and reservations do not allow, what is left out although a node could hold it. Nothing is
// wrong if the list is empty. Preferences are never looked at: no plan is wrong for what it makes
// of them.
func Check(s *plan.Snapshot, p *plan.Plan) []string {
	c := newChecker(s, p)
	c.placements()
	c.checkExisting()
	c.checkPlanned()
	c.checkLimits()
	c.checkReservations()
	c.checkPrices()
	c.checkTopology()
	c.checkLeftOut()
	slices.Sort(c.violations)
	return slices.Compact(c.violations)
}

// Class is what comes before a violation's first colon.
func Class(violation string) string {
	class, _, _ := strings.Cut(violation, ":")
	return class
}

type checker struct {
	snapshot   *plan.Snapshot
	plan       *plan.Plan
	volumes    *volumeReader
	daemons    []daemon
	pools      map[string]*pool
	waiting    map[string]*pod
	hosts      []*host // those that exist, in the snapshot's order, then those to launch, in the plan's
	types      map[*catalog.InstanceType]*typeLabels
	violations []string
}

// host is a node that exists, is on its way, or is planned.
type host struct {
	name        string
	labels      labelSet
	taints      []corev1.Taint
	allocatable amounts
	// staying are the pods that are bound here and not to be moved, placed those that the plan puts
	// here.
	staying, placed []*pod
	// leaving: the node goes away, and takes no pods. Whether its staying pods still count for others'
	// affinity and spread depends on when one looks.
	leaving bool
	// planned is set for a node to launch.
	planned *plannedNode
}

// pool is a NodePool with its instance types.
type pool struct {
	*api.NodePool
	types []catalog.InstanceType
	// open: nodes may be made of it.
	open bool
	// left is what checker.left has found, given what choices has.
	left  amounts
	given map[string]bool
}

func newChecker(s *plan.Snapshot, p *plan.Plan) *checker {
	c := &checker{
		snapshot: s, plan: p, volumes: newVolumeReader(s), pools: map[string]*pool{}, waiting: map[string]*pod{},
		types: map[*catalog.InstanceType]*typeLabels{},
	}
	for i := range s.NodePools {
		np := &s.NodePools[i]
		c.pools[np.Name] = &pool{NodePool: np, types: s.InstanceTypes[np.Name], open: isOpen(np)}
	}
	for i := range s.DaemonSets {
		c.daemons = append(c.daemons, newDaemon(&s.DaemonSets[i]))
	}
	for i := range s.Pods {
		w := c.newPod(&s.Pods[i])
		c.waiting[w.name] = w
	}
	for i := range s.Nodes {
		c.hosts = append(c.hosts, c.existingHost(&s.Nodes[i]))
	}
	for i := range p.NodeClaims {
		c.hosts = append(c.hosts, c.plannedHost(i, &p.NodeClaims[i]))
	}
	return c
}

// isOpen reports whether nodes are made of a pool: not of one that is being deleted, keeps a number
// of replicas, or says that it is not ready.
func isOpen(np *api.NodePool) bool {
	if np.DeletionTimestamp != nil || np.Spec.Replicas != nil {
		return false
	}
	for i := range np.Status.Conditions {
		if condition := &np.Status.Conditions[i]; condition.Type == api.ConditionReady && condition.Status == "False" {
			return false
		}
	}
	return true
}

func (c *checker) report(class, format string, args ...any) {
	c.violations = append(c.violations, class+": "+fmt.Sprintf(format, args...))
}

// placements puts every waiting pod on its host, and reports those that the plan forgets, doubles
// or makes up.
func (c *checker) placements() {
	places := map[string]int{}
	place := func(ref plan.PodRef, h *host) {
		w := c.waiting[ref.String()]
		if w == nil {
			c.report("pods", "%s is planned and does not wait", ref)
			return
		}
		if string(w.object.UID) != ref.UID {
			c.report("pods", "%s has the uid %q, not %q", ref, w.object.UID, ref.UID)
		}
		if places[w.name]++; places[w.name] == 1 && h != nil {
			h.placed = append(h.placed, w)
		}
	}
	for _, n := range c.plan.Nominations {
		h := c.nominated(n)
		if h == nil {
			c.report("nomination", "%s goes to node %q, claim %q, which does not exist", n.Pod, n.NodeName, n.NodeClaimName)
		}
		place(n.Pod, h)
	}
	for i, h := range c.hosts[len(c.snapshot.Nodes):] {
		for _, ref := range c.plan.NodeClaims[i].Pods {
			place(ref, h)
		}
	}
	for _, u := range c.plan.Unplaced {
		place(u.Pod, nil)
	}
	for name := range c.waiting {
		switch n := places[name]; {
		case n == 0:
			c.report("pods", "%s is forgotten", name)
		case n > 1:
			c.report("pods", "%s has %d places", name, n)
		}
	}
}

// nominated is the host that a nomination names.
func (c *checker) nominated(n plan.Nomination) *host {
	for i := range c.snapshot.Nodes {
		node := &c.snapshot.Nodes[i]
		nodeName, claimName := "", ""
		if node.Node != nil {
			nodeName = node.Node.Name
		}
		if node.NodeClaim != nil {
			claimName = node.NodeClaim.Name
		}
		if n.NodeName == nodeName && n.NodeClaimName == claimName {
			return c.hosts[i]
		}
	}
	return nil
}
