package schedulertest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

const (
	// waitTimeout bounds each wait for the control plane.
	waitTimeout = 2 * time.Minute
	// pollInterval is the time between two looks of such a wait.
	pollInterval = 40 * time.Millisecond
	// writers is the number of concurrent requests.
	writers = 16
)

// collection is the path at which the API server serves objects of one kind.
type collection struct {
	prefix, plural string
	namespaced     bool
}

var (
	namespaces        = collection{"/api/v1", "namespaces", false}
	serviceAccounts   = collection{"/api/v1", "serviceaccounts", true}
	nodes             = collection{"/api/v1", "nodes", false}
	pods              = collection{"/api/v1", "pods", true}
	volumes           = collection{"/api/v1", "persistentvolumes", false}
	claims            = collection{"/api/v1", "persistentvolumeclaims", true}
	daemonSets        = collection{"/apis/apps/v1", "daemonsets", true}
	storageClasses    = collection{"/apis/storage.k8s.io/v1", "storageclasses", false}
	csiNodes          = collection{"/apis/storage.k8s.io/v1", "csinodes", false}
	volumeAttachments = collection{"/apis/storage.k8s.io/v1", "volumeattachments", false}
	runtimeClasses    = collection{"/apis/node.k8s.io/v1", "runtimeclasses", false}
	priorityClasses   = collection{"/apis/scheduling.k8s.io/v1", "priorityclasses", false}
)

// path returns the collection's path. An empty namespace stands for all namespaces. Names lead to
// an object and its subresources.
func (k collection) path(namespace string, names ...string) string {
	path := k.prefix
	if k.namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + k.plural
	for _, name := range names {
		path += "/" + name
	}
	return path
}

// cluster is a connection with the rights of an administrator.
type cluster struct{ rest *rest.RESTClient }

func connect(config *rest.Config) (*cluster, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, storagev1.AddToScheme, nodev1.AddToScheme, schedulingv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.ContentConfig = rest.ContentConfig{
		GroupVersion: &schema.GroupVersion{
			Version: "v1",
		}, NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion(),
		ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf,
	}
	client, err := rest.UnversionedRESTClientFor(config)
	return &cluster{client}, err
}

// create creates the object, and reads into it what the server stored.
func (c *cluster) create(ctx context.Context, kind collection, namespace string, object runtime.Object) error {
	if err := c.rest.Post().AbsPath(kind.path(namespace)).Body(object).Do(ctx).Into(object); err != nil {
		return fmt.Errorf("creating one of %s: %w", kind.path(namespace), err)
	}
	return nil
}

// list reads the collection of all namespaces.
func (c *cluster) list(ctx context.Context, kind collection, into runtime.Object) error {
	if err := c.rest.Get().AbsPath(kind.path("")).Do(ctx).Into(into); err != nil {
		return fmt.Errorf("listing %s: %w", kind.plural, err)
	}
	return nil
}

// patch merges the change into the object or subresource at the path.
func (c *cluster) patch(ctx context.Context, path string, change map[string]any) error {
	body, err := json.Marshal(change)
	if err == nil {
		err = c.rest.Patch(types.MergePatchType).AbsPath(path).Body(body).Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("changing %s: %w", path, err)
	}
	return nil
}

// remove deletes the object or the collection at the path without a grace period. It is no error
// if the object does not exist.
func (c *cluster) remove(ctx context.Context, path string) error {
	err := c.rest.Delete().
		AbsPath(path).
		Param("gracePeriodSeconds", "0").
		Param("propagationPolicy", "Background").
		Do(ctx).
		Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", path, err)
	}
	return nil
}

// wait calls look until it returns true. After waitTimeout its error names what did not happen.
func wait(ctx context.Context, what string, look func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, fmt.Errorf("waited %s in vain until %s", waitTimeout, what))
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		so, err := look(ctx)
		if so || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// each does the work for every item, several at a time.
func each[T any](ctx context.Context, items []T, work func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, item := range items {
		group.Go(func() error { return work(ctx, item) })
	}
	return group.Wait()
}

// reset removes all objects of a scenario except its namespaces. Namespaces take seconds to
// terminate, and empty ones do not affect later scenarios.
func (c *cluster) reset(ctx context.Context, in []string) error {
	for _, namespace := range in {
		if err := c.remove(ctx, daemonSets.path(namespace)); err != nil {
			return err
		}
	}
	for _, kind := range []collection{pods, claims, volumes, volumeAttachments, nodes, csiNodes, storageClasses,
		runtimeClasses} {
		in := in
		if !kind.namespaced {
			in = []string{""}
		}
		for _, namespace := range in {
			if err := c.empty(ctx, kind, namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// empty deletes the objects of the collection until none is left. It repeats, because controllers
// add objects and remove finalizers meanwhile.
func (c *cluster) empty(ctx context.Context, kind collection, namespace string) error {
	return wait(ctx, "no "+kind.plural+" were left", func(ctx context.Context) (bool, error) {
		var left metav1.PartialObjectMetadataList
		request := c.rest.Get().
			AbsPath(kind.path(namespace)).
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
		body, err := request.Do(ctx).Raw()
		if err == nil {
			err = json.Unmarshal(body, &left)
		}
		if err != nil || len(left.Items) == 0 {
			return err == nil, err
		}
		return false, c.remove(ctx, kind.path(namespace))
	})
}
