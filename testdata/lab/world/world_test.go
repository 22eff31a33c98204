package world_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/unkind"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

const patience = 3 * time.Minute

// movedStage is the world of movedWorld among the three.
const movedStage = 2

// stage is a world with its client, and the variables of manifests.
type stage struct {
	*world.World
	setup     scenario.Setup
	variables map[string]string
}

// TestWorld tests the whole product: the control plane, the deployed stack and the functions, from
// no node to running pods and back. Three worlds run at the same time, because each mostly waits for
// its machines. Each has about a third of the time.
func TestWorld(t *testing.T) {
	stages := startWorlds(t, 3)
	t.Run("side by side", func(t *testing.T) {
		for i, world := range []struct {
			name string
			test func(*testing.T, stage)
		}{{"deployed", deployedWorld}, {"special", specialWorld}, {"moved", movedWorld}} {
			t.Run(world.name, func(t *testing.T) {
				t.Parallel()
				world.test(t, stages[i])
			})
		}
	})
	for _, s := range stages[1:] {
		t.Run("nothing failed on the way", func(t *testing.T) { nothingFailed(t, s.World) })
	}
	t.Run("every right in AWS was used", func(t *testing.T) { everyRightWasUsed(t, stages) })
	t.Run("every right in the cluster was used", func(t *testing.T) { everyVerbWasUsed(t, stages) })
	t.Run("removing leaves people's objects", func(t *testing.T) { removed(t, stages[0].World, stages[0].setup) })
}

// deployedWorld is the first node of a cluster, and what people do to an installation.
func deployedWorld(t *testing.T, s stage) {
	t.Run("a cluster without a node gets one for CoreDNS", func(t *testing.T) {
		firstNode(t, s.World, s.setup, s.variables)
	})
	t.Run("broken user data is named and nothing is launched", func(t *testing.T) {
		brokenUserData(t, s.World, s.setup, s.variables)
	})
	t.Run("a node has room for what daemon sets really request", func(t *testing.T) { daemons(t, s.World, s.setup) })
	t.Run("nothing failed on the way", func(t *testing.T) { nothingFailed(t, s.World) })
	t.Run("the check before a deployment finds nothing in the way", func(t *testing.T) {
		checked(t, s.World, s.setup.Name)
	})
	t.Run("the commands of the pages run", func(t *testing.T) { commandsOfPages(t, s.World, s.setup) })
	t.Run("a night at the terminal", func(t *testing.T) { atTheTerminal(t, s.World, s.setup) })
	t.Run("the alarm rings for dead letters", func(t *testing.T) {
		alarmsRing(t, s.World)
		if err := s.Send("dead", "given up"); err != nil {
			t.Fatal(err)
		}
		alarmsRing(t, s.World)
	})
	t.Run("a message that fails comes back after seconds", func(t *testing.T) { comesBack(t, s.World) })
	t.Run("another SDK reads the local AWS", func(t *testing.T) { readByAnotherSDK(t, s.World, s.setup.Name) })
	t.Run("a second deploy changes nothing", func(t *testing.T) {
		if err := s.Deploy(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("updates are in place, and roll back", func(t *testing.T) { updates(t, s.World) })
}

// specialWorld is what some clusters need and what people do wrong, the main job, and what AWS
// takes away.
func specialWorld(t *testing.T, s stage) {
	user := listen(t, s.World)
	t.Run("each AMI family gives a node that runs pods", func(t *testing.T) {
		families(t, s.World, s.setup, s.variables, func() {
			t.Run("beside bad input, which is named and stops nothing else", func(t *testing.T) {
				badInput(t, s.World, s.setup)
			})
		})
	})
	t.Run("the dashboard's page shows it", func(t *testing.T) { checkPage(t, s.World, s.setup) })
	t.Run("the main job", func(t *testing.T) { mainJob(t, s.World, s.setup) })
	t.Run("what AWS takes is replaced, before it goes where there is time", func(t *testing.T) {
		departures(t, s.World, s.setup)
	})
	t.Run("the user's own rule heard of it", func(t *testing.T) { user.heard(t, s.setup.Name) })
	t.Run("the user's own event wakes provision", func(t *testing.T) { user.asks(t, s.World, s.setup.Name) })
}

// movedWorld is a cluster that comes from an early Karpenter, that leaves a zone for a while, and
// that has rare objects.
func movedWorld(t *testing.T, s stage) {
	t.Run("Provisioners bring nodes", func(t *testing.T) { provisioners(t, s.World, s.setup, s.variables) })
	t.Run("a zonal shift", func(t *testing.T) { zonalShift(t, s.World, s.setup) })
	t.Run("an alarm freezes disruption", func(t *testing.T) { alarmFreezes(t, s.World, s.setup) })
	t.Run("what is paid for is used first", func(t *testing.T) { commitments(t, s.World, s.setup) })
	t.Run("what is rare is served too", func(t *testing.T) { rare(t, s.setup, s.variables) })
}

// startWorlds starts worlds with different seeds at the same time, and applies the quickstart.
func startWorlds(t *testing.T, count int) []stage {
	t.Helper()
	worlds, failures := make([]*world.World, count), make([]error, count)
	var starting sync.WaitGroup
	for i := range count {
		directory := t.TempDir()
		settings := []string{"zonalShift=true", "eventBus=default"}
		if i == movedStage {
			settings = append(settings, "commitments=account", "freezeAlarms="+watchedAlarm, "freezeEvents=default")
		}
		starting.Go(func() { worlds[i], failures[i] = startWorld(t.Context(), directory, uint64(i+1), settings...) })
	}
	starting.Wait()
	t.Cleanup(func() {
		var closing sync.WaitGroup
		for i, w := range worlds {
			if failures[i] == nil {
				closing.Go(func() { failures[i] = w.Close() })
			}
		}
		closing.Wait()
		if err := errors.Join(failures...); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	stages := make([]stage, count)
	for i, w := range worlds {
		setup, err := w.Scenario(testWriter{t})
		if err != nil {
			t.Fatal(err)
		}
		stages[i] = stage{w, setup, applyPools(t, w, setup)}
	}
	return stages
}

func startWorld(ctx context.Context, directory string, seed uint64, settings ...string) (*world.World, error) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		return nil, err
	}
	return world.Start(ctx, world.Options{
		Root: root, Directory: directory, Cluster: "test", Interval: 5 * time.Second, Audit: true,
		Progress: os.Stderr, Unkind: &unkind.Mode{Seed: seed, Boot: 3 * time.Second}, Settings: settings,
		Alarms: []string{watchedAlarm},
	})
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(text []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(text), "\n"))
	return len(text), nil
}

func applyPools(t *testing.T, w *world.World, setup scenario.Setup) map[string]string {
	t.Helper()
	role, err := w.NodeRole()
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}
	if err := setup.Client.Apply(t.Context(), manifest(setup, "fast.yaml"), variables); err != nil {
		t.Fatal(err)
	}
	return variables
}

func manifest(setup scenario.Setup, name string) string {
	return filepath.Join(setup.Root, "testdata", "manifests", name)
}

// firstNode starts the pods that every cluster needs first, and ends without a node.
func firstNode(t *testing.T, w *world.World, setup scenario.Setup, variables map[string]string) {
	client := setup.Client
	if err := client.Apply(t.Context(), manifest(setup, "coredns.yaml"), variables); err != nil {
		t.Fatal(err)
	}
	wait(t, "CoreDNS to run", client.Running("kube-system", "k8s-app=kube-dns", 2))
	nodes, err := client.Nodes(t.Context())
	if err != nil || len(nodes) == 0 {
		t.Fatalf("%d nodes, %v", len(nodes), err)
	}
	wait(t, "the nodes to be initialized", initialized(setup))
	checkNodes(t, setup)
	tagged(t, w, setup)
	if err := client.Core.AppsV1().Deployments("kube-system").Delete(t.Context(), "coredns",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster to be empty", empty(setup))
}

// tagged waits until the instances are named after their nodes, which a tick does. It sends the
// next tick at once.
func tagged(t *testing.T, w *world.World, setup scenario.Setup) {
	t.Helper()
	tick, err := json.Marshal(queue.Message{Cluster: setup.Name, At: time.Now(), Reason: queue.ReasonTick})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Send("lifecycle", string(tick)); err != nil {
		t.Fatal(err)
	}
	wait(t, "the instances to be tagged", func(ctx context.Context) (bool, string, error) {
		claims, err := setup.Client.NodeClaims(ctx)
		for i := range claims {
			if claims[i].Annotations[api.AnnotationInstanceTagged] != "true" {
				return false, claims[i].Name + " is not", err
			}
		}
		return true, "", err
	})
}

// initialized reports whether claims exist and all are ready.
func initialized(setup scenario.Setup) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		claims, err := setup.Client.NodeClaims(ctx)
		if err != nil {
			return false, "", err
		}
		for i := range claims {
			if !api.ConditionTrue(claims[i].Status.Conditions, api.ConditionReady) {
				return false, fmt.Sprintf("%s: %+v", claims[i].Name, claims[i].Status.Conditions), nil
			}
		}
		return len(claims) > 0, "no claim", nil
	}
}

// checkNodes compares each node with its claim.
func checkNodes(t *testing.T, setup scenario.Setup) {
	t.Helper()
	nodes, err := setup.Client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	claims, err := setup.Client.NodeClaims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	planned := plannedTypes(t, setup)
	for _, node := range nodes {
		i := slices.IndexFunc(claims, func(claim api.NodeClaim) bool {
			return claim.Status.ProviderID == node.Spec.ProviderID
		})
		if i < 0 {
			t.Errorf("node %s has no claim", node.Name)
			continue
		}
		claim := claims[i]
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.DisruptedTaintKey }) {
			continue // a launch that EC2 showed too late has a successor, and is removed as empty
		}
		for _, key := range []string{
			api.NodePoolLabelKey, api.CapacityTypeLabelKey, corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone,
			corev1.LabelArchStable,
			api.LabelInstanceCPU, api.LabelInstanceCategory, api.LabelNodeClass, api.LabelTopologyZoneID,
		} {
			if node.Labels[key] == "" || node.Labels[key] != claim.Labels[key] {
				t.Errorf("node %s: label %s is %q, its claim has %q", node.Name, key, node.Labels[key], claim.Labels[key])
			}
		}
		if node.Labels[api.NodeRegisteredLabelKey] != "true" || node.Labels[api.NodeInitializedLabelKey] != "true" {
			t.Errorf("node %s is not registered and initialized: %v", node.Name, node.Labels)
		}
		for _, taint := range node.Spec.Taints {
			if !slices.Contains(claim.Spec.Taints, taint) {
				t.Errorf("node %s kept the taint %s", node.Name, taint.ToString())
			}
		}
		// The node must have what the planner counted on.
		typ := planned.of(t, claim)
		for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
			has, wanted := node.Status.Allocatable[resource], typ.Allocatable[resource]
			if has.Cmp(wanted) < 0 {
				t.Errorf("node %s: allocatable %s is %s, %s was planned with", node.Name, resource, has.String(), wanted.String())
			}
		}
	}
}

// badInput applies broken objects beside sound ones.
func badInput(t *testing.T, w *world.World, setup scenario.Setup) {
	client := setup.Client
	err := client.Apply(t.Context(), manifest(setup, "broken-operator.yaml"), nil)
	if err == nil || !strings.Contains(err.Error(), "operator") || !strings.Contains(err.Error(), "Near") {
		t.Errorf("a NodePool with an unknown operator: %v, want a refusal that names the field and the value", err)
	}
	if err := client.Apply(t.Context(), manifest(setup, "broken.yaml"), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Send("interrupt", "this is not JSON"); err != nil {
		t.Fatal(err)
	}
	wait(t, "the good pod to run", client.Running("default", "app=good", 1))
	for _, want := range []struct{ about, reason, words string }{
		{"lonely", api.ReasonNodeClassNotFound, "spec.template.spec.nodeClassRef"},
		{"giant", "FailedScheduling", "cpu"},
	} {
		wait(t, want.reason+" on "+want.about, func(ctx context.Context) (bool, string, error) {
			list, err := client.Core.CoreV1().Events("default").List(ctx,
				metav1.ListOptions{FieldSelector: "involvedObject.name=" + want.about + ",reason=" + want.reason})
			if err != nil {
				return false, "", err
			}
			var messages []string
			for _, event := range list.Items {
				messages = append(messages, event.Message)
				if event.Source.Component == "whittle" && strings.Contains(event.Message, want.words) {
					return true, "", nil
				}
			}
			return false, strings.Join(messages, "\n"), nil
		})
	}
	wait(t, "a log line about the event that is no JSON", func(context.Context) (bool, string, error) {
		log := strings.Join(w.FunctionLog("interrupt"), "\n")
		return strings.Contains(log, "JSON"), log, nil
	})
	for _, pod := range []string{"good", "giant"} {
		deletePod(t, setup, pod)
	}
}

// mainJob runs the scenario of `make run` and checks its result.
func mainJob(t *testing.T, w *world.World, setup scenario.Setup) {
	launched := len(w.FleetCalls())
	report, err := scenario.Inflate(t.Context(), setup)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Steps) != 2 || report.Steps[0].Pods != 5 || report.Steps[1].Pods != 15 {
		t.Fatalf("steps are %+v", report.Steps)
	}
	for _, step := range report.Steps {
		if step.Nodes == 0 || step.PricePerHour <= 0 || step.ToCreateFleet <= 0 || step.ToRunning < step.ToCreateFleet {
			t.Errorf("step %+v", step)
		}
	}
	plans := w.Plans()
	if len(plans) == 0 {
		t.Error("provision's log has no plan")
	}
	for _, plan := range plans {
		if plan.Bound <= 0 || plan.Price < plan.Bound {
			t.Errorf("plan %+v costs less than its lower bound", plan)
		}
	}
	if launches := len(w.FleetCalls()) - launched; launches < 3 || launches > 8 {
		t.Errorf("%d fleets were asked for, for three plans of a few nodes", launches)
	}
	said := map[string]bool{}
	for _, line := range setup.Timeline.Lines() {
		said[line.What] = true
	}
	for _, what := range []string{
		"pending", "planned", "launched", "registered", "initialized", "running", "interrupted", "drained", "replaced",
		"draining", "terminated", "empty",
	} {
		if !said[what] {
			t.Errorf("the timeline does not say %q", what)
		}
	}
	for _, instance := range w.EC2.Instances() {
		if instance.Tags["karpenter.sh/nodeclaim"] == "" && instance.Tags["whittle.dev/batch"] == "" ||
			instance.Tags["kubernetes.io/cluster/"+setup.Name] != "owned" {
			t.Errorf("instance %s has the tags %v", instance.ID, instance.Tags)
		}
	}
}

// rare applies objects that make the functions use more of their rights, and removes them.
func rare(t *testing.T, setup scenario.Setup, variables map[string]string) {
	client := setup.Client
	if err := client.Apply(t.Context(), manifest(setup, "rare.yaml"), variables); err != nil {
		t.Fatal(err)
	}
	wait(t, "the pod with a volume to run", client.Running("default", "app=rare", 1))
	nodes, err := client.Nodes(t.Context())
	if err != nil || len(nodes) == 0 || nodes[0].Labels[corev1.LabelTopologyZone] != "us-east-1b" {
		t.Errorf("nodes %v, %v, want one in the volume's zone", nodes, err)
	}
	now := int64(0)
	if err := client.Core.CoreV1().Pods("default").Delete(t.Context(), "rare",
		metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster to be empty", empty(setup))
	classes := client.Objects.Resource(api.EC2NodeClassGVR())
	wait(t, "the class to be held", func(ctx context.Context) (bool, string, error) {
		class, err := classes.Get(ctx, "rare", metav1.GetOptions{})
		return err == nil && len(class.GetFinalizers()) > 0, "it has no finalizer", err
	})
	if err := client.Objects.Resource(api.NodePoolGVR()).Delete(t.Context(), "rare", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rare", "unplaced"} {
		if err := classes.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rare", "unplaced"} {
		wait(t, "the class to be gone with what was made for it", func(ctx context.Context) (bool, string, error) {
			class, err := classes.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, "", nil
			}
			return false, fmt.Sprintf("%s has the finalizers %v", name, class.GetFinalizers()), err
		})
	}
}

// ofTheMode reports whether an unkind AWS caused the error: the network lost a call and its
// repetitions, a policy did not hold yet, EC2 refused calls for longer than they were repeated, or it
// does not show yet what became of a launch whose answer was lost, or the first run of catalog, which
// nobody waits for, was late.
func ofTheMode(message string) bool {
	signs := []string{"connection reset by peer", "RequestLimitExceeded", "EOF", identity.NotInForce, "may have got through",
		inventory.ErrNoCatalog.Error()}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(message, sign) })
}

// nothingFailed checks every call and invocation of the run.
func nothingFailed(t *testing.T, w *world.World) {
	for _, invocation := range w.Invocations() {
		if invocation.ErrorType != "" && !ofTheMode(invocation.ErrorMessage) {
			t.Errorf("function %s failed: %s: %s", invocation.Function, invocation.ErrorType, invocation.ErrorMessage)
		}
	}
	for _, refusal := range w.Refusals() {
		t.Errorf("not allowed: %s", refusal)
	}
	if count, err := w.Waiting("dead"); err != nil || count > 0 {
		t.Errorf("the dead-letter queue holds %d messages, %v", count, err)
	}
}

// comesBack sends a message that nobody can read, and waits for three tries. The queue's visibility
// timeout alone would take 40 s.
func comesBack(t *testing.T, w *world.World) {
	tries := func() (count int) {
		for _, invocation := range w.Invocations() {
			if strings.HasSuffix(invocation.Function, "-interrupt") {
				count++
			}
		}
		return count
	}
	before, start := tries(), time.Now()
	if err := w.Send("interrupt", "not an event"); err != nil {
		t.Fatal(err)
	}
	wait(t, "three tries", func(context.Context) (bool, string, error) {
		more := tries() - before
		return more >= 3, fmt.Sprintf("%d tries", more), nil
	})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("three tries took %s", took)
	}
}

// alarmsRing checks that the alarm for dead letters rings exactly while the dead-letter queue holds a
// message, and minutes after an unreadable one. The alarm for errors may ring, because the unkind AWS makes
// invocations fail.
func alarmsRing(t *testing.T, w *world.World) {
	ringing, err := w.Ringing()
	if err != nil {
		t.Fatal(err)
	}
	dead, err := w.Waiting("dead")
	if err != nil {
		t.Fatal(err)
	}
	rings := slices.ContainsFunc(ringing, func(name string) bool { return strings.HasSuffix(name, "-dead-letters") })
	unreadable := strings.Contains(strings.Join(w.FunctionLog("interrupt"), "\n"), `"UnreadableMessages":`)
	if (dead > 0 || unreadable) != rings {
		t.Errorf("%d dead letters, and the alarms %q ring", dead, ringing)
	}
}

func empty(setup scenario.Setup) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		nodes, first := setup.Client.Nodes(ctx)
		claims, second := setup.Client.NodeClaims(ctx)
		alive := setup.World.InstancesAlive()
		return len(nodes)+len(claims)+alive == 0,
			fmt.Sprintf("%d nodes, %d claims, %d instances", len(nodes), len(claims), alive), errors.Join(first, second)
	}
}

func wait(t *testing.T, what string, condition func(context.Context) (bool, string, error)) {
	t.Helper()
	start := time.Now()
	if err := scenario.Until(t.Context(), patience, what, condition); err != nil {
		t.Fatal(err)
	}
	t.Logf("waited %.1f s for %s", time.Since(start).Seconds(), what)
}
