package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/testdata/lab/lambda"
	"github.com/whittle-dev/whittle/testdata/lab/scale"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

const (
	largeNodes = 5000
	// podsPerNode fill a node.
	podsPerNode = 20
	// busyPods is how many pods wait for nodes in provision's first busy pass, and morePods how many
	// in a warm one.
	busyPods, morePods = 200, 100
	// busyBoot is longer than the passes beside which the busy pods' machines boot.
	busyBoot = 30 * time.Second
	// looseEvery is the distance of the nodes that have few pods in disrupt's busy pass.
	looseEvery = 10
	// interrupted is the number of instances that one batch of events is about.
	interrupted = 10
	// never is longer than any benchmark.
	never = 1000 * time.Hour
	// growPatience limits the time in which the cluster gets ready.
	growPatience = 20 * time.Minute
)

// scaleBench is a large cluster and what was measured in it.
type scaleBench struct {
	world     *world.World
	setup     scenario.Setup
	pods      *scale.APIServer
	nodes     []string
	instances []string
	rows      []string
}

// options lets a fake API server list the pods.
func (b *scaleBench) options(o *world.Options) {
	o.NodeSilence = never
	o.Front = func(address string, authority []byte) (string, []byte, error) {
		var err error
		if b.pods, err = scale.Start(address, authority); err != nil {
			return "", nil, err
		}
		return b.pods.Address(), b.pods.Authority(), nil
	}
}

// run measures each function in a large cluster, by passes that it invokes one by one.
func (b *scaleBench) run(ctx context.Context, t *trial) (result, error) {
	b.world, b.setup = t.world, t.setup
	if err := b.grow(ctx, t); err != nil {
		return nil, err
	}
	if err := b.measure(ctx); err != nil {
		return nil, err
	}
	return append(table{
		"The billed time has Lambda's share of processors: one at 1,769 MB. Spare is of the memory.", "",
		"function\tpass\tmemory\tpeak\tspare\tprocessor\there\tbilled\tresult",
	}, b.rows...), nil
}

func (b *scaleBench) close() error {
	if b.pods == nil {
		return nil
	}
	return b.pods.Close()
}

// grow makes the cluster.
func (b *scaleBench) grow(ctx context.Context, t *trial) error {
	count := t.number
	if err := b.applySeeds(ctx, t); err != nil {
		return err
	}
	fleet, err := scale.NewFleet(b.world.EC2, b.setup.Cluster, b.world.RESTConfig())
	if err != nil {
		return err
	}
	began := time.Now()
	b.world.Machines.SetBootDelay(never)
	if b.nodes, b.instances, err = fleet.Grow(ctx, count); err != nil {
		return err
	}
	if err := b.pods.SetPods(b.nodes, func(int) int { return podsPerNode }); err != nil {
		return err
	}
	if err := scenario.Until(ctx, growPatience, "the nodes to be ready", b.untainted); err != nil {
		return err
	}
	fmt.Printf("%d nodes and %d pods are there after %.0f s. A fake API server lists the pods; the rest is real.\n",
		count, count*podsPerNode, time.Since(began).Seconds())
	return nil
}

// applySeeds lets Whittle launch the nodes that the others are copied from, and then stops its
// ticks.
func (b *scaleBench) applySeeds(ctx context.Context, t *trial) error {
	if err := applyManifest(ctx, t, "scale.yaml"); err != nil {
		return err
	}
	if err := scenario.Until(ctx, growPatience, "the first nodes",
		b.setup.Client.Running("default", "app=seed", 3)); err != nil {
		return err
	}
	if err := scenario.Until(ctx, growPatience, "the first nodes to be initialized", b.initialized); err != nil {
		return err
	}
	return b.world.Lambda.StopPolling()
}

// initialized reports whether all claims are, and lifecycle has seen the tags of their instances. The
// copies of a claim without tags would all be tagged in the measured passes.
func (b *scaleBench) initialized(ctx context.Context) (bool, string, error) {
	claims, err := b.setup.Client.NodeClaims(ctx)
	done := 0
	for i := range claims {
		for _, condition := range claims[i].Status.Conditions {
			if condition.Type == api.ConditionTypeInitialized && condition.Status == metav1.ConditionTrue &&
				claims[i].Annotations[api.AnnotationInstanceTagged] == "true" {
				done++
			}
		}
	}
	return len(claims) > 0 && done == len(claims), fmt.Sprintf("%d of %d", done, len(claims)), err
}

// untainted reports whether the node controller has removed the taint of new nodes.
func (b *scaleBench) untainted(ctx context.Context) (bool, string, error) {
	nodes, err := b.setup.Cluster.Nodes(ctx)
	tainted := 0
	for i := range nodes {
		for _, taint := range nodes[i].Spec.Taints {
			if taint.Key == corev1.TaintNodeNotReady {
				tainted++
				break
			}
		}
	}
	return err == nil && tainted == 0, fmt.Sprintf("%d of %d have the taint", tainted, len(nodes)), err
}

// measure invokes the functions.
func (b *scaleBench) measure(ctx context.Context) error {
	for _, name := range []string{"provision", "lifecycle", "disrupt"} {
		for _, pass := range []string{"idle tick, first", "idle tick, second"} {
			if err := b.wake(ctx, name, pass, queue.ReasonTick); err != nil {
				return err
			}
		}
	}
	if err := b.measureProvision(ctx); err != nil {
		return err
	}
	if err := b.measureInterruption(ctx); err != nil {
		return err
	}
	if err := b.pods.SetPods(b.nodes, func(at int) int {
		if at%looseEvery == 0 {
			return 1
		}
		return podsPerNode
	}); err != nil {
		return err
	}
	if err := b.wake(ctx, "disrupt", "busy: a tenth of the nodes is nearly empty", queue.ReasonTick); err != nil {
		return err
	}
	for name, event := range map[string]string{"ticker": "{}", "catalog": "{}", "console": "{}"} {
		if err := b.invoke(ctx, name, "any", []byte(event)); err != nil {
			return err
		}
	}
	return nil
}

// measureProvision lets pods wait that fit on no node, and measures their launch.
func (b *scaleBench) measureProvision(ctx context.Context) error {
	b.world.Machines.SetBootDelay(busyBoot)
	if err := b.setup.Client.Scale(ctx, "default", "busy", busyPods); err != nil {
		return err
	}
	if err := scenario.Until(ctx, growPatience, "the scheduler to refuse the pods", b.refused(busyPods)); err != nil {
		return err
	}
	if err := b.wake(ctx, "provision", fmt.Sprintf("busy: %d pods wait", busyPods), queue.ReasonTick); err != nil {
		return err
	}
	if err := b.setup.Client.Scale(ctx, "default", "busy", busyPods+morePods); err != nil {
		return err
	}
	all := b.refused(busyPods + morePods) // the first pods' nodes boot
	if err := scenario.Until(ctx, growPatience, "the scheduler to refuse more pods", all); err != nil {
		return err
	}
	if err := b.wake(ctx, "provision", fmt.Sprintf("warm: %d more wait", morePods), queue.ReasonTick); err != nil {
		return err
	}
	if err := b.wake(ctx, "lifecycle", "busy: their nodes boot", queue.ReasonTick); err != nil {
		return err
	}
	if err := pause(ctx, 2*busyBoot); err != nil {
		return err
	}
	return b.wake(ctx, "lifecycle", "busy: their nodes join", queue.ReasonLaunch)
}

// refused returns a condition: kube-scheduler has found no node for so many of the busy pods.
func (b *scaleBench) refused(wanted int) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		pods, err := b.setup.Client.Pods(ctx, "default", "app=busy")
		refused := 0
		for i := range pods {
			for _, condition := range pods[i].Status.Conditions {
				if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
					refused++
				}
			}
		}
		return refused >= wanted, fmt.Sprintf("%d of %d", refused, wanted), err
	}
}

// measureInterruption sends warnings about some of the nodes, and measures the drains.
func (b *scaleBench) measureInterruption(ctx context.Context) error {
	var bodies []string
	for _, id := range b.instances[:interrupted] {
		bodies = append(bodies, fmt.Sprintf(`{"version":"0","id":%q,"detail-type":"EC2 Spot Instance Interruption Warning",`+
			`"source":"aws.ec2","account":"%s","time":%q,"region":"%s","resources":[],`+
			`"detail":{"instance-id":%q,"instance-action":"terminate"}}`,
			id, world.AccountID, time.Now().UTC().Format(time.RFC3339), world.Region, id))
	}
	if err := b.send(ctx, "interrupt", fmt.Sprintf("%d warnings", interrupted), bodies...); err != nil {
		return err
	}
	if err := b.wake(ctx, "provision", "busy: the warnings' nodes leave", queue.ReasonInterruption); err != nil {
		return err
	}
	return b.wake(ctx, "lifecycle", fmt.Sprintf("busy: %d nodes drain", interrupted), queue.ReasonTick)
}

// wake invokes a function with a message.
func (b *scaleBench) wake(ctx context.Context, name, pass string, reason queue.Reason) error {
	message, err := json.Marshal(queue.Message{Cluster: b.setup.Name, At: time.Now(), Reason: reason})
	if err != nil {
		return err
	}
	return b.send(ctx, name, pass, string(message))
}

// send invokes a function with a batch of a queue.
func (b *scaleBench) send(ctx context.Context, name, pass string, bodies ...string) error {
	var batch events.SQSEvent
	for i, body := range bodies {
		batch.Records = append(batch.Records, events.SQSMessage{MessageId: fmt.Sprint(i), Body: body, EventSource: "aws:sqs"})
	}
	payload, err := json.Marshal(batch)
	if err != nil {
		return err
	}
	return b.invoke(ctx, name, pass, payload)
}

// invoke runs a function once and notes what it used.
func (b *scaleBench) invoke(ctx context.Context, name, pass string, payload []byte) error {
	function := "whittle-" + b.setup.Name + "-" + name
	answer, _, err := b.world.Lambda.Invoke(ctx, function, payload)
	if err != nil {
		return err
	}
	var last lambda.Invocation
	for _, invocation := range b.world.Invocations() {
		if invocation.Function == function {
			last = invocation
		}
	}
	result := "ok"
	switch {
	case last.ErrorType != "":
		result = last.ErrorMessage
	case strings.Contains(string(answer), `"itemIdentifier"`):
		result = "the message comes again"
	}
	row := fmt.Sprintf("%s\t%s\t%d MB\t%d MB\t%.0f %%\t%.2f s\t%.2f s\t%.2f s\t%s", name, pass, last.MemoryMB,
		last.PeakMemoryMB, 100-100*float64(last.PeakMemoryMB)/float64(last.MemoryMB), last.Processor.Seconds(),
		last.Elapsed.Seconds(), last.Billed.Seconds(), result)
	fmt.Println(strings.ReplaceAll(row, "\t", "  "))
	b.rows = append(b.rows, row)
	return nil
}
