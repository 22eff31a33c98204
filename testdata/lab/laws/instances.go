package laws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// doubled lists the claims that have two live instances, and the instances that are two claims'.
func doubled(w *World) []string {
	var wrong []string
	of, owners := map[string][]string{}, w.owners()
	for i := range w.Instances {
		if instance := &w.Instances[i]; owners[instance.ID] != "" && Live(instance) {
			of[owners[instance.ID]] = append(of[owners[instance.ID]], instance.ID)
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(of)) {
		if len(of[claim]) > 1 {
			wrong = append(wrong, fmt.Sprintf("nodeclaim %s has the instances %s", claim, strings.Join(of[claim], ", ")))
		}
	}
	first := map[string]string{}
	for _, claim := range w.Claims {
		id := claim.Status.ProviderID
		if other := first[id]; id != "" && other != "" {
			wrong = append(wrong, fmt.Sprintf("the nodeclaims %s and %s have the same instance %s", other, claim.Name, id))
		}
		first[id] = claim.Name
	}
	return wrong
}

// outOfService lists the nodes whose volumes Kubernetes may detach although the machine runs. The taint
// also lets it delete the node's pods without their machine's knowledge.
func outOfService(w *World) []string {
	var wrong []string
	running := w.live()
	for _, node := range w.Nodes {
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeOutOfService
		})
		if instance := running[node.Spec.ProviderID]; tainted && instance != nil {
			wrong = append(wrong, fmt.Sprintf("node %s is out of service, and its instance %s is %s", node.Name, instance.ID,
				instance.State))
		}
	}
	return wrong
}

// bereft lists the claims that stay and have no live instance, or one whose tag names another claim.
func bereft(w *World) []string {
	var wrong []string
	instances := map[string]*ec2.Instance{}
	for i := range w.Instances {
		instance := &w.Instances[i]
		stopped := w.Stopped && (instance.State == ec2.Stopping || instance.State == ec2.Stopped)
		if instance.State == ec2.Running || w.Patience > 0 && Live(instance) || stopped {
			instances[instance.ProviderID()] = instance
		}
	}
	for _, claim := range w.Claims {
		if claim.DeletionTimestamp != nil || w.young(claim.CreationTimestamp.Time) {
			continue
		}
		id := claim.Status.ProviderID
		if instances[id] == nil {
			wrong = append(wrong, fmt.Sprintf("nodeclaim %s has no live instance (%q)", claim.Name, id))
		} else if tagged := instances[id].Tags[api.NodeClaimTagKey]; tagged != "" && tagged != claim.Name {
			wrong = append(wrong, fmt.Sprintf("nodeclaim %s has the instance %s, whose tag names %q", claim.Name, id, tagged))
		}
	}
	return wrong
}

// unclaimed lists the live instances without a claim.
func unclaimed(w *World) []string {
	var wrong []string
	for _, id := range w.Unclaimed() {
		at := slices.IndexFunc(w.Instances, func(i ec2.Instance) bool { return i.ID == id })
		wrong = append(wrong, fmt.Sprintf("instance %s has no nodeclaim; tags %v", id, w.Instances[at].Tags))
	}
	return wrong
}

// misbilled lists the claims that say another type, zone or capacity type than that of their instances.
// Prices are judged by what claims say.
func misbilled(w *World) []string {
	var wrong []string
	instances := w.live()
	for _, claim := range w.Claims {
		i, labels := instances[claim.Status.ProviderID], claim.Labels
		said := ec2.Instance{
			InstanceType: labels[corev1.LabelInstanceTypeStable], Zone: labels[corev1.LabelTopologyZone],
			CapacityType: labels[api.CapacityTypeLabelKey],
		}
		// A claim gets its labels when its instance is known.
		if i == nil || claim.DeletionTimestamp != nil || said.InstanceType == "" ||
			said.InstanceType == i.InstanceType && said.CapacityType == bought(i) && said.Zone == i.Zone {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("nodeclaim %s says %s of %s in %s, and EC2 bills %s of %s in %s", claim.Name,
			said.InstanceType, said.CapacityType, said.Zone, i.InstanceType, bought(i), i.Zone))
	}
	return wrong
}

// bought is the capacity type of a claim with the instance.
func bought(i *ec2.Instance) string {
	if i.CapacityReservationID != "" {
		return api.CapacityTypeReserved
	}
	return i.CapacityType
}
