package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// planClaims makes the nodes into claims, and gives the pods their places.
func (p *problem) planClaims(nodes []*node) {
	slack := map[*pool][]int64{}
	for _, pool := range p.pools {
		slack[pool] = pool.left()
	}
	for _, n := range nodes {
		c := &p.configs[p.columns[n.column].config]
		for i := range c.use {
			slack[c.pool][i] -= c.use[i]
		}
	}
	placed := make([]int, len(p.demands))
	chosen := map[string][]int{}
	for _, n := range nodes {
		own := &p.configs[p.columns[n.column].config]
		// Nodes filled alike have the same choices, unless each takes something of what the limits leave.
		key := fmt.Sprint(n.column, n.fills)
		columns, ok := chosen[key]
		if !ok || len(own.use) > 0 {
			columns = p.choose(n, slack[own.pool])
			chosen[key] = columns
		}
		for i := range own.use {
			most := own.use[i]
			for _, j := range columns {
				most = max(most, p.configs[p.columns[j].config].use[i])
			}
			slack[own.pool][i] -= most - own.use[i]
		}
		planned := PlannedNodeClaim{PricePerHour: p.columns[columns[0]].offering.Price, Offerings: make([]Choice, 0, len(columns))}
		for _, j := range columns {
			column := p.columns[j]
			name := p.configs[column.config].typ.Name
			if !slices.Contains(planned.InstanceTypes, name) {
				planned.InstanceTypes = append(planned.InstanceTypes, name)
			}
			planned.Offerings = append(planned.Offerings, Choice{
				InstanceType: name, Zone: column.offering.Zone, CapacityType: column.offering.CapacityType, Price: column.offering.Price,
			})
		}
		requests := corev1.ResourceList{}
		for _, f := range n.fills {
			d := p.demands[f.demand]
			for _, unit := range d.units[:f.count] {
				for _, pod := range unit {
					planned.Pods = append(planned.Pods, refOf(pod))
					addLists(requests, d.shape.requests)
				}
			}
			placed[f.demand] += f.count
			d.units = d.units[f.count:]
		}
		slices.SortFunc(planned.Pods, compareRefs)
		addLists(requests, p.configs[p.columns[columns[0]].config].daemons)
		planned.NodeClaim = p.claim(own.pool, p.labelsOf(n), requests, &planned)
		p.plan.NodeClaims = append(p.plan.NodeClaims, planned)
	}
	p.plan.LowerBoundPerHour = p.lowerBound(placed)
}

// claim is the object to create for a planned node.
func (p *problem) claim(pool *pool, requirements scheduling.Requirements, requests corev1.ResourceList, planned *PlannedNodeClaim) api.NodeClaim {
	var zones, capacityTypes []string
	for _, choice := range planned.Offerings {
		zones = append(zones, choice.Zone)
		capacityTypes = append(capacityTypes, choice.CapacityType)
	}
	requirements.Add(
		scheduling.In(corev1.LabelInstanceTypeStable, planned.InstanceTypes...), scheduling.In(corev1.LabelTopologyZone, zones...),
		scheduling.In(api.CapacityTypeLabelKey, capacityTypes...),
	)
	for _, key := range requirements.Keys() {
		if scheduling.IsWellKnown(key) {
			continue
		}
		// A label of the user's own that nothing has decided gets some value that is allowed, or the node would not meet its claim.
		if _, decided := requirements[key].Single(); !decided {
			if value, ok := anyValue(requirements[key]); ok {
				requirements.Add(scheduling.In(key, value))
			}
		}
	}
	template := pool.api.Spec.Template.DeepCopy()
	annotations := template.Annotations
	if text := nominatedText(planned.Pods); text != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[api.NominatedPodsAnnotationKey] = text
	}
	labels := map[string]string{}
	for key, value := range requirements.Labels() {
		if !api.IsRestrictedLabel(key) {
			labels[key] = value
		}
	}
	maps.Copy(labels, template.Labels)
	labels[api.NodePoolLabelKey] = pool.name()
	controller := true
	return api.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: pool.name() + "-",
			Labels:       labels,
			Annotations:  annotations,
			Finalizers:   []string{api.TerminationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: api.APIVersion, Kind: api.NodePoolKind, Name: pool.name(), UID: pool.api.UID, BlockOwnerDeletion: &controller,
			}},
		},
		Spec: api.NodeClaimSpec{
			Taints:                 template.Spec.Taints,
			StartupTaints:          template.Spec.StartupTaints,
			Requirements:           requirements.Terms(),
			Resources:              api.ResourceRequirements{Requests: requests},
			NodeClassRef:           template.Spec.NodeClassRef,
			TerminationGracePeriod: template.Spec.TerminationGracePeriod,
			ExpireAfter:            template.Spec.ExpireAfter,
		},
	}
}

// anyValue is a value that the requirement allows, the same each time; false if the label may as well be absent, or none is found.
func anyValue(r scheduling.Requirement) (string, bool) {
	if r.AllowsAbsent() {
		return "", false
	}
	if values, ok := r.Values(); ok {
		if len(values) == 0 {
			return "", false
		}
		return values[0], true
	}
	for _, term := range r.Terms() {
		if term.Operator != api.NodeSelectorOpGte && term.Operator != api.NodeSelectorOpLte {
			continue
		}
		bound, err := strconv.ParseInt(term.Values[0], 10, 64)
		if err != nil {
			continue
		}
		// A few steps inward pass the values that are forbidden beside the bound.
		for step := range int64(100) {
			value := bound + step
			if term.Operator == api.NodeSelectorOpLte {
				value = bound - step
			}
			if text := strconv.FormatInt(value, 10); r.Has(text) {
				return text, true
			}
		}
	}
	for n := range 100 {
		if text := strings.TrimSuffix("true-"+strconv.Itoa(n), "-0"); r.Has(text) {
			return text, true
		}
	}
	return "", false
}
