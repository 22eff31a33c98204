package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/karpenter"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/supervisor"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// takeOver is how long nobody may touch anything after a change: some ticks of every function, and
// one run of each of Karpenter's controllers.
const takeOver = 75 * time.Second

// leading limits the time until Karpenter holds its Lease.
const leading = 90 * time.Second

// compare has Karpenter and Whittle serve the same workload in one cluster, one after the other. In
// between, the cluster moves from Karpenter to Whittle and back. Unless it is whole, it only moves.
func compare(ctx context.Context, t *trial, whole bool) (_ result, failure error) {
	w := t.world
	first, second, role, err := competitors(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() { failure = errors.Join(failure, first.Stop(context.WithoutCancel(ctx))) }()
	_, arn := w.KarpenterNodeRole()
	polls := whittle(w, t.setup, arn, "poll")
	comparison := &scenario.Comparison{Setup: t.setup, World: w, NodeRole: role, Watch: takeOver}
	measures, err := thereAndBack(ctx, comparison, first, second, polls, whole, t.number)
	if err != nil {
		return nil, err
	}
	// A watch may run while its stack is removed. It ends with the first call that is refused.
	refused := slices.DeleteFunc(w.Refusals(), func(call string) bool { return strings.Contains(call, "-demo-watch:") })
	if len(refused) > 0 {
		return nil, fmt.Errorf("calls were refused:\n%s", strings.Join(refused, "\n"))
	}
	if !whole {
		return table{"The cluster moved there and back."}, nil
	}
	return comparisonTable{[]string{first.Name, second.Name, polls.Name}, measures, t.number}, nil
}

// competitors installs Karpenter, and returns the two autoscalers and the name of the nodes' role.
func competitors(ctx context.Context, t *trial) (first, second scenario.Autoscaler, role string, err error) {
	if err := t.world.InstallKarpenter(ctx); err != nil {
		return first, second, "", fmt.Errorf("installing Karpenter: %w", err)
	}
	role, arn := t.world.KarpenterNodeRole()
	return karpenterItself(t.world, t.setup), whittle(t.world, t.setup, arn, "adaptive"), role, nil
}

// alone has Whittle serve the workload without a comparison.
func alone(ctx context.Context, t *trial) (result, error) {
	_, who, role, err := competitors(ctx, t)
	if err != nil {
		return nil, err
	}
	comparison := &scenario.Comparison{Setup: t.setup, World: t.world, NodeRole: role, Watch: takeOver}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := comparison.Begin(ctx); err != nil {
		return nil, err
	}
	if err := comparison.Let(ctx, who); err != nil {
		return nil, err
	}
	measured, err := comparison.Runs(ctx, who, t.number)
	return comparisonTable{[]string{who.Name}, [][]scenario.Measure{measured}, t.number}, err
}

// comparisonTable has what each autoscaler took.
type comparisonTable struct {
	names    []string
	measures [][]scenario.Measure
	runs     int
}

// Write prints the medians.
func (c comparisonTable) Write(out io.Writer) error {
	_, err := fmt.Fprintf(out,
		"Medians of %d runs. Karpenter gathers pods until none has come for a second. Whittle's ticks are %s apart. "+
			"Machines boot in %s.\n", c.runs, defaultInterval, boot)
	return errors.Join(err, scenario.WriteComparison(out, c.names, c.measures))
}

// thereAndBack has the first autoscaler serve the workload. The second takes over, then the first
// again, then the second, which serves the workload again, and at last the same with polling. Unless
// the comparison is whole, the first serves only one wave, and the end is the first's return.
func thereAndBack(ctx context.Context, c *scenario.Comparison, first, second, polls scenario.Autoscaler,
	whole bool, runs int) (measures [][]scenario.Measure, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.Begin(ctx); err != nil {
		return measures, err
	}
	if err := c.Let(ctx, first); err != nil {
		return measures, err
	}
	if whole {
		measured, err := c.Runs(ctx, first, runs)
		if err != nil {
			return nil, err
		}
		measures = append(measures, measured)
	} else if err := c.FirstWave(ctx, first); err != nil {
		return nil, err
	}
	if err := handOver(ctx, c, first, second); err != nil || !whole {
		return nil, err
	}
	if err := c.Empty(ctx); err != nil {
		return nil, err
	}
	if err := first.Stop(ctx); err != nil {
		return nil, err
	}
	for _, who := range []scenario.Autoscaler{second, polls} {
		if err := c.Let(ctx, who); err != nil {
			return nil, err
		}
		measured, err := c.Runs(ctx, who, runs)
		if err != nil {
			return nil, err
		}
		measures = append(measures, measured)
		if err := c.Empty(ctx); err != nil {
			return nil, err
		}
		// A watch of the first stack would go on under the second.
		if err := who.Stop(ctx); err != nil {
			return nil, err
		}
	}
	return measures, nil
}

// handOver moves the cluster from the first autoscaler to the second, and back.
func handOver(ctx context.Context, c *scenario.Comparison, first, second scenario.Autoscaler) error {
	alone := 0
	for _, change := range [][2]scenario.Autoscaler{{first, second}, {second, first}} {
		if err := c.TakeOver(ctx, change[0], change[1]); err != nil {
			return err
		}
		alone += 2
		wave := scenario.Wave{
			Name: "2 pods with a node for themselves, by " + change[1].Name, Replicas: map[string]int{"alone": alone},
		}
		served, err := c.Serve(ctx, change[1], wave)
		if err != nil {
			return err
		}
		if served.ToCreateFleet == 0 {
			return fmt.Errorf("%s launched nothing for pods that want a node for themselves", change[1].Name)
		}
	}
	return nil
}

// karpenterItself runs Karpenter's controller.
func karpenterItself(w *world.World, setup scenario.Setup) scenario.Autoscaler {
	var running *supervisor.Process
	return scenario.Autoscaler{
		Name: "Karpenter",
		Start: func(ctx context.Context) (err error) {
			if running, err = w.StartKarpenter(ctx); err != nil {
				return err
			}
			return scenario.Until(ctx, leading, "Karpenter to lead", func(ctx context.Context) (bool, string, error) {
				// This Karpenter is a process beside the cluster and no pod, so that its Lease counts for nothing else.
				found, err := setup.Cluster.KarpenterLeadership(ctx, cluster.KarpenterAccounts(), time.Now())
				restarts, ended := running.Restarts()
				leads := found.Leader != nil || len(found.Ignored) > 0
				return leads, fmt.Sprintf("nobody holds its Lease; it was started anew %d times: %v", restarts, ended), err
			})
		},
		Stop: func(context.Context) error {
			if running == nil {
				return nil
			}
			running.Stop()
			if restarts, ended := running.Restarts(); restarts > 0 {
				fmt.Printf("Karpenter was started anew %d times, after %v: see karpenter.log\n", restarts, ended)
			}
			running = nil
			return nil
		},
		Calls: func() map[string]int { return w.CallsOf(world.KarpenterRole) },
		Requests: func() (map[string]int, error) {
			return requests(w, "system:serviceaccounts:"+karpenter.Namespace)
		},
	}
}

// whittle deploys the stack with the existing node role, or changes the setting of one that is there.
func whittle(w *world.World, setup scenario.Setup, nodeRole, reaction string) scenario.Autoscaler {
	return scenario.Autoscaler{
		Name: "Whittle, " + reaction,
		Start: func(ctx context.Context) error {
			if err := w.Deploy(ctx, "nodeRole="+nodeRole, "reaction="+reaction); err != nil {
				return err
			}
			return scenario.WaitForCatalog(ctx, setup.Cluster)
		},
		Stop:     w.Remove,
		Calls:    func() map[string]int { return w.CallsOf(world.WhittleRole) },
		Requests: func() (map[string]int, error) { return requests(w, "whittle:") },
	}
}

// requests counts the API server's requests from users of a group, by verb and resource.
func requests(w *world.World, group string) (map[string]int, error) {
	all, err := w.Requests()
	counts := map[string]int{}
	for _, request := range all {
		if containsPrefix(request.Groups, group) {
			counts[request.Verb+" "+request.Resource]++
		}
	}
	return counts, err
}

func containsPrefix(groups []string, prefix string) bool {
	for _, group := range groups {
		if strings.HasPrefix(group, prefix) {
			return true
		}
	}
	return false
}
