package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/whittle-dev/whittle/shared/cluster/lean"
)

const (
	// identitiesOnly asks the API server for a list of metadata. Identities are compared in this form
	// without decoding the rest.
	// https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
	identitiesOnly = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	// identitiesSize is how many objects one request lists by metadata, which has a few kilobytes of
	// each.
	identitiesSize = 2000
	// requestBytes is how much of a list is read in the processor time of a request for one object:
	// BenchmarkLists.
	requestBytes = 64 << 10
	// parallelReads is how many changed objects are requested at a time.
	parallelReads = 16
)

var (
	// errMuchChanged means that a list takes less time than the requests for what has changed.
	errMuchChanged = errors.New("much has changed")
	// errRewound means that the API server is at an earlier version than before. It was restored.
	errRewound = errors.New("the version is older than the last one")
	// errDiffers means that the API server returned another object than its list has.
	errDiffers = errors.New("an object is not as listed")
)

// absent is an object of a state that is still to be read.
type absent struct {
	at                       int
	namespace, name, version string
}

// is reports whether an object is the absent one, at its version.
func (a absent) is(object *metav1.ObjectMeta) bool {
	return object.Namespace == a.namespace && object.Name == a.name && object.ResourceVersion == a.version
}

// catchUp returns the present state of a collection, by what it was. It lists the metadata of all
// objects, past the watch cache and at one version, like a full list. An object of the same name and
// resourceVersion is the known one, since every write changes the resourceVersion. catchUp reads the
// others at exactly the version of the list. The result is therefore what a full list at the same
// moment would be. Any answer that is not as expected is an error.
//
// A watch from the known version would transfer less, but nothing says in time that it is complete.
// Only an event or a bookmark of the present version proves that. A collection without changes sends
// a bookmark once a minute. The version in it is that of one API server's watch cache, which may lag
// behind the API server that told the present version.
func catchUp[T any](ctx context.Context, c *Client, k kind[T], known *state[T]) (*state[T], error) {
	next := &state[T]{since: known.since, listed: known.listed}
	missing, err := compare(ctx, c, k, known, next)
	switch {
	case err != nil:
		return nil, err
	case next.version < known.version:
		return nil, errRewound
	case len(missing)*requestBytes > known.listed:
		return nil, errMuchChanged
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for _, object := range missing {
		group.Go(func() (err error) {
			next.objects[object.at], err = readAt(within, c, k, object, next.version)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, kept := range next.objects {
		next.bytes += kept.bytes
	}
	return next, nil
}

// compare lists the identities of a collection. It puts the known objects into the next state, and
// returns what is missing in it.
//
// Both states have the API server's order, by which compare finds known objects. In any other order
// it finds fewer of them.
func compare[T any](ctx context.Context, c *Client, k kind[T], known, next *state[T]) (missing []absent, err error) {
	next.objects = make([]kept[T], 0, len(known.objects)+leastKept)
	rest := known.objects
	visit := func(namespace, name, version []byte) {
		for len(rest) > 0 {
			identity := k.identity(rest[0].object)
			order := compareKeys(identity, namespace, name)
			if order > 0 {
				break
			}
			object := rest[0]
			rest = rest[1:]
			if order == 0 && len(version) > 0 && identity.ResourceVersion == string(version) {
				next.objects = append(next.objects, object)
				return
			}
		}
		missing = append(missing, absent{len(next.objects), string(namespace), string(name), string(version)})
		next.objects = append(next.objects, kept[T]{})
	}
	version, err := c.eachPage(ctx, k.path, identitiesOnly, identitiesSize, intoOne(),
		func(body []byte) (metav1.ListMeta, error) { return lean.Identities(body, visit) })
	if err != nil {
		return nil, err
	}
	next.version, err = strconv.ParseUint(version, 10, 64)
	return missing, err
}

// compareKeys compares an object's place in a list with that of a name. Lists are in the order of
// etcd's keys, namespace/name.
func compareKeys(identity *metav1.ObjectMeta, namespace, name []byte) int {
	if identity.Namespace == string(namespace) {
		return cmp.Compare(identity.Name, string(name))
	}
	return cmp.Compare(identity.Namespace+"/", string(namespace)+"/")
}

// readAt reads one object as it was at the version.
func readAt[T any](ctx context.Context, c *Client, k kind[T], object absent, version uint64) (kept[T], error) {
	within := k.path
	if object.namespace != "" {
		resource := strings.LastIndex(k.path, "/")
		within = k.path[:resource] + "/namespaces/" + url.PathEscape(object.namespace) + k.path[resource:]
	}
	result := c.rest.Get().AbsPath(within).SetHeader("Accept", k.accept).
		Param("fieldSelector", fields.OneTermEqualSelector(metav1.ObjectNameField, object.name).String()).
		Param(versionParameter, strconv.FormatUint(version, 10)).
		Param("resourceVersionMatch", string(metav1.ResourceVersionMatchExact)).Do(ctx)
	body, err := result.Raw()
	if err != nil {
		// The error of Result.Error has the server's message and reason; Raw's has not.
		return kept[T]{}, fmt.Errorf("reading %s of %s: %w", object.name, within, cmp.Or(result.Error(), err))
	}
	items, _, err := k.decoder()(body)
	if err != nil {
		return kept[T]{}, fmt.Errorf("reading %s of %s: %w", object.name, within, err)
	}
	if len(items) != 1 || !object.is(k.identity(&items[0])) {
		return kept[T]{}, fmt.Errorf("reading %s of %s: %w", object.name, within, errDiffers)
	}
	found := items[0] // the slice may have room for more
	return kept[T]{object: &found, bytes: k.size(&found, len(body))}, nil
}
