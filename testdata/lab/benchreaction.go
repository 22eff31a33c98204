package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

const (
	manyBursts = 100
	// largestBurst is the most pods of one burst. Each pod needs a node.
	largestBurst = 4
	// reactionPatience limits one burst. The slowest waits for a tick.
	reactionPatience = time.Minute
)

// reactionOptions sets the setting reaction as the variable says.
func reactionOptions(o *world.Options) {
	if setting := os.Getenv("REACTION"); setting != "" {
		o.Settings = append(o.Settings, "reaction="+setting)
	}
}

// benchReaction measures how long pods wait for their CreateFleet call, burst by burst, and how long
// nodes wait for their registration. Each pod needs a node of its own.
func benchReaction(ctx context.Context, t *trial) (result, error) {
	if err := applyThousand(ctx, t); err != nil {
		return nil, err
	}
	b := &reactionBench{
		world: t.world, setup: t.setup, random: rand.New(rand.NewPCG(1, 1)), joined: map[string]*joining{},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := b.watchNodes(ctx); err != nil {
		return nil, err
	}
	for range t.number {
		if err := b.burst(ctx); err != nil {
			return nil, err
		}
	}
	return b.table(), nil
}

// reactionBench is the world and what was measured in it.
type reactionBench struct {
	world  *world.World
	setup  scenario.Setup
	random *rand.Rand
	pods   int
	bursts []burst
	mutex  sync.Mutex
	joined map[string]*joining // by the node's name
}

// burst has the times of one burst. All begin with the scaling of the Deployment.
type burst struct {
	pending, woken, planned, called time.Duration
	init, planning                  time.Duration
	cold                            bool
}

// joining has the times at which a node was seen first, and without the unregistered taint.
type joining struct{ seen, registered time.Time }

// watchNodes notes when nodes join and register.
func (b *reactionBench) watchNodes(ctx context.Context) error {
	nodes, err := b.setup.Client.Core.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	go func() {
		for event := range nodes.ResultChan() {
			if node, ok := event.Object.(*corev1.Node); ok && event.Type != watch.Deleted {
				b.note(node, time.Now())
			}
		}
	}()
	return nil
}

func (b *reactionBench) note(node *corev1.Node, now time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	seen := b.joined[node.Name]
	if seen == nil {
		seen = &joining{seen: now}
		b.joined[node.Name] = seen
	}
	unregistered := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == api.UnregisteredTaintKey
	})
	if !unregistered && seen.registered.IsZero() {
		seen.registered = now
	}
}

// burst adds some pods and waits until they run, so that the next burst finds no room.
func (b *reactionBench) burst(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	pods, err := b.setup.Client.Core.CoreV1().Pods("default").Watch(watching, metav1.ListOptions{})
	if err != nil {
		return err
	}
	b.pods += 1 + b.random.IntN(largestBurst)
	calls, began := len(b.world.FleetCalls()), time.Now()
	if err := b.setup.Client.Scale(ctx, "default", "thousand", b.pods); err != nil {
		return err
	}
	pending, err := firstPending(ctx, pods)
	if err != nil {
		return err
	}
	if err := scenario.Until(ctx, reactionPatience, "the CreateFleet call", func(context.Context) (bool, string, error) {
		return len(b.world.FleetCalls()) > calls, "", nil
	}); err != nil {
		return err
	}
	called := b.world.FleetCalls()[calls]
	if err := scenario.Until(ctx, 2*reactionPatience, fmt.Sprintf("%d running pods", b.pods),
		b.setup.Client.Running("default", "app=thousand", b.pods)); err != nil {
		return err
	}
	one := burst{pending: pending.Sub(began), called: called.Sub(began)}
	b.explain(&one, began, called)
	b.bursts = append(b.bursts, one)
	return nil
}

// firstPending waits for the scheduler's word about the first pod that has no node.
func firstPending(ctx context.Context, pods watch.Interface) (time.Time, error) {
	defer pods.Stop()
	ctx, cancel := context.WithTimeout(ctx, reactionPatience)
	defer cancel()
	for {
		select {
		case event := <-pods.ResultChan():
			pod, ok := event.Object.(*corev1.Pod)
			if ok && pod.Spec.NodeName == "" && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
			}) {
				return time.Now(), nil
			}
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("no pod waits: %w", ctx.Err())
		}
	}
}

// explain splits the time before the call by provision's invocation and its log.
func (b *reactionBench) explain(one *burst, began, called time.Time) {
	for _, line := range b.world.FunctionLog("provision") {
		var plan struct {
			Time     time.Time `json:"time"`
			Message  string    `json:"msg"`
			Duration string    `json:"duration"`
		}
		if json.Unmarshal([]byte(line), &plan) == nil && plan.Message == "computed new nodeclaim(s) to fit pod(s)" &&
			plan.Time.After(began) && plan.Time.Before(called) {
			one.planned = plan.Time.Sub(began)
			one.planning, _ = time.ParseDuration(plan.Duration)
		}
	}
	var last *lambda.Invocation
	invocations := b.world.Invocations()
	for i := range invocations {
		of := &invocations[i]
		if of.LogGroup == "/aws/lambda/whittle-"+clusterName+"-provision" && of.Started.Before(called) &&
			of.Started.Add(of.Elapsed).After(called) {
			last = of
		}
	}
	if last != nil {
		one.woken, one.cold, one.init = last.Started.Sub(began), last.Cold, last.Init
	}
}

// table has the distribution of the times and of their parts.
func (b *reactionBench) table() table {
	var warm, cold, queue, read, planning, write []time.Duration
	for _, one := range b.bursts {
		total := one.called - one.pending
		if one.cold {
			cold = append(cold, total)
			continue
		}
		warm = append(warm, total)
		queue = append(queue, one.woken-one.pending)
		read = append(read, one.planned-one.planning-one.woken)
		planning = append(planning, one.planning)
		write = append(write, one.called-one.planned)
	}
	var register []time.Duration
	b.mutex.Lock()
	for _, node := range b.joined {
		if !node.registered.IsZero() {
			register = append(register, node.registered.Sub(node.seen))
		}
	}
	b.mutex.Unlock()
	rows := table{"time\tnumber\tp50\tp99"}
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{
		{"pending to CreateFleet, warm", warm}, {"  watch and queue", queue}, {"  read", read}, {"  plan", planning},
		{"  claims and EC2", write}, {"pending to CreateFleet, cold start", cold},
		{"Node to the end of its unregistered taint", register},
	} {
		if len(row.times) > 0 {
			rows = append(rows, fmt.Sprintf("%s\t%d\t%.2f s\t%.2f s", row.name, len(row.times),
				scenario.Percentile(row.times, 50).Seconds(), scenario.Percentile(row.times, 99).Seconds()))
		}
	}
	return rows
}
