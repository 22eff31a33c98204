package sight

import (
	"context"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/spread"
)

// mostNamespaces is how many namespaces are read one by one. Of more, the whole cluster is read.
const mostNamespaces = 5

// Spread gives the pods their default topology spread. It reads the selectors that count for them,
// and nothing where no pod would change. An error is that of one of the lists, and may be tried
// again.
func Spread(ctx context.Context, reader ObjectReader, defaults spread.Defaults, pods []corev1.Pod) error {
	group, reading := errgroup.WithContext(ctx)
	var lists []*[]spread.Selector
	for kind, namespaces := range defaults.Needs(pods) {
		if len(namespaces) > mostNamespaces {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			list := &[]spread.Selector{}
			lists = append(lists, list)
			read(reading, group, list, func(ctx context.Context) ([]spread.Selector, error) {
				return reader.Selectors(ctx, kind, namespace)
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var known []spread.Selector
	for _, list := range lists {
		known = append(known, *list...)
	}
	defaults.Apply(pods, known)
	return nil
}
