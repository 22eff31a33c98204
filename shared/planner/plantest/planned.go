package plantest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// plannedNode is a node that the plan launches.
type plannedNode struct {
	index int
	claim *plan.PlannedNodeClaim
	pool  *pool
	// variants are all instances that the launch may give. expected is the variant of the plan's
	// first offering, or the first variant if the claim does not allow that.
	variants []variant
	expected *variant
}

// variant is an instance type with an offering that a NodeClaim allows.
type variant struct {
	instanceType *catalog.InstanceType
	offering     *catalog.Offering
	labels       labelSet
}

func (v *variant) String() string {
	text := v.instanceType.Name + " " + v.offering.CapacityType + " " + v.offering.Zone
	if v.offering.ReservationID != "" {
		text += " " + v.offering.ReservationID
	}
	if v.offering.Coverage != nil {
		text += " " + v.offering.Coverage.Commitment
	}
	return text
}

// typeLabels are the labels and resources of an instance type. offering has the labels of each of
// its offerings.
type typeLabels struct {
	own                   map[string]string
	offering              []map[string]string
	capacity, allocatable amounts
}

// labelsOf reads a type's labels once. A label with several values that the offering does not
// settle gets the first value.
func (c *checker) labelsOf(t *catalog.InstanceType) *typeLabels {
	if known := c.types[t]; known != nil {
		return known
	}
	result := &typeLabels{own: map[string]string{}, capacity: amountsOf(t.Capacity), allocatable: amountsOf(t.Allocatable)}
	settled := map[string]bool{
		corev1.LabelTopologyZone: true, api.LabelTopologyZoneID: true, api.CapacityTypeLabelKey: true,
		api.LabelCapacityReservationID: true,
	}
	for _, term := range t.Requirements.Terms() {
		if term.Operator == corev1.NodeSelectorOpIn && len(term.Values) > 0 && !settled[term.Key] {
			result.own[term.Key] = term.Values[0]
		}
	}
	for i := range t.Offerings {
		o := &t.Offerings[i]
		labels := map[string]string{corev1.LabelTopologyZone: o.Zone, api.CapacityTypeLabelKey: o.CapacityType}
		if o.ZoneID != "" {
			labels[api.LabelTopologyZoneID] = o.ZoneID
		}
		if o.ReservationID != "" {
			labels[api.LabelCapacityReservationID] = o.ReservationID
		}
		for _, term := range o.Requirements.Terms() {
			if term.Operator == corev1.NodeSelectorOpIn && len(term.Values) > 0 {
				labels[term.Key] = term.Values[0]
			}
		}
		result.offering = append(result.offering, labels)
	}
	c.types[t] = result
	return result
}

// nodeLabels returns the labels that every node of Whittle has once it runs. Pool, type and
// offering add theirs.
func nodeLabels(hostname string, class *api.NodeClassReference) map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:        hostname,
		api.NodeRegisteredLabelKey:  "true",
		api.NodeInitializedLabelKey: "true",
	}
	if class != nil {
		labels[api.LabelNodeClass] = class.Name
	}
	return labels
}

func (c *checker) plannedHost(index int, claim *plan.PlannedNodeClaim) *host {
	n := &plannedNode{index: index, claim: claim, pool: c.pools[claim.NodeClaim.Labels[api.NodePoolLabelKey]]}
	h := &host{name: "planned-" + strconv.Itoa(index), planned: n, taints: claim.NodeClaim.Spec.Taints}
	fixed := nodeLabels(h.name, claim.NodeClaim.Spec.NodeClassRef)
	h.labels = labelSet{fixed, claim.NodeClaim.Labels}
	if n.pool == nil {
		return h
	}
	requirements := claim.NodeClaim.Spec.Requirements
	for i := range n.pool.types {
		t := &n.pool.types[i]
		if !allowsType(requirements, t.Name) {
			continue
		}
		known := c.labelsOf(t)
		for j := range t.Offerings {
			if !t.Offerings[j].Available {
				continue
			}
			labels := labelSet{known.offering[j], known.own, fixed, claim.NodeClaim.Labels}
			if _, ok := labels.meets(requirements); ok {
				n.variants = append(n.variants, variant{t, &t.Offerings[j], labels})
			}
		}
	}
	if len(claim.Offerings) > 0 {
		for i := range n.variants {
			if v := &n.variants[i]; isChoice(claim.Offerings[0], v) {
				n.expected = v
			}
		}
	}
	if n.expected == nil && len(n.variants) > 0 {
		n.expected = &n.variants[0]
	}
	if n.expected != nil {
		h.labels, h.allocatable = n.expected.labels, c.labelsOf(n.expected.instanceType).allocatable
	}
	return h
}

// allowsType reports whether the claim's requirement of instance types allows a type. It saves a
// look at all offerings of the others.
func allowsType(requirements []api.NodeSelectorRequirementWithMinValues, name string) bool {
	return !slices.ContainsFunc(requirements, func(r api.NodeSelectorRequirementWithMinValues) bool {
		return r.Key == corev1.LabelInstanceTypeStable && r.Operator == corev1.NodeSelectorOpIn &&
			!slices.Contains(r.Values, name)
	})
}

func isChoice(choice plan.Choice, v *variant) bool {
	return choice.InstanceType == v.instanceType.Name && choice.Zone == v.offering.Zone &&
		choice.CapacityType == v.offering.CapacityType &&
		choice.ReservationID == v.offering.ReservationID && choice.Commitment == v.offering.Commitment()
}

// checkPlanned checks the pods of each planned node against every variant of its launch.
func (c *checker) checkPlanned() {
	for _, h := range c.hosts[len(c.snapshot.Nodes):] {
		n := h.planned
		if n.pool == nil {
			c.report("claim", "%s is of no pool", h.name)
			continue
		}
		c.checkClaim(h)
		if len(h.placed) == 0 {
			c.report("claim", "%s has no pods", h.name)
		}
		if taint, p := untoleratedPod(h); p != nil {
			c.report("taints", "%s on %s: %s is not tolerated", p.name, h.name, taint.ToString())
		}
		for _, p := range h.placed {
			if p.volumes.problem != "" {
				c.report("volumes", "%s has a place and cannot: %s", p.name, p.volumes.problem)
			}
		}
		c.checkVariants(h)
	}
}

func untoleratedPod(h *host) (corev1.Taint, *pod) {
	for _, p := range h.placed {
		if taint, ok := untolerated(h.taints, p.object.Spec.Tolerations, true); ok {
			return taint, p
		}
	}
	return corev1.Taint{}, nil
}

// checkVariants reports, for each class of fault, the first variant that has it.
func (c *checker) checkVariants(h *host) {
	faults := map[string]string{}
	sum := amounts{}
	for _, p := range h.placed {
		sum.add(p.requests)
	}
	for i := range h.planned.variants {
		v := &h.planned.variants[i]
		for class, fault := range c.variantFaults(h, v, sum) {
			if _, ok := faults[class]; !ok {
				faults[class] = fmt.Sprintf("%s as %s: %s", h.name, v, fault)
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(faults)) {
		c.report(class, "%s", faults[class])
	}
}

// variantFaults returns the faults of the node as variant v, by class.
func (c *checker) variantFaults(h *host, v *variant, sum amounts) map[string]string {
	var faults map[string]string
	fault := func(class, format string, args ...any) {
		if faults == nil {
			faults = map[string]string{}
		}
		faults[class] = fmt.Sprintf(format, args...)
	}
	as := &host{name: h.name, labels: v.labels, taints: h.taints, placed: h.placed, planned: h.planned}
	for _, p := range h.placed {
		if !p.filter.matches(v.labels, "") {
			fault("labels", "node selector or affinity of %s does not match", p.name)
		}
		if !p.volumes.usable(v.labels, "", true) {
			fault("volumes", "a volume of %s cannot be used there", p.name)
		}
	}
	daemons := c.pendingDaemons(as)
	if problem := c.resourceProblem(v, sum, daemons); problem != "" {
		fault("resources", "%s", problem)
	}
	if problem := portProblem(as, daemons); problem != "" {
		fault("ports", "%s", problem)
	}
	if !c.attaches(h.placed, v.instanceType) {
		fault("attachments", "%d EBS volumes are more than can be attached", countVolumes(h.placed))
	}
	return faults
}

// attaches reports whether a new node of the type can attach the pods' EBS volumes.
func (c *checker) attaches(pods []*pod, t *catalog.InstanceType) bool {
	most := c.mostVolumes(t)
	return most == 0 || countVolumes(pods) <= most
}

// countVolumes counts the pods' EBS volumes.
func countVolumes(pods []*pod) int {
	distinct := map[string]bool{}
	for _, p := range pods {
		for _, a := range p.volumes.attachments {
			if a.driver == ebsDriver {
				distinct[a.volume] = true
			}
		}
	}
	return len(distinct)
}

// mostVolumes is how many EBS volumes a node of the type attaches: the most that a running node of the type
// says, else what the type says. Zero means that nothing is known.
func (c *checker) mostVolumes(t *catalog.InstanceType) int {
	most := 0
	for i := range c.snapshot.Nodes {
		node := c.snapshot.Nodes[i].Node
		if node != nil && node.Labels[corev1.LabelInstanceTypeStable] == t.Name {
			most = max(most, c.volumes.limits[node.Name][ebsDriver])
		}
	}
	if most == 0 {
		most = t.Volumes
	}
	return most
}

// resourceProblem names the first resource, by name, that the pods and daemon sets exceed.
func (c *checker) resourceProblem(v *variant, sum amounts, daemons []*daemon) string {
	allocatable := c.labelsOf(v.instanceType).allocatable
	first, want := corev1.ResourceName(""), int64(0)
	for name, amount := range sum {
		if amount == 0 {
			continue
		}
		for _, d := range daemons {
			amount += d.requests[name]
		}
		if amount > allocatable[name] && (first == "" || name < first) {
			first, want = name, amount
		}
	}
	if first == "" {
		return ""
	}
	return excess(first, want, allocatable[first])
}

func excess(name corev1.ResourceName, want, have int64) string {
	unit := ""
	if name == corev1.ResourceCPU {
		unit = "m"
	}
	return fmt.Sprintf("%d%s of %s is planned, there is %d%s", want, unit, name, have, unit)
}

func portText(p hostPort) string {
	return p.ip + ":" + strconv.Itoa(int(p.port)) + "/" + string(p.protocol)
}
