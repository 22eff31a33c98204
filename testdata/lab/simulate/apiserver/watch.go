package apiserver

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Watch is a watch of a collection. The caller delivers its events when it likes, in order.
type Watch struct {
	kind         *Kind
	matches      func(*Object) bool
	metadataOnly bool
	version      uint64
}

// IsWatch reports whether the request begins a watch.
func IsWatch(request *http.Request) bool {
	return request.Method == http.MethodGet && strings.Contains(request.URL.RawQuery, "watch=") &&
		request.URL.Query().Get("watch") != ""
}

// Watch begins a watch. Past are the events since the version from which it continues. An error is
// Expired for a version that was forgotten; StatusResponse makes an answer of it.
func (s *Server) Watch(request *http.Request) (w *Watch, past [][]byte, err error) {
	t, known := parse(request.URL.Path)
	if !known {
		s.Unknown("a watch of " + request.URL.Path)
		return nil, nil, notFound(&Kind{Plural: request.URL.Path}, "")
	}
	query := request.URL.Query()
	matches, err := s.matcher(t, query)
	if err != nil {
		return nil, nil, err
	}
	from, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest("the model begins watches at a version only")
	}
	if from < s.store.compacted {
		return nil, nil, expired()
	}
	w = &Watch{
		kind: t.kind, matches: matches, version: from,
		metadataOnly: strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata"),
	}
	return w, w.since(s.store, from), nil
}

// StatusResponse is the answer for an error.
func StatusResponse(request *http.Request, err error) *http.Response {
	status := statusOf(err)
	encoded, _ := json.Marshal(status) // it consists of strings and numbers
	answer := respond(int(status.Code), "application/json", encoded)
	answer.Request = request
	return answer
}

// since returns the events after a version, in order.
func (w *Watch) since(store *Store, from uint64) [][]byte {
	c := store.collections[w.kind]
	byVersion := map[uint64]Change{}
	for _, key := range c.keys {
		revisions := c.revisions[key]
		for i, one := range revisions {
			if one.version <= from {
				continue
			}
			change := Change{After: one.object, Version: one.version}
			if i > 0 {
				change.Before = revisions[i-1].object
			}
			byVersion[one.version] = change
		}
	}
	var events [][]byte
	for version := from + 1; version <= store.version && len(byVersion) > 0; version++ {
		if change, changed := byVersion[version]; changed {
			if event := w.Event(change); event != nil {
				events = append(events, event)
			}
		}
	}
	return events
}

// Event returns what the watch reports of a change, or nil for nothing.
func (w *Watch) Event(change Change) []byte {
	object := change.After
	if object == nil {
		object = change.Before
	}
	if object == nil || object.Kind != w.kind {
		return nil
	}
	before := change.Before != nil && w.matches(change.Before)
	after := change.After != nil && w.matches(change.After)
	switch {
	case before && after:
		return w.encode("MODIFIED", change.After, change.Version)
	case after:
		return w.encode("ADDED", change.After, change.Version)
	case before: // also where the object remains and does not match any more
		return w.encode("DELETED", change.Before, change.Version)
	}
	return nil
}

// encode writes an event. The object of a deletion has the version of the deletion.
func (w *Watch) encode(kind string, object *Object, version uint64) []byte {
	content := object.json
	if w.metadataOnly {
		partial := metadataObject(object)
		partial.ResourceVersion = strconv.FormatUint(version, 10)
		content, _ = json.Marshal(partial) // it consists of strings and numbers
	} else if object.Version != version {
		raw := cloned(object.raw)
		metadataOf(raw)["resourceVersion"] = strconv.FormatUint(version, 10)
		content, _ = json.Marshal(raw)
	}
	event, _ := json.Marshal(map[string]any{"type": kind, "object": json.RawMessage(content)})
	return append(event, '\n')
}

// Bookmark is an event that says up to which version all changes were reported.
func (w *Watch) Bookmark(version uint64) []byte {
	kind, apiVersion := w.kind.Name, w.kind.apiVersion()
	if w.metadataOnly {
		kind, apiVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	event, _ := json.Marshal(map[string]any{"type": "BOOKMARK", "object": map[string]any{
		"kind": kind, "apiVersion": apiVersion,
		"metadata": map[string]any{"resourceVersion": strconv.FormatUint(version, 10), "creationTimestamp": nil},
	}})
	return append(event, '\n')
}
