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

// Check lists the faults of a plan, sorted. Each begins with its class and a colon. A plan without
// faults gives an empty list. The classes cover these kinds of fault:
//
//   - The scheduler would not bind a pod where the plan puts it.
//   - A launch may give a node that does not hold its pods.
//   - The plan exceeds a limit or a stock.
//   - The plan leaves out a pod that a node could hold.
//   - The plan's prices or reasons are wrong.
//
// Check ignores preferences, because a plan may do with them as it likes.
func Check(s *plan.Snapshot, p *plan.Plan) []string {
	c := newChecker(s, p)
	c.placements()
	c.checkExisting()
	c.checkPlanned()
	c.checkLimits()
	c.checkSpanning()
	c.checkStocks()
	c.checkPrices()
	c.checkTopology()
	c.checkLeftOut()
	slices.Sort(c.violations)
	return slices.Compact(c.violations)
}

// Class returns a fault's class: the text before its first colon.
func Class(violation string) string {
	class, _, _ := strings.Cut(violation, ":")
	return class
}

// checker holds a snapshot and a plan, as the checks read them.
type checker struct {
	snapshot *plan.Snapshot
	plan     *plan.Plan
	volumes  *volumeReader
	daemons  []daemon
	pools    map[string]*pool
	waiting  map[string]*pod
	// hosts are the existing nodes in the snapshot's order, then the planned nodes in the plan's.
	hosts      []*host
	types      map[*catalog.InstanceType]*typeLabels
	violations []string
	// spanningLeft is what the plan leaves of the snapshot's limits; nil before it is needed.
	spanningLeft []amounts
}

// host is an existing node, a node in flight or a planned node.
type host struct {
	name        string
	labels      labelSet
	taints      []corev1.Taint
	allocatable amounts
	// staying are the pods that are bound here and do not move. placed are the pods that the plan
	// puts here.
	staying, placed []*pod
	// leaving nodes take no pods. Their staying pods may or may not count for the affinity and
	// spread of other pods; see reading.
	leaving bool
	// claimed says that a NodeClaim stands for the node, and starting that the node is in flight.
	claimed, starting bool
	// planned is nil for nodes that exist or are in flight.
	planned *plannedNode
}

// pool is a NodePool with its instance types.
type pool struct {
	*api.NodePool
	types []catalog.InstanceType
	// open reports that the planner may make nodes of the pool.
	open bool
	// left caches the result of checker.left, and settled that of checker.settledLabels.
	left    amounts
	settled map[string]bool
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
		d := newDaemon(&s.DaemonSets[i])
		d.pod = c.daemonPod(&s.DaemonSets[i])
		c.daemons = append(c.daemons, d)
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

// isOpen reports whether the planner may make nodes of a pool. It may not if the pool is being
// deleted, is static or is not ready.
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

// placements puts every waiting pod on its host. It reports pods that the plan omits, places twice
// or invents.
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

// nominated returns the host that a nomination names, or nil.
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
