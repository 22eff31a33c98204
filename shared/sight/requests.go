package sight

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fairness"
	"github.com/whittle-dev/whittle/shared/provisioningrequest"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// mostRequests bounds the ProvisioningRequests of one plan. The oldest of each namespace count first, and
// the others wait.
const mostRequests = 50

// OwnRequests lists the ProvisioningRequests of Whittle's classes, the oldest first.
func OwnRequests(ctx context.Context, reader ObjectReader) ([]api.ProvisioningRequest, error) {
	objects, err := reader.ProvisioningRequests(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing provisioningrequests: %w", err)
	}
	objects = slices.DeleteFunc(objects, func(object api.ProvisioningRequest) bool {
		return object.DeletionTimestamp != nil || !provisioningrequest.IsOurs(&object)
	})
	slices.SortFunc(objects, func(a, b api.ProvisioningRequest) int { return byAge(&a.ObjectMeta, &b.ObjectMeta) })
	return objects, nil
}

// Requests reads the ProvisioningRequests of Whittle's classes, and the PodTemplates of those that are
// not over. It returns these with their pods. The objects show which real pods have come. A template
// that does not exist is no error. Others may be tried again, and then nothing is known of any
// request's pods.
func Requests(
	ctx context.Context, reader ObjectReader, o *snapshot.Objects,
) ([]provisioningrequest.Request, error) {
	all, err := OwnRequests(ctx, reader)
	if err != nil {
		return nil, err
	}
	var open []*api.ProvisioningRequest
	for i := range all {
		if provisioningrequest.StageOf(&all[i]) != provisioningrequest.Over {
			open = append(open, &all[i])
		}
	}
	open = fairness.InTurn(open, func(object **api.ProvisioningRequest) string { return (*object).Namespace })
	open = open[:min(len(open), mostRequests)]
	templates, err := templatesOf(ctx, reader, open)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return nil, nil
	}
	room, err := quotas(ctx, reader)
	if err != nil {
		return nil, err
	}
	var requests []provisioningrequest.Request
	total := 0
	for _, object := range open {
		resolved := provisioningrequest.Resolve(object, templates[object.Namespace], o.Pods, o.LimitRanges)
		resolved.Within(room)
		if total += len(resolved.Pods); total > mostVirtual {
			break // it waits until the older ones are over
		}
		requests = append(requests, resolved)
	}
	return requests, nil
}

// templatesOf reads the PodTemplates that the requests name, each once, by namespace and name.
func templatesOf(
	ctx context.Context, reader ObjectReader, requests []*api.ProvisioningRequest,
) (map[string]map[string]*corev1.PodTemplateSpec, error) {
	found := map[string]map[string]*corev1.PodTemplateSpec{}
	asked := map[types.NamespacedName]bool{}
	var mutex sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReads)
	for _, request := range requests {
		for i := range request.Spec.PodSets {
			name := types.NamespacedName{Namespace: request.Namespace, Name: request.Spec.PodSets[i].PodTemplateRef.Name}
			if asked[name] {
				continue
			}
			asked[name] = true
			group.Go(func() error {
				template, err := reader.TemplateOf(ctx, "PodTemplate", name.Namespace, name.Name)
				if err != nil || template == nil {
					return err
				}
				mutex.Lock()
				defer mutex.Unlock()
				if found[name.Namespace] == nil {
					found[name.Namespace] = map[string]*corev1.PodTemplateSpec{}
				}
				found[name.Namespace][name.Name] = &template.Pod
				return nil
			})
		}
	}
	return found, group.Wait()
}
