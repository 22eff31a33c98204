package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/karpenter"
	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// takeOver is how long nobody may touch anything after a change: some ticks of every function, and
// one run of each of Karpenter's controllers.
const takeOver = 75 * time.Second

// leading limits the time until Karpenter holds its Lease.
const leading = 90 * time.Second

// compare has Karpenter and Whittle serve the same workload in one cluster, one after the other. In
// between, the cluster moves from Karpenter to Whittle and back.
func compare(ctx context.Context) (failure error) {
	began := time.Now()
	folder, err := emptyDirectory("compare")
	if err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	w, err := world.Start(ctx, world.Options{
		Root: root, Directory: folder, Cluster: clusterName, Interval: defaultInterval, Boot: boot, Bare: true, Audit: true,
		Karpenter: os.Getenv("COMPARE_KARPENTER"), Progress: os.Stdout,
	})
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	if err := w.InstallKarpenter(ctx); err != nil {
		return fmt.Errorf("installing Karpenter: %w", err)
	}
	setup, err := w.Scenario(os.Stdout)
	if err != nil {
		return err
	}
	role, arn := w.KarpenterNodeRole()
	comparison := &scenario.Comparison{Setup: setup, World: w, NodeRole: role, Watch: takeOver}
	first, second := karpenterItself(w, setup), whittle(w, setup, arn)
	defer func() { failure = errors.Join(failure, first.Stop(context.WithoutCancel(ctx))) }()
	whole := os.Getenv("COMPARE_SHORT") == ""
	measures, err := thereAndBack(ctx, comparison, first, second, whole)
	if err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	// A watch may run while its stack is removed. It ends with the first call that is refused.
	refused := slices.DeleteFunc(w.Refusals(), func(call string) bool { return strings.Contains(call, "-demo-watch:") })
	if len(refused) > 0 {
		return fmt.Errorf("calls were refused:\n%s", strings.Join(refused, "\n"))
	}
	fmt.Println()
	if !whole {
		fmt.Printf("The cluster moved there and back, in %.0f s.\n", time.Since(began).Seconds())
		return nil
	}
	if err := scenario.WriteComparison(os.Stdout, [2]string{first.Name, second.Name}, measures); err != nil {
		return err
	}
	fmt.Printf(
		"\nKarpenter gathers pods until none has come for a second; Whittle looks each %s. Machines boot in %s.\nThe "+
			"whole comparison took %.0f s.\n", defaultInterval, boot, time.Since(began).Seconds())
	return nil
}

// thereAndBack has the first autoscaler serve the workload. The second takes over, then the first
// again, then the second, which serves the workload again. Unless the comparison is whole, the first
// serves only one wave, and the end is the first's return.
func thereAndBack(ctx context.Context, c *scenario.Comparison, first, second scenario.Autoscaler,
	whole bool) (measures [2][]scenario.Measure, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.Begin(ctx); err != nil {
		return measures, err
	}
	if err := c.Let(ctx, first); err != nil {
		return measures, err
	}
	if measures[0], err = c.Waves(ctx, first, whole); err != nil {
		return measures, err
	}
	alone := 0
	for _, change := range [][2]scenario.Autoscaler{{first, second}, {second, first}} {
		if err := c.TakeOver(ctx, change[0], change[1]); err != nil {
			return measures, err
		}
		alone += 2
		wave := scenario.Wave{
			Name: "2 pods with a node for themselves, by " + change[1].Name, Replicas: map[string]int{"alone": alone},
		}
		served, err := c.Serve(ctx, change[1], wave)
		if err != nil {
			return measures, err
		}
		if served.ToCreateFleet == 0 {
			return measures, fmt.Errorf("%s launched nothing for pods that want a node for themselves", change[1].Name)
		}
	}
	if !whole {
		return measures, nil
	}
	if err := c.Empty(ctx); err != nil {
		return measures, err
	}
	if err := first.Stop(ctx); err != nil {
		return measures, err
	}
	if err := c.Let(ctx, second); err != nil {
		return measures, err
	}
	if measures[1], err = c.Waves(ctx, second, whole); err != nil {
		return measures, err
	}
	return measures, c.Empty(ctx)
}

// karpenterItself runs Karpenter's controller.
func karpenterItself(w *world.World, setup scenario.Setup) scenario.Autoscaler {
	var running *karpenter.Controller
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
		Calls:    func() map[string]int { return w.CallsOf(world.KarpenterRole) },
		Requests: func() (int, error) { return requests(w, "system:serviceaccounts:"+karpenter.Namespace) },
	}
}

// whittle deploys the stack with the existing node role.
func whittle(w *world.World, setup scenario.Setup, nodeRole string) scenario.Autoscaler {
	return scenario.Autoscaler{
		Name: "Whittle",
		Start: func(ctx context.Context) error {
			if err := w.Deploy(ctx, "nodeRole="+nodeRole); err != nil {
				return err
			}
			return scenario.WaitForCatalog(ctx, setup.Cluster)
		},
		Stop:     w.Destroy,
		Calls:    func() map[string]int { return w.CallsOf(world.WhittleRole) },
		Requests: func() (int, error) { return requests(w, "whittle:") },
	}
}

// requests counts the API server's requests from users of a group, without watches.
func requests(w *world.World, group string) (int, error) {
	all, err := w.Requests()
	count := 0
	for _, request := range all {
		if request.Verb != "watch" && containsPrefix(request.Groups, group) {
			count++
		}
	}
	return count, err
}

func containsPrefix(groups []string, prefix string) bool {
	for _, group := range groups {
		if strings.HasPrefix(group, prefix) {
			return true
		}
	}
	return false
}
