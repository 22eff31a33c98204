package observe

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/spread"
)

// Objects reads the objects that every plan needs. It reads pools past the watch cache, because
// their limits and replicas decide which claims go, and they are few. It leaves out the NodePools and NodeClaims of
// other controllers' node classes. Their nodes are like nodes without a claim: pods may run on
// them, and Whittle never ends them. An error is that of one of the lists, and may be tried again.
func Objects(ctx context.Context, client *cluster.Client) (*snapshot.Objects, error) {
	o := &snapshot.Objects{}
	group, ctx := errgroup.WithContext(ctx)
	read(ctx, group, &o.Pods, client.Pods)
	read(ctx, group, &o.Nodes, client.Nodes)
	read(ctx, group, &o.NodeClaims, client.NodeClaims)
	read(ctx, group, &o.NodePools, client.Consistent().NodePools)
	read(ctx, group, &o.NodeClasses, client.NodeClasses)
	read(ctx, group, &o.DaemonSets, client.DaemonSets)
	read(ctx, group, &o.LimitRanges, client.LimitRanges)
	read(ctx, group, &o.PodDisruptionBudgets, client.PodDisruptionBudgets)
	read(ctx, group, &o.NodeOverlays, client.NodeOverlays)
	if err := group.Wait(); err != nil {
		return nil, err
	}
	o.NodeClaims = slices.DeleteFunc(
		o.NodeClaims, func(claim api.NodeClaim) bool { return !claim.Spec.NodeClassRef.IsEC2NodeClass() })
	o.NodePools = slices.DeleteFunc(o.NodePools, func(pool api.NodePool) bool {
		ref := pool.Spec.Template.Spec.NodeClassRef
		return ref != nil && !ref.IsEC2NodeClass()
	})
	o.ForgetOwnNominations()
	return o, nil
}

// Details reads into the snapshot the objects that only some pods make a plan need: volumes, their
// claims and classes, and namespaces. An error is that of one of the lists, and may be tried again.
func Details(ctx context.Context, client *cluster.Client, s *plan.Snapshot) error {
	group, ctx := errgroup.WithContext(ctx)
	if snapshot.NeedsVolumes(s) {
		read(ctx, group, &s.PersistentVolumeClaims, client.PersistentVolumeClaims)
		read(ctx, group, &s.PersistentVolumes, client.PersistentVolumes)
		read(ctx, group, &s.StorageClasses, client.StorageClasses)
		read(ctx, group, &s.CSINodes, client.CSINodes)
	}
	if snapshot.NeedsNamespaces(s) {
		read(ctx, group, &s.Namespaces, client.Namespaces)
	}
	return group.Wait()
}

// Gangs reads the gangs of the snapshot's pods, and nothing where no pod names one. An error may be tried
// again.
func Gangs(ctx context.Context, client *cluster.Client, s *plan.Snapshot) error {
	if !slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool {
		return plan.GangOf(&pod).Name != "" && !scheduling.IsVirtual(&pod)
	}) {
		return nil
	}
	groups, err := client.PodGroups(ctx)
	s.Gangs = append(s.Gangs, plan.GangsOf(groups)...)
	return err
}

// mostNamespaces is how many namespaces are read one by one. Of more, the whole cluster is read.
const mostNamespaces = 5

// Spread gives the pods their default topology spread. It reads the selectors that count for them,
// and nothing where no pod would change. An error is that of one of the lists, and may be tried
// again.
func Spread(ctx context.Context, client *cluster.Client, defaults spread.Defaults, pods []corev1.Pod) error {
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
				return client.Selectors(ctx, kind, namespace)
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

// read starts a list in the group.
func read[T any](ctx context.Context, group *errgroup.Group, into *[]T, list func(context.Context) ([]T, error)) {
	group.Go(func() (err error) {
		*into, err = list(ctx)
		return err
	})
}
