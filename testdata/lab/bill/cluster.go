package bill

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
)

// rounds is how often consolidation may move within an hour. It has to find rest before.
const rounds = 40

// cluster lives through a month. With blind set it plans by list prices.
type cluster struct {
	*month
	blind   bool
	nodes   []plan.Node
	number  int
	evicted int
}

func cut(name string) (family, size string, ok bool) { return strings.Cut(name, ".") }

// instances are those of the account at an hour, on demand.
func (c *cluster) instances(hour int) []commitment.Instance {
	list := c.running(hour)
	for i := range c.nodes {
		labels := c.nodes[i].NodeClaim.Labels
		if labels[api.CapacityTypeLabelKey] != api.CapacityTypeOnDemand {
			continue
		}
		id, _ := api.InstanceID(c.nodes[i].NodeClaim.Status.ProviderID)
		list = append(list, commitment.Instance{
			ID: id, Type: labels[corev1.LabelInstanceTypeStable], Zone: labels[corev1.LabelTopologyZone], Own: true,
		})
	}
	return list
}

// reading is what lifecycle counts at an hour.
func (c *cluster) reading(hour int) *commitment.Reading {
	if c.blind {
		return nil
	}
	now := c.at(hour)
	instances := c.instances(hour)
	made := &commitment.Reading{Time: now, Share: 1, Applied: commitment.Apply(c.facts, instances, now)}
	made.Own(instances)
	return made
}

func (m *month) at(hour int) time.Time { return m.begin.Add(time.Duration(hour) * time.Hour) }

// snapshot is what the planner sees: the nodes with what is paid for of them, and the pods that
// wait.
func (c *cluster) snapshot(hour int, waiting []corev1.Pod) *plan.Snapshot {
	reading, now := c.reading(hour), c.at(hour)
	claims := make([]api.NodeClaim, len(c.nodes))
	for i := range c.nodes {
		claims[i] = *c.nodes[i].NodeClaim
	}
	s := c.base(reading.Covers(claims, now))
	s.Nodes, s.Pods = slices.Clone(c.nodes), waiting
	for i := range s.Nodes {
		s.Nodes[i].Paid = reading.Paid(s.Nodes[i].NodeClaim, now)
	}
	return s
}

// live is one hour: pods end and come, nodes are bought for those that wait, and consolidation
// moves the others.
func (c *cluster) live(hour int) error {
	waiting := c.follow(hour)
	if len(waiting) > 0 {
		if err := c.provision(hour, waiting); err != nil {
			return err
		}
	}
	for range rounds {
		s := c.snapshot(hour, nil)
		budget := max(1, (len(s.Nodes)+9)/10)
		moves := consolidation.Solve(&consolidation.Input{
			Cluster: s, Now: c.at(hour),
			Allowed: map[string]consolidation.Allowance{c.pool.Name: {Empty: len(s.Nodes), Underutilized: budget}},
		}).Moves
		if len(moves) == 0 {
			return nil
		}
		for i := range moves {
			c.number++
			after := consolidationtest.CarryOut(s, &moves[i], fmt.Sprintf("moved-%d", c.number), c.at(hour).Add(-time.Hour))
			for _, launch := range moves[i].Launch {
				c.evicted += len(launch.Pods)
			}
			c.evicted += len(moves[i].Places)
			s.Nodes = after.Nodes
		}
		c.nodes = s.Nodes
	}
	return fmt.Errorf("hour %d: nodes move without end: %d rounds find no rest", hour, rounds)
}

// follow removes the pods that end, and returns those that come.
func (c *cluster) follow(hour int) (waiting []corev1.Pod) {
	have := map[string]int{}
	for i := range c.nodes {
		for j := range c.nodes[i].Pods {
			have[c.nodes[i].Pods[j].Labels["app"]]++
		}
	}
	for i := range c.loads {
		l := &c.loads[i]
		want := l.count(hour)
		for n := have[l.name]; n < want; n++ {
			c.number++
			waiting = append(waiting, consolidationtest.Pod(fmt.Sprintf("pod-%07d", c.number), l.cpu, l.memory, l.name))
		}
		for excess := have[l.name] - want; excess > 0; excess-- {
			c.end(l.name)
		}
	}
	for i := range waiting {
		waiting[i].CreationTimestamp = metav1.NewTime(c.at(hour))
		wait(&waiting[i])
	}
	return waiting
}

// end ends the youngest pod of the load.
func (c *cluster) end(name string) {
	node, youngest := -1, -1
	for i := range c.nodes {
		for j := range c.nodes[i].Pods {
			pod := &c.nodes[i].Pods[j]
			if pod.Labels["app"] == name && (node < 0 || pod.Name > c.nodes[node].Pods[youngest].Name) {
				node, youngest = i, j
			}
		}
	}
	c.nodes[node].Pods = slices.Delete(slices.Clone(c.nodes[node].Pods), youngest, youngest+1)
}

// provision buys nodes for the pods, and binds them where the plan has them.
func (c *cluster) provision(hour int, waiting []corev1.Pod) error {
	s := c.snapshot(hour, waiting)
	p := planning.Solve(s)
	if len(p.Unplaced) > 0 {
		return fmt.Errorf("hour %d: a pod has no place: %+v", hour, p.Unplaced[0])
	}
	byName := map[string]*corev1.Pod{}
	for i := range waiting {
		byName[waiting[i].Name] = &waiting[i]
	}
	at := map[string]int{}
	for i := range c.nodes {
		at[c.nodes[i].Node.Name] = i
	}
	for _, nomination := range p.Nominations {
		c.bind(at[nomination.NodeName], byName[nomination.Pod.Name], hour)
	}
	for i := range p.NodeClaims {
		n, err := c.launch(s.InstanceTypes[c.pool.Name], &p.NodeClaims[i], hour)
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, n)
		for _, ref := range p.NodeClaims[i].Pods {
			c.bind(len(c.nodes)-1, byName[ref.Name], hour)
		}
	}
	return nil
}

// launch buys the cheapest offering of the planned claim.
func (c *cluster) launch(
	types []catalog.InstanceType, planned *plan.PlannedNodeClaim, hour int,
) (plan.Node, error) {
	c.number++
	// It has run for an hour, so that consolidation may move it.
	return launch(types, planned, fmt.Sprintf("node-%06d", c.number), c.at(hour).Add(-time.Hour))
}

// launch is a node of the cheapest offering of the planned claim, which joined at a time.
func launch(
	types []catalog.InstanceType, planned *plan.PlannedNodeClaim, name string, at time.Time,
) (plan.Node, error) {
	choice, pool := planned.Offerings[0], planned.NodeClaim.Labels[api.NodePoolLabelKey]
	for i := range types {
		for j := range types[i].Offerings {
			o := &types[i].Offerings[j]
			if types[i].Name == choice.InstanceType && o.Zone == choice.Zone && o.CapacityType == choice.CapacityType {
				return consolidationtest.Node(name, pool, &types[i], o, at), nil
			}
		}
	}
	return plan.Node{}, fmt.Errorf("%s: there is no offering %+v", at, choice)
}

func (c *cluster) bind(node int, pod *corev1.Pod, hour int) {
	bound := *pod
	consolidationtest.Bind(&bound, c.nodes[node].Node.Name, c.at(hour).Add(-time.Hour))
	c.nodes[node].Pods = append(slices.Clip(c.nodes[node].Pods), bound)
}

// wait makes the pod one that waits.
func wait(pod *corev1.Pod) {
	pod.Spec.NodeName = ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}}
}
