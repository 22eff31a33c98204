package lifecycle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/binding"
)

// mostVolumes bounds the volumes that a pass reads for the pods of one node. Pods beyond are the scheduler's.
const mostVolumes = 32

// places reads what is on nodes whose pods are about to be bound. The DaemonSets are read once for all.
type places struct {
	client kubernetes

	once sync.Once
	sets []appsv1.DaemonSet
	err  error
}

// read adds to the view what is on its node, if pods are about to be bound, or have been. Without an answer the
// node joins all the same, and the scheduler has the pods.
func (p *places) read(ctx context.Context, view *nodeclaim.View, now time.Time) {
	read := p.place
	switch {
	case view.IsReserved():
	case view.WantsRefused(now):
		read = p.pods
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
	place, err := p.pods(ctx, view)
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
	return place, nil
}

// pods reads the pods of the view's node.
func (p *places) pods(ctx context.Context, view *nodeclaim.View) (*binding.Place, error) {
	place := &binding.Place{Node: view.Nodes[0]}
	pods, err := p.client.PodsOnNode(ctx, place.Node.Name, "")
	for i := range pods {
		place.Pods = append(place.Pods, &pods[i])
	}
	return place, err
}
