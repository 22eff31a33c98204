package plan

import (
	"encoding/binary"
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

// claimWriter makes the nodes into claims. Nodes that the same columns can stand in for share their choices, and those whose demands ask for the same labels share
// their requirements: nobody may change the lists of a plan in place.
type claimWriter struct {
	p       *problem
	ledger  *ledger
	chosen  map[string]*chosen
	asked   map[string]*asked
	pools   map[*pool]*api.NodeClaimTemplate
	classes []int
	key     []byte
}

// chosen are the columns that a claim keeps, as it names them.
type chosen struct {
	index     int
	columns   []int
	types     []string
	offerings []Choice
	// priceOverlay and capacityOverlay say that an overlay has changed one of them.
	priceOverlay, capacityOverlay bool
	// most is what the greediest of them takes of the pool's limits.
	most []int64
}

// asked are a claim's requirements and labels.
type asked struct {
	terms  []api.NodeSelectorRequirementWithMinValues
	labels map[string]string
	// relaxed says that minValues were lowered to what there is.
	relaxed bool
}

// planClaims makes the nodes into claims, and gives the pods their places.
func (p *problem) planClaims(nodes []*node) {
	p.plan.LowerBoundPerHour = p.lowerBound(p.writeClaims(nodes))
}

// writeClaims gives how many units of each demand have got their places.
func (p *problem) writeClaims(nodes []*node) []int {
	w := &claimWriter{p: p, ledger: p.newLedger(nodes), chosen: map[string]*chosen{}, asked: map[string]*asked{}, pools: map[*pool]*api.NodeClaimTemplate{}}
	placed := make([]int, len(p.demands))
	p.plan.NodeClaims = slices.Grow(p.plan.NodeClaims, len(nodes))
	handed := make([]int, len(p.demands))
	w.reserve(nodes, -1)
	for _, n := range nodes {
		p.plan.NodeClaims = append(p.plan.NodeClaims, w.write(n, handed))
		for _, f := range n.fills {
			placed[f.demand] += f.count
		}
	}
	for i, d := range p.demands {
		d.units = d.units[handed[i]:]
	}
	return placed
}

// reserve adds what the nodes need of the limits for minValues to what is left, or takes it away, with a factor of -1: other nodes' choices must leave it to them.
func (w *claimWriter) reserve(nodes []*node, factor int64) {
	for _, n := range nodes {
		left := w.ledger.limits[w.p.configOf(n.column).pool]
		for i, use := range w.p.reserve(n) {
			left[i] += factor * use
		}
	}
}

// write makes one node into a claim; handed is how many units of each demand have got their places.
func (w *claimWriter) write(n *node, handed []int) PlannedNodeClaim {
	p := w.p
	own := p.configOf(n.column)
	w.reserve([]*node{n}, 1)
	c := w.choose(n)
	left := w.ledger.limits[own.pool]
	for i := range own.use {
		left[i] -= c.most[i] - own.use[i]
	}
	planned := PlannedNodeClaim{PricePerHour: c.offerings[0].Price, Offerings: c.offerings, InstanceTypes: c.types}
	pods := 0
	sum := make(vector, len(p.axes.names))
	for _, f := range n.fills {
		d := p.demands[f.demand]
		pods += f.count * d.pods()
		sum.add(d.need, int64(f.count))
	}
	planned.Pods = make([]PodRef, 0, pods)
	for _, f := range n.fills {
		d := p.demands[f.demand]
		for _, unit := range d.units[handed[f.demand] : handed[f.demand]+f.count] {
			for _, pod := range unit {
				planned.Pods = append(planned.Pods, refOf(pod))
			}
		}
		handed[f.demand] += f.count
	}
	slices.SortFunc(planned.Pods, compareRefs)
	requests := make(corev1.ResourceList, len(sum))
	for r, amount := range sum {
		if amount > 0 {
			requests[p.axes.names[r]] = *quantityOf(p.axes.names[r], amount)
		}
	}
	addLists(requests, p.configOf(c.columns[0]).daemons)
	planned.NodeClaim = w.claim(own.pool, c, w.ask(n, c), requests, planned.Pods)
	return planned
}

// choose is what the node's claim keeps of its stand-ins. Nodes with the same stand-ins keep the same, unless each takes something of what the limits leave.
func (w *claimWriter) choose(n *node) *chosen {
	p := w.p
	own := p.configOf(n.column)
	w.key = binary.AppendVarint(w.key[:0], int64(p.columns[n.column].reservation))
	w.key = p.standInSet(n).appendKey(w.key)
	if c, ok := w.chosen[string(w.key)]; ok && len(own.use) == 0 {
		return c
	}
	key := string(w.key)
	c := &chosen{index: len(w.chosen), columns: p.choose(n, w.ledger.limits[own.pool]), most: slices.Clone(own.use)}
	c.offerings = make([]Choice, 0, len(c.columns))
	names := map[string]bool{}
	for _, j := range c.columns {
		column := &p.columns[j]
		config := &p.configs[column.config]
		if !names[config.typ.Name] {
			names[config.typ.Name] = true
			c.types = append(c.types, config.typ.Name)
		}
		c.offerings = append(c.offerings, Choice{
			InstanceType: config.typ.Name, Zone: column.offering.Zone, CapacityType: column.offering.CapacityType,
			ReservationID: column.offering.ReservationID, Price: column.offering.Price,
		})
		c.priceOverlay = c.priceOverlay || column.offering.PriceOverlay
		c.capacityOverlay = c.capacityOverlay || config.typ.CapacityOverlay
		for i, use := range config.use {
			c.most[i] = max(c.most[i], use)
		}
	}
	if len(own.use) > 0 {
		// Another node's choices may differ: the key is its own.
		key += fmt.Sprint(len(w.chosen))
	}
	w.chosen[key] = c
	return c
}

// ask is what the claim of a node with these choices asks for. It follows from the choices, the classes of what is on the node, and the open labels that are decided.
func (w *claimWriter) ask(n *node, c *chosen) *asked {
	p := w.p
	w.classes = w.classes[:0]
	for _, f := range n.fills {
		w.classes = append(w.classes, p.demands[f.demand].class.labelled.index)
	}
	slices.Sort(w.classes)
	w.key = binary.AppendUvarint(w.key[:0], uint64(c.index))
	for _, class := range slices.Compact(w.classes) {
		w.key = binary.AppendUvarint(w.key, uint64(class))
	}
	if a, ok := w.asked[string(w.key)]; ok {
		return a
	}
	a := w.readAsked(n, c)
	w.asked[string(w.key)] = a
	return a
}

func (w *claimWriter) readAsked(n *node, c *chosen) *asked {
	p := w.p
	pool := p.configOf(n.column).pool
	requirements := p.labelsOf(n)
	var zones, capacityTypes, reservations []string
	zoned := true
	for _, choice := range c.offerings {
		zones = append(zones, choice.Zone)
		zoned = zoned && choice.Zone != ""
		capacityTypes = append(capacityTypes, choice.CapacityType)
		if choice.ReservationID != "" {
			reservations = append(reservations, choice.ReservationID)
		}
	}
	requirements.Add(scheduling.In(corev1.LabelInstanceTypeStable, c.types...), scheduling.In(api.CapacityTypeLabelKey, capacityTypes...))
	if zoned {
		requirements.Add(scheduling.In(corev1.LabelTopologyZone, zones...))
	}
	if len(reservations) > 0 {
		requirements.Add(scheduling.In(api.LabelCapacityReservationID, reservations...))
	}
	for _, key := range requirements.Keys() {
		if scheduling.IsWellKnown(key) {
			continue
		}
		// A label of the user's own that nothing has decided gets some value that is allowed, or the node would not meet its claim.
		if _, decided := requirements[key].Single(); !decided {
			if value, ok := p.valueOn(n, requirements, key); ok {
				requirements.Add(scheduling.In(key, value))
			}
		}
	}
	a := &asked{labels: map[string]string{}}
	if p.bestEffort() {
		a.relaxed = p.lowerMinValues(pool, c.columns, requirements)
	}
	a.terms = requirements.Terms()
	for key, value := range requirements.Labels() {
		if !api.IsRestrictedLabel(key) {
			a.labels[key] = value
		}
	}
	maps.Copy(a.labels, pool.api.Spec.Template.Labels)
	a.labels[api.NodePoolLabelKey] = pool.name()
	return a
}

// lowerMinValues lowers minValues to as many values as the columns offer, and reports whether any was lowered.
func (p *problem) lowerMinValues(pool *pool, columns []int, requirements scheduling.Requirements) bool {
	lowered := false
	for key, least := range pool.minValues {
		values := map[string]bool{}
		for _, j := range columns {
			for _, value := range p.valuesOf(pool, j, key) {
				values[value] = true
			}
		}
		if len(values) < least {
			requirements[key] = requirements[key].WithMinValues(max(len(values), 1))
			lowered = true
		}
	}
	return lowered
}

// claim is the object to create for a planned node.
func (w *claimWriter) claim(pool *pool, c *chosen, a *asked, requests corev1.ResourceList, pods []PodRef) api.NodeClaim {
	template, ok := w.pools[pool]
	if !ok {
		template = pool.api.Spec.Template.DeepCopy()
		w.pools[pool] = template
	}
	annotations := make(map[string]string, len(template.Annotations)+4)
	maps.Copy(annotations, template.Annotations)
	if text := nominatedText(pods); text != "" {
		annotations[api.NominatedPodsAnnotationKey] = text
	}
	if len(pool.minValues) > 0 {
		annotations[api.NodeClaimMinValuesRelaxedAnnotationKey] = strconv.FormatBool(a.relaxed)
	}
	if c.priceOverlay {
		annotations[api.PriceOverlayAppliedAnnotationKey] = "true"
	}
	if c.capacityOverlay {
		annotations[api.CapacityOverlayAppliedAnnotationKey] = "true"
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	controller := true
	return api.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: pool.name() + "-",
			Labels:       maps.Clone(a.labels),
			Annotations:  annotations,
			Finalizers:   []string{api.TerminationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: api.APIVersion, Kind: api.NodePoolKind, Name: pool.name(), UID: pool.api.UID, BlockOwnerDeletion: &controller,
			}},
		},
		Spec: api.NodeClaimSpec{
			Taints:                 template.Spec.Taints,
			StartupTaints:          template.Spec.StartupTaints,
			Requirements:           a.terms,
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
