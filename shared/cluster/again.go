package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cutting is how a list is read of which some objects are known.
type cutting[T any] struct {
	// read is where a cache has what was read of the last list, by the objects' bytes in it.
	read func(*Cache) *map[string]*readObject[T]
	// cut returns the metadata of a list and the bytes of its objects. ok is false for what it cannot
	// cut.
	cut func(body []byte) (meta metav1.ListMeta, items [][]byte, ok bool)
	// decode decodes the bytes of one object.
	decode func(item []byte, into *T) error
}

// readObject is an object that was decoded from bytes of a list. Nobody changes it.
type readObject[T any] struct {
	bytes  string
	object T
}

// decodingAgain returns the decoding of one list. It decodes the objects that the cache's last list
// had not. Most objects of a list are as they were some seconds before, and their decoding takes
// most of a pass's processor time in a small cluster. The cache keeps fewer than leastKept objects
// of a kind in this way.
func decodingAgain[T any](cache *Cache, k kind[T]) decoding[T] {
	decode := k.decoder()
	if k.again == nil {
		return decode
	}
	cache.mutex.Lock()
	known := *k.again.read(cache)
	cache.mutex.Unlock()
	next := map[string]*readObject[T]{}
	return func(body []byte) ([]T, metav1.ListMeta, error) {
		meta, items, ok := k.again.cut(body)
		if !ok || len(next)+len(items) >= leastKept {
			keep(cache, k, nil)
			return decode(body)
		}
		objects := make([]T, len(items))
		for i, item := range items {
			one, has := known[string(item)]
			if !has {
				one = &readObject[T]{bytes: string(item)}
				if k.again.decode(item, &one.object) != nil {
					return decode(body) // its error is of the whole list
				}
			}
			next[one.bytes], objects[i] = one, one.object
		}
		if meta.Continue == "" {
			keep(cache, k, next)
		}
		return objects, meta, nil
	}
}

// keep replaces what is known of the last list.
func keep[T any](cache *Cache, k kind[T], read map[string]*readObject[T]) {
	cache.mutex.Lock()
	defer cache.mutex.Unlock()
	*k.again.read(cache) = read
}
