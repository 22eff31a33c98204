package lifecycle

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/binding"
)

const (
	// mostVolumes bounds the volumes that a pass reads for the pods of one node. Pods beyond are the scheduler's.
	mostVolumes = 32
	// mostSelections bounds the lists of pods that a pass reads for constraints of one node's pods.
	mostSelections = 16
)

// places reads what is on nodes whose pods are about to be bound. The DaemonSets are read once for all, and so
// are the pods that a constraint counts.
type places struct {
	client kubernetes
	seen   *seen
	pods   *nodePods

	once sync.Once
	sets []appsv1.DaemonSet
	err  error

	mutex      sync.Mutex
	neighbours *binding.Neighbours
	selected   map[binding.Selection]*selected
}

// selected are the pods of a selection, read once.
type selected struct {
	once sync.Once
	pods []*corev1.Pod
	err  error
}

// read adds to the view what is on its node, if pods are about to be bound, or have been. Without an answer the
// node joins all the same, and the scheduler has the pods.
func (p *places) read(ctx context.Context, view *nodeclaim.View, now time.Time) {
	read := p.place
	switch {
	case view.WantsPlace(now):
	case view.WantsRefused(now):
		read = p.content
	default:
		return
	}
	place, err := read(ctx, view)
	if err != nil {
		slog.WarnContext(ctx, "the content of a node is not read, and no pod bound",
			"Node", view.Nodes[0].Name, "error", err)
		return
	}
	view.Place = place
}

func (p *places) place(ctx context.Context, view *nodeclaim.View) (*binding.Place, error) {
	p.once.Do(func() { p.sets, p.err = p.client.DaemonSets(ctx) })
	if p.err != nil {
		return nil, p.err
	}
	place, err := p.content(ctx, view)
	if err != nil {
		return nil, err
	}
	place.DaemonSets, place.Volumes = p.sets, map[string]string{}
	for _, pod := range view.Expected {
		for _, claim := range binding.ClaimNames(pod) {
			key := pod.Namespace + "/" + claim
			if _, known := place.Volumes[key]; known || len(place.Volumes) == mostVolumes {
				continue
			}
			if place.Volumes[key], err = p.client.VolumeName(ctx, pod.Namespace, claim); err != nil {
				return nil, err
			}
		}
	}
	place.Neighbours, err = p.neighboursOf(ctx, view.Expected)
	return place, err
}

// neighboursOf reads the pods that the constraints of the given ones count.
func (p *places) neighboursOf(ctx context.Context, pods []*corev1.Pod) (*binding.Neighbours, error) {
	selections := binding.Selections(pods)
	if len(selections) == 0 {
		return nil, nil
	}
	selections = selections[:min(len(selections), mostSelections)]
	made := &binding.Neighbours{Pods: map[binding.Selection][]*corev1.Pod{}}
	lists := make([]*selected, len(selections))
	p.mutex.Lock()
	if p.neighbours == nil {
		p.neighbours, p.selected = neighbours(p.seen), map[binding.Selection]*selected{}
	}
	made.Nodes, made.Planned = p.neighbours.Nodes, p.neighbours.Planned
	for i, selection := range selections {
		if p.selected[selection] == nil {
			p.selected[selection] = &selected{}
		}
		lists[i] = p.selected[selection]
	}
	p.mutex.Unlock()
	var group errgroup.Group
	for i, selection := range selections {
		group.Go(func() error { return lists[i].read(ctx, p.client, selection) })
	}
	err := group.Wait()
	for i, selection := range selections {
		made.Pods[selection] = lists[i].pods
	}
	return made, err
}

func (s *selected) read(ctx context.Context, client kubernetes, selection binding.Selection) error {
	s.once.Do(func() {
		var pods []corev1.Pod
		pods, s.err = client.PodsSelected(ctx, selection.Namespace, selection.Selector)
		for i := range pods {
			s.pods = append(s.pods, &pods[i])
		}
	})
	return s.err
}

// neighbours returns the nodes of the cluster and of claims that are still to join, and which pods are planned
// for them.
func neighbours(s *seen) *binding.Neighbours {
	made := &binding.Neighbours{Nodes: map[string]*corev1.Node{}, Planned: map[string]*corev1.Node{}}
	joined := map[string]*corev1.Node{}
	for i := range s.nodes {
		node := &s.nodes[i]
		made.Nodes[node.Name], joined[node.Spec.ProviderID] = node, node
	}
	for i := range s.claims {
		claim := &s.claims[i]
		node := joined[claim.Status.ProviderID]
		if node == nil || claim.Status.ProviderID == "" {
			node = toJoin(claim)
			made.Nodes["nodeclaim/"+claim.Name] = node
		}
		for _, pod := range s.expected[claim.Name] {
			made.Planned[string(pod.UID)] = node
		}
	}
	return made
}

// toJoin returns the node of a claim as far as it is known: its labels.
func toJoin(claim *api.NodeClaim) *corev1.Node {
	node := &corev1.Node{}
	node.Name, node.Labels = "nodeclaim/"+claim.Name, maps.Clone(claim.Labels)
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for i := range claim.Spec.Requirements {
		if one := &claim.Spec.Requirements[i]; one.Operator == corev1.NodeSelectorOpIn && len(one.Values) == 1 {
			node.Labels[one.Key] = one.Values[0]
		}
	}
	node.Labels[corev1.LabelHostname] = node.Name
	return node
}

// content reads the pods of the view's node.
func (p *places) content(ctx context.Context, view *nodeclaim.View) (*binding.Place, error) {
	node := view.Nodes[0]
	pods, _, err := p.pods.on(ctx, node.Name)
	return &binding.Place{Node: node, Pods: pods}, err
}
