package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/whittle-dev/whittle/shared/api"
)

// TakeOver replaces one autoscaler by another and watches the cluster until the new one has acted
// for a while. Nodes, claims and instances may not come, go or change, except for statuses. The
// error names every change.
func (c *Comparison) TakeOver(ctx context.Context, from, to Autoscaler) error {
	if err := c.settled(ctx); err != nil {
		return err
	}
	guard, err := c.guard(ctx)
	if err != nil {
		return err
	}
	defer guard.end()
	c.timeline.Add("stopping", "%s", from.Name)
	if err := from.Stop(ctx); err != nil {
		return err
	}
	if err := c.Let(ctx, to); err != nil {
		return err
	}
	select {
	case <-time.After(c.Watch):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := guard.look(ctx, c.Setup.Client); err != nil {
		return err
	}
	if err := guard.violations(); err != nil {
		return fmt.Errorf("%s took over from %s and did not leave everything as it was:\n%w", to.Name, from.Name, err)
	}
	c.timeline.Add("untouched", "%s has acted for %s: %d nodes, %d claims and %d instances are as %s left them", to.Name,
		c.Watch, len(guard.nodes), len(guard.claims), len(guard.instances), from.Name)
	return nil
}

// settled waits until every node is initialized and its instance has its final tags.
func (c *Comparison) settled(ctx context.Context) error {
	return Until(ctx, comparePatience, "all nodes to be initialized", func(ctx context.Context) (bool, string, error) {
		claims, err := c.Setup.Client.NodeClaims(ctx)
		for i := range claims {
			if !api.ConditionTrue(claims[i].Status.Conditions, api.ConditionTypeInitialized) ||
				claims[i].Annotations[api.AnnotationInstanceTagged] != "true" {
				return false, claims[i].Name + " is not", nil
			}
		}
		return true, "", err
	})
}

// guard compares nodes and claims with their former state.
type guard struct {
	world     ComparedWorld
	instances []string
	end       context.CancelFunc
	mutex     sync.Mutex
	nodes     map[string]*corev1.Node
	claims    map[string]*unstructured.Unstructured
	found     []string
}

func (c *Comparison) guard(ctx context.Context) (*guard, error) {
	ctx, cancel := context.WithCancel(ctx)
	g := &guard{
		world: c.World, end: cancel, nodes: map[string]*corev1.Node{}, claims: map[string]*unstructured.Unstructured{},
		instances: slices.Sorted(maps.Keys(c.World.LaunchTimes())),
	}
	nodes, err := c.Setup.Client.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		return nil, err
	}
	for i := range nodes.Items {
		g.nodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	claims, err := c.Setup.Client.Objects.Resource(nodeClaims()).List(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		return nil, err
	}
	for i := range claims.Items {
		g.claims[claims.Items[i].GetName()] = &claims.Items[i]
	}
	ofNodes, err := c.Setup.Client.Core.CoreV1().Nodes().Watch(ctx,
		metav1.ListOptions{ResourceVersion: nodes.ResourceVersion})
	if err != nil {
		cancel()
		return nil, err
	}
	ofClaims, err := c.Setup.Client.Objects.Resource(nodeClaims()).Watch(ctx,
		metav1.ListOptions{ResourceVersion: claims.GetResourceVersion()})
	if err != nil {
		ofNodes.Stop()
		cancel()
		return nil, err
	}
	go follow(ofNodes, func(kind watch.EventType, object runtime.Object) {
		if node, ok := object.(*corev1.Node); ok {
			g.node(kind, node)
		}
	})
	go follow(ofClaims, func(kind watch.EventType, object runtime.Object) {
		if claim, ok := object.(*unstructured.Unstructured); ok {
			g.claim(kind, claim)
		}
	})
	return g, nil
}

// look compares everything again, because the API server may have cut a watch.
func (g *guard) look(ctx context.Context, client *Client) error {
	nodes, err := client.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	claims, err := client.Objects.Resource(nodeClaims()).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		g.node(watch.Modified, &nodes.Items[i])
	}
	for i := range claims.Items {
		g.claim(watch.Modified, &claims.Items[i])
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if len(nodes.Items) != len(g.nodes) || len(claims.Items) != len(g.claims) {
		g.violate("there are %d nodes and %d claims, and were %d and %d", len(nodes.Items), len(claims.Items), len(g.nodes),
			len(g.claims))
	}
	return nil
}

// violate records a change once. It is called with the lock held.
func (g *guard) violate(format string, arguments ...any) {
	if said := fmt.Sprintf(format, arguments...); !slices.Contains(g.found, said) {
		g.found = append(g.found, said)
	}
}

func (g *guard) node(kind watch.EventType, node *corev1.Node) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	before := g.nodes[node.Name]
	switch {
	case kind == watch.Deleted || before == nil:
		g.violate("node %s: %s", node.Name, kind)
		return
	case before.UID != node.UID || node.DeletionTimestamp != nil:
		g.violate("node %s is on its way out or another", node.Name)
	case node.Spec.Unschedulable:
		g.violate("node %s is cordoned", node.Name)
	}
	if !reflect.DeepEqual(before.Spec.Taints, node.Spec.Taints) {
		g.violate("node %s has the taints %v, had %v", node.Name, node.Spec.Taints, before.Spec.Taints)
	}
	g.keys("label", "node "+node.Name, before.Labels, node.Labels)
}

func (g *guard) claim(kind watch.EventType, claim *unstructured.Unstructured) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	name := "nodeclaim " + claim.GetName()
	before := g.claims[claim.GetName()]
	if kind == watch.Deleted || before == nil {
		g.violate("%s: %s", name, kind)
		return
	}
	if claim.GetDeletionTimestamp() != nil {
		g.violate("%s is on its way out", name)
	}
	if !reflect.DeepEqual(before.Object["spec"], claim.Object["spec"]) {
		was, is := asJSON(before.Object["spec"]), asJSON(claim.Object["spec"])
		g.violate("%s has the spec %s, had %s", name, is, was)
	}
	if !reflect.DeepEqual(before.GetFinalizers(), claim.GetFinalizers()) {
		g.violate("%s has the finalizers %v, had %v", name, claim.GetFinalizers(), before.GetFinalizers())
	}
	g.keys("label", name, before.GetLabels(), claim.GetLabels())
	annotations := withoutRestamped(before.GetAnnotations(), claim.GetAnnotations())
	g.keys("annotation", name, annotations[0], annotations[1])
	read, err := decoded[api.NodeClaim](claim)
	if err != nil {
		g.violate("%s: %v", name, err)
		return
	}
	for _, condition := range []string{
		api.ConditionTypeDrifted, api.ConditionTypeDisruptionReason, api.ConditionTypeInstanceTerminating,
	} {
		if found := api.GetCondition(read.Status.Conditions, condition); found != nil &&
			found.Status == metav1.ConditionTrue {
			g.violate("%s is %s: %s %s", name, condition, found.Reason, found.Message)
		}
	}
	for _, condition := range []string{
		api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized,
	} {
		if !api.ConditionTrue(read.Status.Conditions, condition) {
			g.violate("%s is no longer %s", name, condition)
		}
	}
}

// withoutRestamped removes the hashes that were written in another version. An autoscaler of another
// version writes its own hash to the claims, and nothing drifts by it.
func withoutRestamped(before, after map[string]string) [2]map[string]string {
	both := [2]map[string]string{maps.Clone(before), maps.Clone(after)}
	for version, hash := range map[string]string{
		api.NodePoolHashVersionAnnotationKey:  api.NodePoolHashAnnotationKey,
		api.AnnotationEC2NodeClassHashVersion: api.AnnotationEC2NodeClassHash,
	} {
		if before[version] == after[version] || before[version] == "" || after[version] == "" {
			continue
		}
		for _, annotations := range both {
			delete(annotations, version)
			delete(annotations, hash)
		}
	}
	return both
}

// keys compares labels or annotations. Whittle's own annotations on a claim mean nothing to
// Karpenter, so they may change.
func (g *guard) keys(what, of string, before, after map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if was, had := before[key]; (!had || was != after[key]) &&
			!(strings.HasPrefix(of, "nodeclaim ") && strings.HasPrefix(key, api.OwnGroup+"/")) {
			g.violate("%s has the %s %s=%q, had %q", of, what, key, after[key], was)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, has := after[key]; !has {
			g.violate("%s has lost the %s %s=%q", of, what, key, before[key])
		}
	}
}

// violations returns the changes seen so far.
func (g *guard) violations() error {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if now := slices.Sorted(maps.Keys(g.world.LaunchTimes())); !slices.Equal(now, g.instances) {
		g.violate("the instances launched were %v and are %v", g.instances, now)
	}
	if alive := len(g.world.Prices()); alive != len(g.nodes) {
		g.violate("%d instances have not ended, of %d nodes", alive, len(g.nodes))
	}
	var all []error
	for _, found := range g.found {
		all = append(all, errors.New(found))
	}
	return errors.Join(all...)
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
