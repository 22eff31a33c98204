package karpenter

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	provisioningscheduling "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Consolidation is a cluster whose nodes Karpenter's own methods of disruption consolidate:
// emptiness, multi-node and single-node consolidation, in its controller's order, on its own
// picture of the cluster. What they decide is carried out at once on that picture: a replacement
// becomes its cheapest offering, pods go where the method's simulation has put them. The fifteen
// seconds that a decision is kept for before it is looked at again are left out, since nothing
// changes meanwhile. Budgets allow everything, and spot nodes may be replaced by spot nodes, which
// is a feature that a user has to switch on.
type Consolidation struct {
	in       *Input
	snapshot *plan.Snapshot
	memory   *memory
	provider *provider
	queue    *disruption.Queue
	methods  []disruption.Method
	serial   int
	// Moved counts pods, Removed and Launched nodes so far.
	Moved, Removed, Launched int
	// Commands counts what the methods have decided.
	Commands int
}

// NewConsolidation converts a snapshot, of which nothing waits and all nodes have joined.
func NewConsolidation(ctx context.Context, s *plan.Snapshot, workers int) (*Consolidation, error) {
	in, err := newInput(s, workers)
	if err != nil {
		return nil, err
	}
	in.settings = &options.Options{
		PreferencePolicy: in.settings.PreferencePolicy, MinValuesPolicy: in.settings.MinValuesPolicy,
		IgnoreDRARequests: true, CPURequests: int64(workers) * 1000,
		FeatureGates: options.FeatureGates{ReservedCapacity: true, SpotToSpotConsolidation: true},
	}
	c := &Consolidation{in: in, snapshot: s, provider: &provider{instanceTypes: in.instanceTypes}}
	c.memory = &memory{
		nodes:      map[string]*corev1.Node{},
		pods:       map[string][]*corev1.Pod{},
		namespaces: s.Namespaces,
		daemonSets: s.DaemonSets,
	}
	for _, pool := range in.nodePools {
		pool.Spec.Template.Spec.NodeClassRef = &karpenterv1.NodeClassReference{
			Group: "karpenter.kwok.sh",
			Kind:  "KWOKNodeClass",
			Name:  "default",
		}
		pool.Spec.Disruption.Budgets = []karpenterv1.Budget{{Nodes: "100%"}}
		for _, condition := range []string{karpenterv1.ConditionTypeValidationSucceeded,
			karpenterv1.ConditionTypeNodeClassReady} {
			pool.StatusConditions().SetTrue(condition)
		}
		c.memory.pools = append(c.memory.pools, pool)
	}
	ctx = in.context(ctx)
	in.kubeClient = c.memory
	in.cluster = state.NewCluster(clock.RealClock{}, c.memory, c.provider)
	for i := range s.Nodes {
		if err := c.add(ctx, &s.Nodes[i]); err != nil {
			return nil, err
		}
	}
	provisioner := provisioning.NewProvisioner(c.memory, silent{}, c.provider, in.cluster, clock.RealClock{}, nil, nil)
	c.queue = disruption.NewQueue(c.memory, silent{}, in.cluster, clock.RealClock{}, provisioner)
	shared := disruption.MakeConsolidation(
		clock.RealClock{},
		in.cluster,
		c.memory,
		provisioner,
		c.provider,
		silent{},
		c.queue,
	)
	c.methods = []disruption.Method{
		disruption.NewEmptiness(shared, disruption.WithValidator(unchanged{})),
		disruption.NewMultiNodeConsolidation(shared, disruption.WithValidator(unchanged{})),
		disruption.NewSingleNodeConsolidation(shared, disruption.WithValidator(unchanged{})),
	}
	return c, nil
}

// unchanged finds every command valid still.
type unchanged struct{}

func (unchanged) Validate(_ context.Context, command disruption.Command, _ time.Duration) (disruption.Command, error) {
	return command, nil
}

// add puts a node that runs into Karpenter's picture.
func (c *Consolidation) add(ctx context.Context, n *plan.Node) error {
	claim, err := nodeClaim(n.NodeClaim)
	if err != nil {
		return err
	}
	claim.StatusConditions().SetTrue(karpenterv1.ConditionTypeConsolidatable)
	c.in.cluster.UpdateNodeClaim(claim)
	node := n.Node.DeepCopy()
	c.memory.nodes[node.Name] = node
	if err := c.in.cluster.UpdateNode(ctx, node.DeepCopy()); err != nil {
		return fmt.Errorf("adding node %q: %w", node.Name, err)
	}
	for i := range n.Pods {
		if err := c.bind(ctx, n.Pods[i].DeepCopy(), node.Name); err != nil {
			return err
		}
	}
	return nil
}

func (c *Consolidation) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	pod.Spec.NodeName = node
	c.memory.pods[node] = append(c.memory.pods[node], pod)
	if err := c.in.cluster.UpdatePod(ctx, pod.DeepCopy()); err != nil {
		return fmt.Errorf("binding pod %q to node %q: %w", pod.Name, node, err)
	}
	return nil
}

// Step has the methods decide once, and carries out what they have decided. It gives how long
// deciding took, and false if there is nothing more to do.
func (c *Consolidation) Step(ctx context.Context) (took time.Duration, more bool, err error) {
	ctx = c.in.context(ctx)
	start := time.Now()
	commands, err := c.decide(ctx)
	took = time.Since(start)
	if err != nil {
		return took, false, err
	}
	for i := range commands {
		if err := c.carryOut(ctx, &commands[i]); err != nil {
			return took, false, err
		}
	}
	return took, len(commands) > 0, nil
}

// decide goes through the methods as the controller does: the first that finds something ends the
// pass.
func (c *Consolidation) decide(ctx context.Context) ([]disruption.Command, error) {
	for _, method := range c.methods {
		candidates, totals, err := disruption.GetCandidatesWithTotals(
			ctx,
			c.in.cluster,
			c.memory,
			silent{},
			clock.RealClock{},
			c.provider,
			method.ShouldDisrupt,
			method.Class(),
			c.queue,
			nil,
		)
		if err != nil {
			return nil, fmt.Errorf("finding candidates: %w", err)
		}
		if len(candidates) == 0 {
			continue
		}
		if setter, ok := method.(disruption.NodePoolTotalsSetter); ok {
			setter.SetNodePoolTotals(totals)
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(
			ctx,
			c.in.cluster,
			clock.RealClock{},
			c.memory,
			c.provider,
			silent{},
			method.Reason(),
		)
		if err != nil {
			return nil, fmt.Errorf("counting budgets: %w", err)
		}
		commands, err := method.ComputeCommands(ctx, budgets, candidates...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method.ConsolidationType(), err)
		}
		var made []disruption.Command
		for _, command := range commands {
			if command.Decision() != disruption.NoOpDecision {
				made = append(made, command)
			}
		}
		if len(made) > 0 {
			return made, nil
		}
	}
	return nil, nil
}

func (c *Consolidation) carryOut(ctx context.Context, command *disruption.Command) error {
	c.Commands++
	waiting := map[types.UID]*corev1.Pod{}
	for _, candidate := range command.Candidates {
		name := candidate.Node.Name
		for _, pod := range c.memory.pods[name] {
			waiting[pod.UID] = pod
			c.in.cluster.DeletePod(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
		delete(c.memory.pods, name)
		delete(c.memory.nodes, name)
		c.in.cluster.DeleteNode(name)
		c.in.cluster.DeleteNodeClaim(candidate.NodeClaim.Name)
		c.Removed++
	}
	c.Moved += len(waiting)
	for _, node := range command.Results.ExistingNodes {
		for _, pod := range node.Pods {
			if err := c.bind(ctx, waiting[pod.UID], node.Name()); err != nil {
				return err
			}
			delete(waiting, pod.UID)
		}
	}
	for _, replacement := range command.Replacements {
		if err := c.launch(ctx, replacement.NodeClaim, waiting); err != nil {
			return err
		}
	}
	if len(waiting) > 0 {
		return fmt.Errorf("a command of Karpenter's leaves %d pods without a place", len(waiting))
	}
	return nil
}

// launch makes a replacement, which becomes the cheapest offering that it allows, and binds its
// pods.
func (c *Consolidation) launch(
	ctx context.Context,
	claim *provisioningscheduling.NodeClaim,
	waiting map[types.UID]*corev1.Pod,
) error {
	chosen, err := price(claim)
	if err != nil {
		return err
	}
	t, offering := find(c.snapshot.InstanceTypes[chosen.NodePool], &chosen)
	c.serial++
	c.Launched++
	made := consolidationtest.Node(
		fmt.Sprintf("replacement-%05d", c.serial),
		chosen.NodePool,
		t,
		offering,
		time.Now().Add(-time.Hour),
	)
	for _, pod := range claim.Pods {
		made.Pods = append(made.Pods, *waiting[pod.UID])
		delete(waiting, pod.UID)
	}
	return c.add(ctx, &made)
}

func find(list []catalog.InstanceType, chosen *NodeClaim) (*catalog.InstanceType, *catalog.Offering) {
	for i := range list {
		for j := range list[i].Offerings {
			if o := &list[i].Offerings[j]; list[i].Name == chosen.InstanceType && o.Zone == chosen.Zone &&
				o.CapacityType == chosen.CapacityType &&
				o.Price == chosen.PricePerHour {
				return &list[i], o
			}
		}
	}
	return nil, nil
}

// PricePerHour is what the nodes cost that there are now, in US dollars.
func (c *Consolidation) PricePerHour() float64 {
	sum := 0.0
	for _, node := range c.memory.nodes {
		for _, t := range c.in.instanceTypes[node.Labels[karpenterv1.NodePoolLabelKey]] {
			if t.Name != node.Labels[corev1.LabelInstanceTypeStable] {
				continue
			}
			if dollars, known := t.OfferingPrice(node.Labels[corev1.LabelTopologyZone],
				node.Labels[karpenterv1.CapacityTypeLabelKey]); known {
				sum += dollars
			}
		}
	}
	return sum
}

// Nodes is how many nodes there are now.
func (c *Consolidation) Nodes() int { return len(c.memory.nodes) }
