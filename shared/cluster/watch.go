package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// watchFor is when the API server ends a watch. The next one continues where it ended. An end now
// and then spreads watches over the API servers.
const watchFor = 5 * time.Minute

// metadataOnly asks the API server for the metadata of objects only, which is a small part of a pod.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// Collection is a part of the objects of one kind.
type Collection struct {
	path         string
	fields       string // field selector
	labels       string // label selector
	metadataOnly bool
}

// UnboundPodsCollection has the metadata of the pending pods without a node.
func UnboundPodsCollection() Collection {
	return Collection{path: podsPath, fields: "spec.nodeName=,status.phase=Pending", metadataOnly: true}
}

// NodesWithout has the nodes without the label.
func NodesWithout(label string) Collection {
	return Collection{path: "/api/v1/nodes", labels: "!" + label}
}

// NodeMetadataWith has the metadata of the nodes with the label.
func NodeMetadataWith(label string) Collection {
	return Collection{path: "/api/v1/nodes", labels: label, metadataOnly: true}
}

// NodePoolsCollection has every NodePool.
func NodePoolsCollection() Collection { return Collection{path: nodePoolsPath} }

// NodeClassesCollection has every EC2NodeClass.
func NodeClassesCollection() Collection { return Collection{path: nodeClassesPath} }

// NodeClaimsCollection has every NodeClaim.
func NodeClaimsCollection() Collection { return Collection{path: nodeClaimsPath} }

// String is the path of the collection, for logs and errors.
func (c Collection) String() string { return c.path }

// Streaming returns a client of the same cluster whose requests may last, for watches. The context
// of a request bounds it. An error is that of New.
func (c *Client) Streaming() (*Client, error) {
	config := *c.config
	config.Timeout = 0
	client, err := rest.UnversionedRESTClientFor(&config)
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %q at %s: %w", c.Endpoint.Name, c.Endpoint.URL, err)
	}
	streaming := *c
	streaming.rest = client
	return &streaming, nil
}

// Version returns the collection's present resourceVersion. It lists one object, past the watch
// cache, so that a watch from the version misses nothing that was written before.
func (c *Client) Version(ctx context.Context, collection Collection) (string, error) {
	var list struct {
		Metadata metav1.ListMeta `json:"metadata"`
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := c.rest.Get().AbsPath(collection.path).SetHeader("Accept", runtime.ContentTypeJSON).Param("limit", "1")
	err := finish(request.Do(ctx), "reading the version of "+collection.path, &list)
	return list.Metadata.ResourceVersion, err
}

// ListWatched lists a collection of few objects, with the version from which a watch continues. It
// does not use the watch cache.
func ListWatched[T Watched](
	ctx context.Context, c *Client, collection Collection,
) (items []T, version string, err error) {
	var list struct {
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []T             `json:"items"`
	}
	err = c.readJSON(ctx, collection.path, &list)
	return list.Items, list.Metadata.ResourceVersion, err
}

// Watched is an object whose form the caller of Watch chooses: the part of it that the caller reads.
type Watched interface {
	// Version is the object's metadata.resourceVersion.
	Version() string
}

// Watch passes on each change of the collection after the version, in order, until the API server
// ends the watch, the connection breaks, or the context ends. It returns the version up to which it
// has passed on everything, from which another watch continues. The error is nil for a regular end.
// An error is IsExpired for a version that the API server no longer knows. The client must be
// Streaming.
func Watch[T Watched](
	ctx context.Context, c *Client, collection Collection, version string, pass func(watch.EventType, T),
) (last string, err error) {
	body, err := c.stream(ctx, collection, version)
	if err != nil {
		return version, fmt.Errorf("watching %s: %w", collection, err)
	}
	defer body.Close()
	decoder := json.NewDecoder(body)
	for {
		var event struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF):
			return version, nil
		case err != nil:
			return version, fmt.Errorf("watching %s: %w", collection, err)
		case event.Type == watch.Error:
			return version, fmt.Errorf("watching %s: %w", collection, statusError(event.Object))
		}
		var object T
		if err := json.Unmarshal(event.Object, &object); err != nil {
			return version, fmt.Errorf("watching %s: %w", collection, err)
		}
		version = object.Version()
		if event.Type != watch.Bookmark {
			pass(event.Type, object)
		}
	}
}

// stream begins a watch after the version.
func (c *Client) stream(ctx context.Context, collection Collection, version string) (io.ReadCloser, error) {
	accept := runtime.ContentTypeJSON
	if collection.metadataOnly {
		accept = metadataOnly
	}
	request := c.rest.Get().AbsPath(collection.path).SetHeader("Accept", accept).
		Param("watch", "true").Param("allowWatchBookmarks", "true").Param(versionParameter, version).
		Param("timeoutSeconds", strconv.Itoa(int(watchFor.Seconds())))
	if collection.fields != "" {
		request = request.Param("fieldSelector", collection.fields)
	}
	if collection.labels != "" {
		request = request.Param("labelSelector", collection.labels)
	}
	return request.Stream(ctx)
}

// statusError is the error that a watch reports as an object.
func statusError(object json.RawMessage) error {
	var status metav1.Status
	if err := json.Unmarshal(object, &status); err != nil {
		return fmt.Errorf("an error that is no Status: %.200s", object)
	}
	return &apierrors.StatusError{ErrStatus: status}
}
