package watch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/whittle-dev/whittle/functions/watch/signal"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

const (
	// retryAfter is the first pause after a watch that failed. It doubles up to maximumRetry.
	retryAfter   = 500 * time.Millisecond
	maximumRetry = 15 * time.Second
	// buffered is how many changes may wait while a wake is sent.
	buffered = 256
)

// change is something that happened in a source.
type change struct {
	source signal.Source
	kind   signal.Kind
	object signal.Object
	// missed is set where changes may have been missed. Object is empty then.
	missed bool
}

// collections are what is watched. Selectors keep the answers small: most of a cluster's pods have a
// node, and most of its nodes are initialized.
func collections() map[signal.Source]cluster.Collection {
	return map[signal.Source]cluster.Collection{
		signal.UnboundPods:   cluster.UnboundPodsCollection(),
		signal.StartingNodes: cluster.NodesWithout(api.NodeInitializedLabelKey),
		signal.StartedNodes:  cluster.NodeMetadataWith(api.NodeInitializedLabelKey),
		signal.NodeClaims:    cluster.NodeClaimsCollection(),
		signal.NodePools:     cluster.NodePoolsCollection(),
		signal.NodeClasses:   cluster.NodeClassesCollection(),
	}
}

// sources watch all collections.
type sources struct {
	client  *cluster.Client // Streaming
	now     func() time.Time
	from    map[signal.Source]string
	changes chan change
	running sync.WaitGroup
}

// open finds the versions after which changes count, and what the tracker knows from the start.
func open(
	ctx context.Context, client *cluster.Client, tracker *signal.Tracker, now func() time.Time,
) (*sources, error) {
	streaming, err := client.Streaming()
	if err != nil {
		return nil, err
	}
	s := &sources{
		client: streaming, now: now, from: map[signal.Source]string{}, changes: make(chan change, buffered),
	}
	for source, collection := range collections() {
		switch source {
		case signal.NodePools, signal.NodeClasses:
			// They are few, and hold for long. Without their state the first change of a status would
			// look like the change of a person.
			objects, version, err := cluster.ListWatched[signal.Object](ctx, client, collection)
			if err != nil {
				return nil, err
			}
			for i := range objects {
				tracker.Learn(source, &objects[i])
			}
			s.from[source] = version
		default:
			if s.from[source], err = client.Version(ctx, collection); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// start begins all watches. They end with the context, and wait returns then.
func (s *sources) start(ctx context.Context) {
	for source, collection := range collections() {
		s.running.Go(func() { s.follow(ctx, source, collection) })
	}
}

func (s *sources) wait() { s.running.Wait() }

// follow watches one collection until the context ends. A watch that breaks continues where it
// ended. When the API server no longer knows that version, changes may have been missed.
func (s *sources) follow(ctx context.Context, source signal.Source, collection cluster.Collection) {
	version, pause := s.from[source], retryAfter
	for ctx.Err() == nil {
		began := s.now()
		last, err := cluster.Watch(ctx, s.client, collection, version, func(kind watch.EventType, object signal.Object) {
			s.pass(ctx, change{source: source, kind: kindOf(kind), object: object})
		})
		version = last
		if ctx.Err() != nil {
			return
		}
		if cluster.IsExpired(err) {
			if version, err = s.client.Version(ctx, collection); err == nil {
				s.pass(ctx, change{source: source, missed: true})
			} else {
				version = last
			}
		}
		if s.now().Sub(began) > maximumRetry {
			pause = retryAfter
		}
		if err != nil {
			slog.WarnContext(ctx, "a watch broke and goes on", "collection", collection.String(), "after", pause.String(),
				"error", err)
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, maximumRetry)
	}
}

func (s *sources) pass(ctx context.Context, next change) {
	select {
	case s.changes <- next:
	case <-ctx.Done():
	}
}

// sleep returns false when the context ends first.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func kindOf(kind watch.EventType) signal.Kind {
	switch kind {
	case watch.Added:
		return signal.Added
	case watch.Deleted:
		return signal.Deleted
	}
	return signal.Modified
}
