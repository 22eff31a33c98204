package schedulertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// nodeOf returns the node that the claim becomes with the chosen offering. Its labels come from the
// instance type, the offering and the claim.
func nodeOf(
	name string,
	claim *plan.PlannedNodeClaim,
	choice plan.Choice,
	types []catalog.InstanceType,
) (*corev1.Node, error) {
	i := slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == choice.InstanceType })
	if i < 0 {
		return nil, fmt.Errorf("the plan launches instance type %q, which is not on offer", choice.InstanceType)
	}
	typ := &types[i]
	j := slices.IndexFunc(typ.Offerings, func(o catalog.Offering) bool {
		return o.Available && o.Zone == choice.Zone && o.CapacityType == choice.CapacityType &&
			o.ReservationID == choice.ReservationID
	})
	if j < 0 {
		return nil, fmt.Errorf("the plan launches %+v, which is not on offer", choice)
	}
	offering := &typ.Offerings[j]
	labels := typ.Requirements.Labels()
	maps.Copy(labels, offering.Requirements.Labels())
	for _, requirement := range claim.NodeClaim.Spec.Requirements {
		if requirement.Operator == corev1.NodeSelectorOpIn && len(requirement.Values) == 1 {
			labels[requirement.Key] = requirement.Values[0]
		}
	}
	maps.Copy(labels, claim.NodeClaim.Labels)
	maps.Copy(labels, map[string]string{
		corev1.LabelTopologyZone: offering.Zone, api.LabelTopologyZoneID: offering.ZoneID,
		api.LabelTopologyZoneEBS: offering.Zone,
		api.CapacityTypeLabelKey: offering.CapacityType, api.LabelInstanceTenancy: api.TenancyDefault,
		corev1.LabelHostname: name, api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
	})
	requirements, err := scheduling.FromTerms(claim.NodeClaim.Spec.Requirements)
	if err != nil {
		return nil, err
	}
	if err := scheduling.FromLabels(labels).Compatible(requirements, scheduling.UndefinedIsAbsent); err != nil {
		return nil, fmt.Errorf("the plan launches %+v, and the node is not what its own claim says: %w", choice, err)
	}
	return readyNode(name, labels, claim.NodeClaim.Spec.Taints, typ.Allocatable), nil
}

// launch creates the nodes of a plan. It returns when they have their labels, the pods of their
// daemon sets, and no taint of a starting node.
//
// The nodes lack resources for other pods until release. Otherwise the scheduler would bind all
// pods to the first node before the others exist, and count only its zone for a spread. A node
// without resources also does not wake waiting pods.
func (c *cluster) launch(ctx context.Context, launched []*corev1.Node) error {
	var sets appsv1.DaemonSetList
	if err := c.list(ctx, daemonSets, &sets); err != nil {
		return err
	}
	err := each(ctx, launched, func(ctx context.Context, node *corev1.Node) error {
		made := node.DeepCopy()
		daemons, err := daemonsOf(node, sets.Items)
		if err != nil {
			return err
		}
		made.Status.Allocatable = roomFor(daemons, node.Status.Allocatable)
		// Pods of daemon sets tolerate this taint, and other pods should not come yet.
		made.Spec.Unschedulable = len(daemons) > 0
		return c.createNode(ctx, made)
	})
	if err != nil {
		return err
	}
	if err := c.awaitDaemons(ctx, launched, sets.Items); err != nil {
		return err
	}
	if len(sets.Items) > 0 {
		err = each(ctx, launched, func(ctx context.Context, node *corev1.Node) error {
			return c.patch(ctx, nodes.path("", node.Name), map[string]any{"spec": map[string]any{"unschedulable": nil}})
		})
		if err != nil {
			return err
		}
	}
	return c.awaitTaints(ctx, launched)
}

// release gives the launched nodes their resources, as close to the same moment as possible.
func (c *cluster) release(ctx context.Context, launched []*corev1.Node) error {
	return each(ctx, launched, func(ctx context.Context, node *corev1.Node) error {
		room := map[string]any{"status": map[string]any{"allocatable": node.Status.Allocatable}}
		return c.patch(ctx, nodes.path("", node.Name, "status"), room)
	})
}

// roomFor returns the requests of the daemon sets' pods, at most the given resources.
func roomFor(daemons []appsv1.DaemonSet, most corev1.ResourceList) corev1.ResourceList {
	room := corev1.ResourceList{corev1.ResourcePods: resource.Quantity{}}
	for i := range daemons {
		for name, quantity := range scheduling.DaemonPodRequests(&daemons[i].Spec.Template) {
			sum := room[name]
			sum.Add(quantity)
			if limit := most[name]; sum.Cmp(limit) > 0 {
				sum = limit
			}
			room[name] = sum
		}
	}
	return room
}

// createNode creates the node and removes the taint that admission puts on every new node. A
// controller would remove it later.
func (c *cluster) createNode(ctx context.Context, node *corev1.Node) error {
	taints := node.Spec.Taints
	if err := c.create(ctx, nodes, "", node); err != nil {
		return err
	}
	return c.patch(ctx, nodes.path("", node.Name), map[string]any{"spec": map[string]any{"taints": taints}})
}

// awaitTaints waits until the nodes have their own taints and no taint of a starting node.
func (c *cluster) awaitTaints(ctx context.Context, wanted []*corev1.Node) error {
	return wait(ctx, "every node was ready", func(ctx context.Context) (bool, error) {
		var list corev1.NodeList
		if err := c.list(ctx, nodes, &list); err != nil {
			return false, err
		}
		taints := map[string]int{}
		for i := range list.Items {
			taints[list.Items[i].Name] = len(list.Items[i].Spec.Taints)
		}
		return !slices.ContainsFunc(wanted, func(node *corev1.Node) bool {
			count, ok := taints[node.Name]
			return !ok || count != len(node.Spec.Taints)
		}), nil
	})
}

// awaitDaemons waits until each node runs a pod of every daemon set that belongs there. Daemon sets
// come first on real nodes too.
func (c *cluster) awaitDaemons(ctx context.Context, on []*corev1.Node, sets []appsv1.DaemonSet) error {
	type place struct{ set, node string }
	wanted := map[place]bool{}
	for _, node := range on {
		daemons, err := daemonsOf(node, sets)
		if err != nil {
			return err
		}
		for i := range daemons {
			wanted[place{daemons[i].Name, node.Name}] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	changed, refusals := time.Now(), map[place]string{}
	err := wait(ctx, "every node had its daemon sets' pods", func(ctx context.Context) (bool, error) {
		var list corev1.PodList
		if err := c.list(ctx, pods, &list); err != nil {
			return false, err
		}
		before := len(wanted) - len(refusals)
		clear(refusals)
		for i := range list.Items {
			pod := &list.Items[i]
			owner := metav1.GetControllerOf(pod)
			if owner == nil {
				continue
			}
			at := place{owner.Name, cmp.Or(pod.Spec.NodeName, targetOf(pod))}
			if pod.Spec.NodeName != "" {
				delete(wanted, at)
			} else if message, ok := refused(pod); ok && wanted[at] {
				refusals[at] = message
			}
		}
		if len(wanted)-len(refusals) != before {
			changed = time.Now()
		}
		return len(wanted) == 0 || len(wanted) == len(refusals) && time.Since(changed) > settleTimeStuck, nil
	})
	if err != nil || len(wanted) > 0 {
		return fmt.Errorf(
			"daemon sets' pods are missing: %v; refused: %v; %w",
			slices.Collect(maps.Keys(wanted)),
			refusals,
			err,
		)
	}
	return nil
}

// targetOf returns the node that the controller made a daemon set's pod for.
func targetOf(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil ||
		pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}
