package sight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/buffer"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fairness"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/quota"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/virtual"
)

const (
	// mostBuffers bounds the buffers of one plan, because each is a read.
	mostBuffers = 200
	// mostVirtual bounds the virtual pods of all buffers, and those of all requests.
	mostVirtual = 20_000
	// parallelReads is how many of them are read at once.
	parallelReads = 16
)

// OwnBuffers lists the CapacityBuffers that Whittle carries out: the oldest of each namespace, then the
// second of each, and so on.
func OwnBuffers(ctx context.Context, reader ObjectReader) ([]api.CapacityBuffer, error) {
	objects, err := reader.CapacityBuffers(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing capacitybuffers: %w", err)
	}
	objects = slices.DeleteFunc(objects, func(object api.CapacityBuffer) bool {
		return object.DeletionTimestamp != nil || !buffer.IsOurs(&object)
	})
	slices.SortFunc(objects, func(a, b api.CapacityBuffer) int { return byAge(&a.ObjectMeta, &b.ObjectMeta) })
	objects = fairness.InTurn(objects, func(object *api.CapacityBuffer) string { return object.Namespace })
	return objects[:min(len(objects), mostBuffers)], nil
}

// byAge orders objects by age, the oldest first, and then by name.
func byAge(a, b *metav1.ObjectMeta) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name))
}

// Buffers reads the CapacityBuffers with what they name. A name of nothing is no error. Others may
// be tried again, and then nothing is known of any buffer's pods.
func Buffers(ctx context.Context, reader ObjectReader, ranges []corev1.LimitRange) ([]buffer.Buffer, error) {
	objects, err := OwnBuffers(ctx, reader)
	if err != nil {
		return nil, err
	}
	buffers := make([]buffer.Buffer, len(objects))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for i := range objects {
		group.Go(func() error {
			source, err := sourceOf(reading, reader, &objects[i])
			if err != nil {
				return fmt.Errorf("capacitybuffer %s/%s: %w", objects[i].Namespace, objects[i].Name, err)
			}
			buffers[i] = buffer.Resolve(&objects[i], source, ranges)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(buffers) > 0 {
		room, err := quotas(ctx, reader)
		if err != nil {
			return nil, err
		}
		buffer.Within(buffers, room)
	}
	buffer.Bound(buffers, mostVirtual)
	return buffers, nil
}

// quotas reads what the ResourceQuotas leave. A reader with the rights of an older installation knows of
// none.
func quotas(ctx context.Context, reader ObjectReader) (*quota.Room, error) {
	all, err := reader.ResourceQuotas(ctx)
	if err != nil && !cluster.IsForbidden(err) {
		return nil, fmt.Errorf("listing resourcequotas: %w", err)
	}
	return quota.New(all), nil
}

// sourceOf reads what the buffer names, and returns nil where that is nothing.
func sourceOf(ctx context.Context, reader ObjectReader, object *api.CapacityBuffer) (*buffer.Source, error) {
	of, problem := buffer.ReferenceOf(object)
	if problem != "" {
		return nil, nil
	}
	template, err := reader.TemplateOf(ctx, of.Kind, of.Namespace, of.Name)
	if template == nil {
		return nil, err
	}
	return &buffer.Source{Template: template.Pod, Generation: template.Generation, Replicas: template.Replicas}, nil
}

// boundVirtual reads the virtual pods that keep nodes, and returns those that the nodes of the objects
// have room for, each with its node. A pod that nothing has room for keeps none. A request that
// existing nodes have no room for yet keeps none either, unless it grows.
func boundVirtual(
	ctx context.Context, reader Reader, settings *Settings, o *snapshot.Objects, now time.Time,
) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	if settings.ProvisioningRequests {
		requests, err := Requests(ctx, reader, o)
		if err != nil {
			return nil, err
		}
		for i := range requests {
			if requests[i].Grows() {
				pods = append(pods, requests[i].Pods...)
			}
		}
	}
	if settings.CapacityBuffers {
		buffers, err := Buffers(ctx, reader, o.LimitRanges)
		if err != nil {
			return nil, err
		}
		pods = append(pods, buffer.Pods(buffers)...)
	}
	if len(pods) == 0 {
		return nil, nil
	}
	nodes := snapshot.Nodes(o, now)
	nodes.Pods = pods
	if err := details(ctx, reader, nodes, plan.NeedsOf(nodes.Pods, nodes.Nodes)); err != nil {
		return nil, err
	}
	return virtual.Bind(planning.Solve(nodes), pods), nil
}
