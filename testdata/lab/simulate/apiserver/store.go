package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// remembered is how long the store knows old versions, like etcd between two compactions.
// https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/ (etcd-compaction-interval)
const remembered = 5 * time.Minute

// Object is an object at one version. Nobody changes one.
type Object struct {
	Kind    *Kind
	Version uint64
	// Meta is the metadata of Typed.
	Meta metav1.Object
	// Typed is a pointer to the object in its Go type.
	Typed any

	raw  map[string]any
	json []byte
	// What lists have of the object, once one was asked for.
	item, protobuf, metadata []byte
}

func (o *Object) key() string { return keyOf(o.Meta.GetNamespace(), o.Meta.GetName()) }

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Change is one write of the store.
type Change struct {
	// Before is nil for an object that was created, After for one that has gone.
	Before, After *Object
	Version       uint64
}

// revision is what a key has from a version on: nil for nothing.
type revision struct {
	version uint64
	object  *Object
}

// collection has the objects of one kind.
type collection struct {
	keys      []string // of all revisions, in order
	revisions map[string][]revision
	newest    []*Object // all objects of now, in order; nil until someone asks for them
}

// stamp says when a version was written.
type stamp struct {
	version uint64
	at      time.Time
}

// Store has all objects with their history. It is not safe for concurrent use.
type Store struct {
	now         func() time.Time
	version     uint64
	compacted   uint64 // versions before it are forgotten
	uids        int
	stamps      []stamp
	collections map[*Kind]*collection
	listeners   []func(Change)
}

// NewStore returns an empty store.
func NewStore(now func() time.Time) *Store {
	s := &Store{now: now, version: 1000, collections: map[*Kind]*collection{}}
	for _, kind := range kinds() {
		s.collections[kind] = &collection{revisions: map[string][]revision{}}
	}
	s.stamps = []stamp{{s.version, now()}}
	return s
}

// Listen calls f after each write.
func (s *Store) Listen(f func(Change)) { s.listeners = append(s.listeners, f) }

// Version is the newest version.
func (s *Store) Version() uint64 { return s.version }

// versionAt returns the newest version that was written at the time or before.
func (s *Store) versionAt(at time.Time) uint64 {
	n := sort.Search(len(s.stamps), func(i int) bool { return s.stamps[i].at.After(at) })
	if n == 0 {
		return s.stamps[0].version
	}
	return s.stamps[n-1].version
}

// at returns the revision of a key at the version, or nil.
func (c *collection) at(key string, version uint64) *Object {
	revisions := c.revisions[key]
	for i := len(revisions) - 1; i >= 0; i-- {
		if revisions[i].version <= version {
			return revisions[i].object
		}
	}
	return nil
}

// Get returns the newest object of the name, or nil.
func (s *Store) Get(kind *Kind, namespace, name string) *Object {
	return s.collections[kind].at(keyOf(namespace, name), s.version)
}

// listAt returns the objects that existed at the version, in the order of their keys. Nobody may
// change the list.
func (s *Store) listAt(kind *Kind, version uint64) []*Object {
	c := s.collections[kind]
	if version == s.version && c.newest != nil {
		return c.newest
	}
	found := make([]*Object, 0, len(c.keys))
	for _, key := range c.keys {
		if object := c.at(key, version); object != nil {
			found = append(found, object)
		}
	}
	if version == s.version {
		c.newest = found
	}
	return found
}

// List returns the newest objects of a kind as values of their Go type, in the order of their keys.
// Nobody may change them.
func List[T any](s *Store, kind *Kind) []*T {
	objects := s.listAt(kind, s.version)
	typed := make([]*T, 0, len(objects))
	for _, object := range objects {
		if value, ok := object.Typed.(*T); ok {
			typed = append(typed, value)
		}
	}
	return typed
}

// put writes what a key has from now on: nil for nothing.
func (s *Store) put(kind *Kind, key string, next *Object) {
	c := s.collections[kind]
	before := c.at(key, s.version)
	now := s.now()
	if next == nil {
		s.version++
	}
	s.stamps = append(s.stamps, stamp{s.version, now})
	if _, known := c.revisions[key]; !known {
		at, _ := slices.BinarySearch(c.keys, key)
		c.keys = slices.Insert(c.keys, at, key)
	}
	c.revisions[key] = append(c.revisions[key], revision{s.version, next})
	c.newest = nil
	s.compact(now)
	change := Change{Before: before, After: next, Version: s.version}
	for _, listener := range s.listeners {
		listener(change)
	}
}

// compact forgets old versions now and then.
func (s *Store) compact(now time.Time) {
	if now.Sub(s.stamps[0].at) < 2*remembered {
		return
	}
	s.compacted = s.versionAt(now.Add(-remembered))
	first := sort.Search(len(s.stamps), func(i int) bool { return s.stamps[i].version >= s.compacted })
	s.stamps = slices.Clone(s.stamps[first:])
	for _, c := range s.collections {
		c.keys = slices.DeleteFunc(c.keys, func(key string) bool {
			revisions := c.revisions[key]
			keep := 0
			for keep+1 < len(revisions) && revisions[keep+1].version <= s.compacted {
				keep++
			}
			if keep == len(revisions)-1 && revisions[keep].object == nil && revisions[keep].version <= s.compacted {
				delete(c.revisions, key)
				return true
			}
			c.revisions[key] = slices.Clone(revisions[keep:])
			return false
		})
	}
}

// store writes an object whose metadata is complete but for the version.
func (s *Store) store(kind *Kind, raw map[string]any) (*Object, error) {
	s.version++
	object, err := s.object(kind, raw)
	if err != nil {
		s.version--
		return nil, err
	}
	s.put(kind, object.key(), object)
	return object, nil
}

// object makes an object of the version that comes.
func (s *Store) object(kind *Kind, raw map[string]any) (*Object, error) {
	metadata := metadataOf(raw)
	metadata["resourceVersion"] = strconv.FormatUint(s.version, 10)
	raw["apiVersion"], raw["kind"] = kind.apiVersion(), kind.Name
	encoded, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	typed := kind.make()
	if err := json.Unmarshal(encoded, typed); err != nil {
		return nil, fmt.Errorf("a %s is not what its kind says: %w", kind.Name, err)
	}
	meta, _ := typed.(metav1.Object)
	return &Object{Kind: kind, Version: s.version, Meta: meta, Typed: typed, raw: raw, json: encoded}, nil
}

// Create writes a new object. The error of an object that exists is an AlreadyExists status.
func (s *Store) Create(kind *Kind, object any) (*Object, error) {
	raw, err := toRaw(object)
	if err != nil {
		return nil, err
	}
	return s.create(kind, raw)
}

func (s *Store) create(kind *Kind, raw map[string]any) (*Object, error) {
	metadata := metadataOf(raw)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	if prefix, _ := metadata["generateName"].(string); name == "" && prefix != "" {
		name = prefix + suffix(s.uids)
		metadata["name"] = name
	}
	if name == "" {
		return nil, invalid(kind, name, "metadata.name is missing")
	}
	if s.Get(kind, namespace, name) != nil {
		return nil, alreadyExists(kind, name)
	}
	s.uids++
	metadata["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)
	metadata["creationTimestamp"] = s.now().UTC().Format(time.RFC3339)
	delete(metadata, "generation")
	if kind.hasGeneration() {
		metadata["generation"] = float64(1)
	}
	delete(metadata, "deletionTimestamp")
	if kind.Custom && kind.HasStatus {
		delete(raw, "status")
	}
	return s.store(kind, raw)
}

// suffix is the part of a name that Kubernetes draws at random. Here it counts.
func suffix(n int) string {
	const letters, length = "bcdfghjklmnpqrstvwxz2456789", 5
	text := make([]byte, length)
	for i := length - 1; i >= 0; i-- {
		text[i], n = letters[n%len(letters)], n/len(letters)
	}
	return string(text)
}

// Update lets a controller of the cluster change the newest object of the name, whatever its version.
// It does nothing for an object that has gone, and where change returns false.
func Update[T any](s *Store, kind *Kind, namespace, name string, change func(*T) bool) {
	current := s.Get(kind, namespace, name)
	if current == nil {
		return
	}
	typed, _ := current.Typed.(interface{ DeepCopy() *T })
	value := typed.DeepCopy()
	if !change(value) {
		return
	}
	raw, err := toRaw(value)
	if err == nil {
		_, err = s.replace(current, raw)
	}
	if err != nil {
		panic(err) // a controller of the simulation wrote what is no object
	}
}

// binds reports whether a pod gets its node, and nothing else of its spec changes. Kubernetes counts no
// generation for that.
func binds(before, after map[string]any) bool {
	had, _ := before["spec"].(map[string]any)
	has, _ := after["spec"].(map[string]any)
	if had["nodeName"] != nil || has["nodeName"] == nil {
		return false
	}
	unbound := maps.Clone(has)
	delete(unbound, "nodeName")
	return reflect.DeepEqual(had, unbound)
}

// replace writes the next version of an object. It removes an object that was deleted and has lost its
// last finalizer. It writes nothing where nothing changes.
func (s *Store) replace(current *Object, raw map[string]any) (*Object, error) {
	metadata, before := metadataOf(raw), metadataOf(current.raw)
	for _, field := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
		"resourceVersion", "generation"} {
		if value, has := before[field]; has {
			metadata[field] = value
		} else {
			delete(metadata, field)
		}
	}
	raw["apiVersion"], raw["kind"] = current.raw["apiVersion"], current.raw["kind"]
	if reflect.DeepEqual(raw, current.raw) {
		return current, nil
	}
	if current.Kind.hasGeneration() && !binds(current.raw, raw) && !reflect.DeepEqual(raw["spec"], current.raw["spec"]) {
		metadata["generation"] = current.Meta.GetGeneration() + 1
	}
	finalizers, _ := metadata["finalizers"].([]any)
	// A pod whose grace has not ended goes when its kubelet says so.
	grace, _ := metadata["deletionGracePeriodSeconds"].(float64)
	if metadata["deletionTimestamp"] != nil && len(finalizers) == 0 && grace == 0 {
		object, err := s.object(current.Kind, raw)
		if err != nil {
			return nil, err
		}
		s.put(current.Kind, current.key(), nil)
		return object, nil
	}
	return s.store(current.Kind, raw)
}

// Delete deletes the object. Finalizers hold it. A pod that runs somewhere keeps its grace period, which
// grace overrides.
func (s *Store) Delete(current *Object, grace *int64) *Object {
	held := len(current.Meta.GetFinalizers()) > 0
	seconds := int64(0)
	if current.Kind == Pods {
		seconds = graceOf(current, grace)
		held = held || seconds > 0
	}
	if !held {
		s.put(current.Kind, current.key(), nil)
		return nil
	}
	raw := cloned(current.raw)
	metadata := metadataOf(raw)
	if metadata["deletionTimestamp"] != nil {
		if before, _ := metadata["deletionGracePeriodSeconds"].(float64); current.Kind != Pods || seconds >= int64(before) {
			return current
		}
	}
	again := metadata["deletionTimestamp"] != nil
	metadata["deletionTimestamp"] = s.now().UTC().Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
	metadata["deletionGracePeriodSeconds"] = float64(seconds)
	if current.Kind.hasGeneration() && !again {
		metadata["generation"] = float64(current.Meta.GetGeneration() + 1)
	}
	object, err := s.store(current.Kind, normal(raw))
	if err != nil {
		panic(err) // it was an object before
	}
	return object
}

// Remove removes the object at once, as the end of a pod that its kubelet has stopped.
func (s *Store) Remove(kind *Kind, namespace, name string, uid types.UID) {
	if current := s.Get(kind, namespace, name); current != nil && current.Meta.GetUID() == uid {
		s.put(kind, current.key(), nil)
	}
}

// toRaw returns the JSON form of an object, in which all numbers are float64.
func toRaw(object any) (map[string]any, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var raw map[string]any
	err = json.Unmarshal(encoded, &raw)
	return raw, err
}

// normal gives all numbers of a raw object the type float64.
func normal(raw map[string]any) map[string]any {
	again, err := toRaw(raw)
	if err != nil {
		panic(err) // it consists of JSON values
	}
	return again
}

// metadataOf returns the metadata of a raw object, which it adds where there is none.
func metadataOf(raw map[string]any) map[string]any {
	metadata, has := raw["metadata"].(map[string]any)
	if !has {
		metadata = map[string]any{}
		raw["metadata"] = metadata
	}
	return metadata
}

// cloned returns a copy whose metadata may be changed.
func cloned(raw map[string]any) map[string]any {
	copied := maps.Clone(raw)
	copied["metadata"] = maps.Clone(metadataOf(raw))
	return copied
}
