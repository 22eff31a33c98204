package cluster

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// leastKept is the size of a collection below which one request lists everything in less time
	// than a comparison and the reading of what has changed.
	leastKept = 100
	// keptFor is how long objects are kept before they are listed again. An API server may show an
	// unchanged object differently after an upgrade, and a restored one may reuse versions.
	keptFor = time.Hour
)

// Cache keeps the pods, nodes and NodeClaims that clients with it have listed, so that the next list
// reads only what has changed. A list with a cache returns what a list without one would: see
// catchUp. Whatever the cache does not know for certain, it lists. It is safe for concurrent use.
type Cache struct {
	limit int
	now   func() time.Time

	pods   slot[corev1.Pod]
	nodes  slot[corev1.Node]
	claims slot[api.NodeClaim]

	mutex sync.Mutex
	used  int // the bytes of all slots
	// The objects of the last lists, where those were short.
	nodesRead  map[string]*readObject[corev1.Node]
	claimsRead map[string]*readObject[api.NodeClaim]
	// noQuotasUntil is until when the cluster is believed to lack CapacityQuotas.
	noQuotasUntil time.Time
}

// NewCache returns a cache without objects, for the clients of one cluster. It keeps no collection
// with which it would take more than limit bytes, by an estimate. The clock should run on while
// Lambda freezes the container.
func NewCache(limit int, now func() time.Time) *Cache { return &Cache{limit: limit, now: now} }

// WithCache returns a client of the same cluster whose Pods, Nodes and NodeClaims use the cache.
func (c *Client) WithCache(cache *Cache) *Client {
	cached := *c
	cached.cache = cache
	return &cached
}

// kind is how a kind of object is listed and kept.
type kind[T any] struct {
	path, accept string
	slot         func(*Cache) *slot[T]
	identity     func(*T) *metav1.ObjectMeta
	// size estimates the memory of an object, which has so many bytes in a list.
	size func(object *T, encoded int) int
	// decoder returns the decoding of one list.
	decoder func() decoding[T]
	again   *cutting[T] // nil where decoder serves as well
}

// slot holds the last known state of a collection.
type slot[T any] struct{ state *state[T] } // nil for none; guarded by the cache's mutex

// state is a collection at one version. Nobody changes a state or an object in it, so that callers
// beside each other may use one.
type state[T any] struct {
	objects []kept[T] // in the API server's order
	version uint64
	since   time.Time // when it was last listed in full
	listed  int       // the bytes of that list
	bytes   int       // the sum of the objects
}

// kept is an object with an estimate of its memory.
type kept[T any] struct {
	object *T
	bytes  int
}

// values returns shallow copies of the objects.
func (s *state[T]) values() []T {
	values := make([]T, len(s.objects))
	for i := range s.objects {
		values[i] = *s.objects[i].object
	}
	return values
}

// get returns the state to continue from, or nil.
func get[T any](cache *Cache, slot *slot[T]) *state[T] {
	cache.mutex.Lock()
	defer cache.mutex.Unlock()
	known := slot.state
	if known == nil || cache.now().Sub(known.since) >= keptFor {
		return nil
	}
	return known
}

// put replaces the state of a slot. It leaves the slot empty for nil, and where memory is short.
func put[T any](cache *Cache, slot *slot[T], next *state[T]) {
	cache.mutex.Lock()
	defer cache.mutex.Unlock()
	if slot.state != nil {
		cache.used -= slot.state.bytes
		slot.state = nil
	}
	if next != nil && cache.used+next.bytes <= cache.limit {
		cache.used += next.bytes
		slot.state = next
	}
}

// room is how many bytes may be kept beside what is kept.
func (c *Cache) room() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.limit - c.used
}

// read lists a kind, from the cache where it can be caught up.
func read[T any](ctx context.Context, c *Client, k kind[T]) ([]T, error) {
	if c.cache == nil {
		return pages(ctx, c, k.path, k.accept, k.decoder())
	}
	slot := k.slot(c.cache)
	if known := get(c.cache, slot); known != nil {
		next, err := catchUp(ctx, c, k, known)
		if err == nil {
			put(c.cache, slot, next)
			return next.values(), nil
		}
		slog.DebugContext(ctx, "a collection is listed in full", "path", k.path, "because", err)
	}
	put(c.cache, slot, nil) // a list beside the old state may take too much memory
	list, err := readPages(ctx, c, k.path, k.accept, decodingAgain(c.cache, k))
	if err != nil {
		return nil, err
	}
	put(c.cache, slot, stateOf(k, list, c.cache.now(), c.cache.room()))
	return list.items, nil
}

// stateOf returns what to keep of a full list: copies of its objects, or nil for nothing. It keeps
// nothing that takes more than room bytes.
func stateOf[T any](k kind[T], list listed[T], now time.Time, room int) *state[T] {
	version, err := strconv.ParseUint(list.version, 10, 64)
	if err != nil || len(list.items) < leastKept {
		return nil
	}
	next := &state[T]{version: version, since: now, listed: list.bytes}
	encoded := list.bytes / len(list.items)
	for i := range list.items {
		if next.bytes += k.size(&list.items[i], encoded); next.bytes > room {
			return nil
		}
	}
	next.objects = make([]kept[T], len(list.items))
	for i := range list.items {
		object := list.items[i]
		next.objects[i] = kept[T]{object: &object, bytes: k.size(&object, encoded)}
	}
	return next
}
