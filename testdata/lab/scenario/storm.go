package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// StormWorld is the further part of the local world that a storm uses.
type StormWorld interface {
	World
	// Send puts a message into one of the cluster's queues.
	Send(queue, body string) error
	// Waiting counts the messages of one of the cluster's queues.
	Waiting(queue string) (int, error)
	// LaunchTimes returns the launch time of each instance, by ID.
	LaunchTimes() map[string]time.Time
}

// StormSize is the composition of a storm. Each node gets one warning. The rest of Events are
// malformed, foreign, and duplicates.
type StormSize struct {
	Nodes, Events, Foreign, Malformed int
	Within                            time.Duration
}

// FullStorm has a thousand warnings in a minute over five hundred nodes. A third are duplicates,
// and a tenth are about foreign instances.
func FullStorm() StormSize {
	return StormSize{Nodes: 500, Events: 1000, Foreign: 100, Malformed: 67, Within: time.Minute}
}

// Of scales the storm to a number of nodes, with the same events per node and the same density.
func (s StormSize) Of(nodes int) StormSize {
	scale := func(n int) int { return n * nodes / s.Nodes }
	return StormSize{
		Nodes: nodes, Events: scale(s.Events), Foreign: scale(s.Foreign), Malformed: scale(s.Malformed),
		Within: s.Within * time.Duration(nodes) / time.Duration(s.Nodes),
	}
}

const (
	stormSelector = "app=storm"
	// podsOnNode is the number of the workload's pods that fit on a node.
	podsOnNode = 2
	// stormPatience limits each part of a storm.
	stormPatience = 5 * time.Minute
	// stormSeed makes the order of the events the same in each run.
	stormSeed = 1
)

// Storm creates a cluster of nodes, warns all of them within a short time, and measures.
func Storm(ctx context.Context, setup Setup, world StormWorld, size StormSize) (*StormReport, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, err := waitForCatalog(ctx, setup.Cluster); err != nil {
		return nil, err
	}
	role, err := world.NodeRole()
	if err != nil {
		return nil, err
	}
	for _, file := range []string{"fast.yaml", "storm.yaml"} {
		if err := setup.Client.Apply(ctx, filepath.Join(setup.Root, "testdata", "manifests", file),
			map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}); err != nil {
			return nil, err
		}
	}
	pods := size.Nodes * podsOnNode
	if err := setup.Client.Scale(ctx, "default", "storm", pods); err != nil {
		return nil, err
	}
	if err := Until(ctx, stormPatience, fmt.Sprintf("%d running pods", pods),
		setup.Client.Running("default", stormSelector, pods)); err != nil {
		return nil, err
	}
	setup.Timeline.Add("running", "%d pods", pods)
	s := &storm{world: world, size: size, warned: map[string]time.Time{}}
	if err := s.look(ctx, setup.Client); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.sendEvents(ctx); err != nil {
		return nil, err
	}
	report := &StormReport{Size: size, Began: began, Sent: time.Since(began)}
	setup.Timeline.Add("warned", "%d events in %.1f s", size.Events, report.Sent.Seconds())
	if err := Until(ctx, stormPatience, "all nodes to be tainted and drained", s.over); err != nil {
		return nil, err
	}
	if err := Until(ctx, stormPatience, "all pods to run again",
		setup.Client.Running("default", stormSelector, pods)); err != nil {
		return nil, err
	}
	report.Running = time.Since(began)
	setup.Timeline.Add("replaced", "all pods run again after %.1f s", report.Running.Seconds())
	s.measure(report)
	for _, queue := range []string{"interrupt", "warnings"} {
		left, err := world.Waiting(queue)
		if err != nil {
			return nil, err
		}
		report.Left += left
	}
	return report, setup.KeepsLaws(ctx)
}

// storm is a storm in progress.
type storm struct {
	world     StormWorld
	size      StormSize
	instances []string             // of the nodes
	known     map[string]bool      // the same
	warned    map[string]time.Time // when a node's instance was warned first

	mutex sync.Mutex
	nodes map[string]*warned // by name
	pods  map[string]string  // a pod's node, by its UID
}

// warned is a warned node.
type warned struct {
	instance        string
	pods            map[string]bool // those that have not been evicted, by UID
	tainted, vacant time.Time
}

// look records which pods run where, and follows the cluster.
func (s *storm) look(ctx context.Context, client *Client) error {
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return err
	}
	pods, err := client.Pods(ctx, "default", stormSelector)
	if err != nil {
		return err
	}
	s.known = map[string]bool{}
	s.nodes, s.pods = map[string]*warned{}, map[string]string{}
	for i := range nodes {
		if id, ours := api.InstanceID(nodes[i].Spec.ProviderID); ours {
			s.nodes[nodes[i].Name] = &warned{instance: id, pods: map[string]bool{}}
			s.instances, s.known[id] = append(s.instances, id), true
		}
	}
	for i := range pods {
		if node := s.nodes[pods[i].Spec.NodeName]; node != nil {
			node.pods[string(pods[i].UID)] = true
			s.pods[string(pods[i].UID)] = pods[i].Spec.NodeName
		}
	}
	if len(s.instances) < s.size.Nodes {
		return fmt.Errorf("there are %d nodes, a storm over %d was asked for", len(s.instances), s.size.Nodes)
	}
	slices.Sort(s.instances)
	nodeChanges, err := client.Core.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	podChanges, err := client.Core.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{LabelSelector: stormSelector})
	if err != nil {
		nodeChanges.Stop()
		return err
	}
	go follow(nodeChanges, s.node)
	go follow(podChanges, s.pod)
	return nil
}

func (s *storm) node(_ watch.EventType, object runtime.Object) {
	node, ok := object.(*corev1.Node)
	if !ok || !disruption.IsTainted(node) {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if warned := s.nodes[node.Name]; warned != nil && warned.tainted.IsZero() {
		warned.tainted = time.Now()
	}
}

func (s *storm) pod(kind watch.EventType, object runtime.Object) {
	pod, ok := object.(*corev1.Pod)
	if !ok || kind != watch.Deleted && pod.DeletionTimestamp == nil {
		return
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	node := s.nodes[s.pods[string(pod.UID)]]
	if node == nil {
		return
	}
	delete(node.pods, string(pod.UID))
	if len(node.pods) == 0 && node.vacant.IsZero() {
		node.vacant = time.Now()
	}
}

// event is one event of the storm.
type event struct{ instance, body string }

// sendEvents sends the events, evenly over the time and in a random order.
func (s *storm) sendEvents(ctx context.Context) error {
	var sent []event
	for _, id := range s.instances[:s.size.Nodes] {
		sent = append(sent, event{instance: id})
	}
	for i := range s.size.Foreign {
		body, err := json.Marshal(events.Event{ID: fmt.Sprint("foreign-", i), Time: time.Now(), Account: "123456789012",
			Region: "us-east-1", Detail: &events.SpotInterruption{
				InstanceID: fmt.Sprintf("i-0foreign%08d", i), Action: events.ActionTerminate,
			}})
		if err != nil {
			return err
		}
		sent = append(sent, event{body: string(body)})
	}
	for i := range s.size.Malformed {
		sent = append(sent, event{
			body: fmt.Sprintf(
				`{"detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z",`+
					`"detail":{"instance":"i-%d"}}`, i),
		})
	}
	random := rand.New(rand.NewPCG(stormSeed, 0))
	for len(sent) < s.size.Events {
		sent = append(sent, event{instance: s.instances[random.IntN(s.size.Nodes)]})
	}
	random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
	ticker := time.NewTicker(s.size.Within / time.Duration(len(sent)))
	defer ticker.Stop()
	for _, one := range sent {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if one.instance == "" {
			if err := s.world.Send("interrupt", one.body); err != nil {
				return err
			}
			continue
		}
		if s.warned[one.instance].IsZero() {
			s.warned[one.instance] = time.Now()
		}
		// A duplicate may concern an instance that has ended. EC2 sends no warning for it.
		if err := s.world.Interrupt(one.instance, spotWarning); err != nil && !strings.Contains(err.Error(), "already") {
			return err
		}
	}
	return nil
}

// over reports whether every node is tainted and without its former pods.
func (s *storm) over(context.Context) (bool, string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	tainted, vacant := 0, 0
	for _, node := range s.nodes {
		if s.warned[node.instance].IsZero() {
			continue
		}
		if !node.tainted.IsZero() {
			tainted++
		}
		if len(node.pods) == 0 {
			vacant++
		}
	}
	return tainted == s.size.Nodes &&
		vacant == s.size.Nodes, fmt.Sprintf("%d of %d tainted, %d drained", tainted, s.size.Nodes, vacant), nil
}
