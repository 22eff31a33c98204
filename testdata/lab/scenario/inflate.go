package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
)

// World is the part of the local world that a scenario uses.
type World interface {
	// NodeRole returns the node role that the stack created.
	NodeRole() (string, error)
	// Interrupt sends a spot warning for the instance, and reclaims it after a time.
	Interrupt(instanceID string, after time.Duration) error
	// Invocations returns the functions' invocations so far.
	Invocations() []lambda.Invocation
	// FleetCalls returns the times of CreateFleet calls.
	FleetCalls() []time.Time
	// Instances returns the instances, also those that have ended.
	Instances() []ec2.Instance
	// InstancesAlive counts the instances that have not ended.
	InstancesAlive() int
}

const (
	inflateNamespace = "default"
	inflateName      = "inflate"
	inflateSelector  = "app=inflate"
	// patience limits one step. The slowest, from a pending pod to a node that runs it, takes some
	// tick intervals and a boot. A busy machine takes a multiple.
	patience = 4 * time.Minute
	// spotWarning is the time between EC2's warning and the reclaim.
	spotWarning = 2 * time.Minute
)

// Setup says where a scenario runs and where it prints to.
type Setup struct {
	World    World
	Client   *Client
	Cluster  *cluster.Client
	Name     string // of the cluster
	Root     string // the project's folder
	Timeline *Timeline
}

// Inflate performs the main job: no node, five pods, fifteen, a spot warning for a node with pods,
// no node again.
func Inflate(ctx context.Context, setup Setup) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	known, err := waitForCatalog(ctx, setup.Cluster)
	if err != nil {
		return nil, err
	}
	setup.Timeline.Add("catalogue", "%d instance types with prices", len(known.InstanceTypes))
	price := func(claim *api.NodeClaim) float64 {
		price, _ := known.Price(claim.Labels)
		return price
	}
	watcher, err := watchCluster(ctx, setup.Client, setup.Timeline, price)
	if err != nil {
		return nil, err
	}
	s := &steps{Setup: setup, watcher: watcher, price: price, report: &Report{}}
	for _, step := range []func(context.Context) error{s.apply, s.scaleUp(5), s.scaleUp(15), s.interrupt, s.scaleDown} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	s.report.Invocations = setup.World.Invocations()
	return s.report, nil
}

// WaitForCatalog waits until the catalog function has written its first snapshot.
func WaitForCatalog(ctx context.Context, client *cluster.Client) error {
	_, err := waitForCatalog(ctx, client)
	return err
}

// waitForCatalog waits for the catalogue. The installation invokes the catalog function without
// waiting for it.
func waitForCatalog(ctx context.Context, client *cluster.Client) (*catalog.Catalog, error) {
	var known *catalog.Catalog
	err := Until(ctx, patience, "the catalogue", func(ctx context.Context) (bool, string, error) {
		var err error
		known, err = inventory.Catalog(ctx, client)
		return err == nil, "", err
	})
	return known, err
}

type steps struct {
	Setup
	watcher *watcher
	price   func(*api.NodeClaim) float64
	report  *Report
}

func (s *steps) apply(ctx context.Context) error {
	role, err := s.World.NodeRole()
	if err != nil {
		return err
	}
	variables := map[string]string{"CLUSTER_NAME": s.Name, "NODE_ROLE": role}
	for _, file := range []string{"fast.yaml", "inflate.yaml"} {
		if err := s.Client.Apply(ctx, filepath.Join(s.Root, "testdata", "manifests", file), variables); err != nil {
			return err
		}
	}
	s.Timeline.Add("applied", "NodePool default, EC2NodeClass default, Deployment inflate with no replica")
	return nil
}

// scaleUp scales the workload and waits until all its pods run.
func (s *steps) scaleUp(replicas int) func(context.Context) error {
	return func(ctx context.Context) error {
		since := time.Now()
		s.Timeline.Add(string(nodestate.StepPending), "inflate scaled to %d", replicas)
		if err := s.Client.Scale(ctx, inflateNamespace, inflateName, replicas); err != nil {
			return err
		}
		err := Until(ctx, patience, fmt.Sprintf("%d running pods", replicas),
			s.Client.Running(inflateNamespace, inflateSelector, replicas))
		if err != nil {
			return err
		}
		claims, err := s.Client.NodeClaims(ctx)
		if err != nil {
			return err
		}
		total := 0.0
		for i := range claims {
			total += s.price(&claims[i])
		}
		s.Timeline.Add("running", "%d pods on %d nodes, $%.4f/h", replicas, len(claims), total)
		first, slowest := s.watcher.waits(since)
		step := Step{Pods: replicas, Nodes: len(claims), PricePerHour: total, ToRunning: slowest}
		for _, call := range s.World.FleetCalls() {
			if call.After(since) {
				step.ToCreateFleet = call.Sub(first)
				break
			}
		}
		s.report.Steps = append(s.report.Steps, step)
		return s.KeepsLaws(ctx)
	}
}

// interrupt warns a node with pods of the workload. It waits until all of them run elsewhere and
// the node is gone.
func (s *steps) interrupt(ctx context.Context) error {
	pods, err := s.Client.Pods(ctx, inflateNamespace, inflateSelector)
	if err != nil {
		return err
	}
	victim, load := busiest(pods)
	node, err := s.node(ctx, victim)
	if err != nil {
		return err
	}
	id, ours := api.InstanceID(node.Spec.ProviderID)
	if !ours {
		return fmt.Errorf("node %q has the providerID %q, which names no instance", node.Name, node.Spec.ProviderID)
	}
	start := time.Now()
	s.Timeline.Add(string(nodestate.StepInterrupted), "spot warning for %s, node %s with %d pods", id, victim, load)
	if err := s.World.Interrupt(id, spotWarning); err != nil {
		return err
	}
	err = Until(ctx, patience, "the pods to run on other nodes", func(ctx context.Context) (bool, string, error) {
		pods, err := s.Client.Pods(ctx, inflateNamespace, inflateSelector)
		if err != nil {
			return false, "", err
		}
		for i := range pods {
			if pods[i].Spec.NodeName == victim {
				return false, fmt.Sprintf("pod %s is still on %s", pods[i].Name, victim), nil
			}
		}
		return s.Client.Running(inflateNamespace, inflateSelector, s.report.Steps[len(s.report.Steps)-1].Pods)(ctx)
	})
	if err != nil {
		return err
	}
	s.report.Replaced = time.Since(start)
	s.Timeline.Add("replaced", "all pods run again after %.1f s", s.report.Replaced.Seconds())
	return Until(ctx, patience, "the warned node to go", func(ctx context.Context) (bool, string, error) {
		_, err := s.node(ctx, victim)
		return err != nil, "it is still there", nil
	})
}

func busiest(pods []corev1.Pod) (node string, load int) {
	counts := map[string]int{}
	for i := range pods {
		name := pods[i].Spec.NodeName
		counts[name]++
		if counts[name] > load || counts[name] == load && name < node {
			node, load = name, counts[name]
		}
	}
	return node, load
}

func (s *steps) node(ctx context.Context, name string) (*corev1.Node, error) {
	nodes, err := s.Client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		if nodes[i].Name == name {
			return &nodes[i], nil
		}
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

// scaleDown removes the workload and waits until no instance is left.
func (s *steps) scaleDown(ctx context.Context) error {
	start := time.Now()
	s.Timeline.Add("scaled down", "inflate to 0")
	if err := s.Client.Scale(ctx, inflateNamespace, inflateName, 0); err != nil {
		return err
	}
	err := Until(ctx, patience, "no node, no claim, no instance", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.Client.Nodes(ctx)
		if err != nil {
			return false, "", err
		}
		claims, err := s.Client.NodeClaims(ctx)
		if err != nil {
			return false, "", err
		}
		alive := s.World.InstancesAlive()
		return len(nodes)+len(claims)+alive == 0,
			fmt.Sprintf("%d nodes, %d claims, %d instances", len(nodes), len(claims), alive), nil
	})
	if err != nil {
		return err
	}
	s.report.Emptied = time.Since(start)
	s.Timeline.Add("empty", "no node and no instance after %.1f s", s.report.Emptied.Seconds())
	return nil
}
