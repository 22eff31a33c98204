package claims

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// claimWriter makes the nodes into claims. Nodes that the same offerings can replace share their
// choices, those whose demands ask for the same labels share their requirements, and those that
// take the same share their requests: nobody may change a plan's lists and maps in place, but for
// annotations.
type claimWriter struct {
	p      *placement.State
	ledger *placement.Ledger
	// choiceKeys number the alternatives of nodes; chosen are what claims keep of them.
	choiceKeys *dense.Table
	choices    []*choices
	// requirementKeys number what is asked of nodes with these choices.
	requirementKeys *dense.Table
	requirements    []*claimRequirements
	// bases are the requirements of nodes apart from what the choices add, by pool and by what is on
	// the node.
	bases map[string][]scheduling.Requirement
	// sums number what nodes take; requests are the same as lists.
	sums      *dense.Table
	requests  []corev1.ResourceList
	templates map[*offering.Pool]*claimTemplate
	// pods is memory for the claims' pods.
	pods []plan.PodRef
	// handed is how many units of each demand have got their places.
	handed []int
	// sum, classes, named and key are memory.
	sum     resource.Vector
	classes []int
	named   dense.Set
	key     []byte
}

// claimTemplate is what all claims of a pool have in common.
type claimTemplate struct {
	spec         *api.NodeClaimTemplate
	generateName string
	finalizers   []string
	owners       []metav1.OwnerReference
}

// choices are the offerings that a claim keeps, as it names them.
type choices struct {
	index     int
	columns   []int
	types     []string
	offerings []plan.Choice
	// priceOverlay and capacityOverlay say that an overlay has changed one of them.
	priceOverlay, capacityOverlay bool
	// most is what the greediest of them takes of the pool's limits.
	most []int64
}

// Write makes the nodes into claims, and gives the pods their places. It returns the claims, and
// how many units of each demand have got their places.
func Write(p *placement.State, nodes []*placement.PlannedNode) ([]plan.PlannedNodeClaim, []int) {
	w := &claimWriter{
		p: p, ledger: p.NewLedger(nodes), choiceKeys: dense.NewTable(len(nodes)),
		requirementKeys: dense.NewTable(len(nodes)), sums: dense.NewTable(len(nodes)),
		bases: map[string][]scheduling.Requirement{}, templates: map[*offering.Pool]*claimTemplate{},
		handed: make([]int, len(p.Demands)), sum: make(resource.Vector, len(p.Work.Axes.Names)),
		named: dense.NewSet(len(p.Offers.PoolTypes)),
	}
	placed := make([]int, len(p.Demands))
	pods := 0
	for _, n := range nodes {
		for _, f := range n.Fills {
			placed[f.Demand] += f.Count
			pods += f.Count * p.Demands[f.Demand].PodsPerUnit()
		}
	}
	w.pods = make([]plan.PodRef, 0, pods)
	claims := slices.Grow([]plan.PlannedNodeClaim(nil), len(nodes))[:len(nodes)]
	w.reserve(nodes, -1)
	for i, n := range nodes {
		w.write(&claims[i], n)
	}
	for i, d := range p.Demands {
		d.Units = d.Units[w.handed[i]:]
	}
	return claims, placed
}

// reserve adds what the nodes need of the limits for minValues to what is left, or takes it away,
// with a factor of -1: other nodes' choices must leave it to them.
func (w *claimWriter) reserve(nodes []*placement.PlannedNode, factor int64) {
	for _, n := range nodes {
		w.reserveFor(n, factor)
	}
}

func (w *claimWriter) reserveFor(n *placement.PlannedNode, factor int64) {
	left := w.ledger.Limits[w.p.Offers.PoolTypeOf(n.Offering).Pool]
	for i, use := range w.p.MinValuesReserve(n) {
		left[i] += factor * use
	}
}

// write makes one node into a claim.
func (w *claimWriter) write(planned *plan.PlannedNodeClaim, n *placement.PlannedNode) {
	p := w.p
	own := p.Offers.PoolTypeOf(n.Offering)
	w.reserveFor(n, 1)
	c := w.choose(n)
	left := w.ledger.Limits[own.Pool]
	for i := range own.LimitUse {
		left[i] -= c.most[i] - own.LimitUse[i]
	}
	planned.PricePerHour, planned.Offerings, planned.InstanceTypes = c.offerings[0].Price, c.offerings, c.types
	planned.Pods = w.handOut(n)
	w.claim(
		&planned.NodeClaim,
		own.Pool,
		c,
		w.requirementsOf(n, c),
		w.requestsOf(n, p.Offers.PoolTypeOf(c.columns[0])),
		planned.Pods,
	)
}

// handOut gives the node its pods.
func (w *claimWriter) handOut(n *placement.PlannedNode) []plan.PodRef {
	first := len(w.pods)
	for _, f := range n.Fills {
		d := w.p.Demands[f.Demand]
		handed := w.handed[f.Demand]
		for _, unit := range d.Units[handed : handed+f.Count] {
			for _, pod := range unit {
				w.pods = append(w.pods, plan.RefOf(pod))
			}
		}
		w.handed[f.Demand] += f.Count
	}
	pods := w.pods[first:len(w.pods):len(w.pods)]
	slices.SortFunc(pods, plan.CompareRefs)
	return pods
}

// requestsOf are what the pods on the node take, and the daemon sets of a pool type.
func (w *claimWriter) requestsOf(n *placement.PlannedNode, c *offering.PoolType) corev1.ResourceList {
	p := w.p
	clear(w.sum)
	for _, f := range n.Fills {
		w.sum.Add(p.Demands[f.Demand].Need, int64(f.Count))
	}
	w.key = w.key[:0]
	for _, amount := range w.sum {
		w.key = binary.AppendVarint(w.key, amount)
	}
	w.key = binary.AppendUvarint(w.key, uint64(c.DaemonRequestsID))
	number, isNew := w.sums.Number(w.key)
	if isNew {
		requests := make(corev1.ResourceList, len(w.sum))
		for r, amount := range w.sum {
			if amount > 0 {
				requests[p.Work.Axes.Names[r]] = *resource.QuantityOf(p.Work.Axes.Names[r], amount)
			}
		}
		resource.AddLists(requests, c.DaemonRequests)
		w.requests = append(w.requests, requests)
	}
	return w.requests[number]
}

// choose is what the node's claim keeps of its alternatives. Nodes with the same alternatives keep
// the same, unless each takes something of what the limits leave.
func (w *claimWriter) choose(n *placement.PlannedNode) *choices {
	p := w.p
	own := p.Offers.PoolTypeOf(n.Offering)
	fits := p.AlternativesFor(n)
	if len(own.LimitUse) == 0 {
		w.key = fits.AppendKey(binary.AppendVarint(w.key[:0], int64(p.Offers.Offerings[n.Offering].Reservation)))
		if number, isNew := w.choiceKeys.Number(w.key); !isNew {
			return w.choices[number]
		}
	} else {
		// Another node's choices may differ: the key is its own.
		w.choiceKeys.Number(binary.AppendUvarint(w.key[:0], uint64(len(w.choices))))
	}
	c := w.readChoices(n, keepAlternatives(p, n, fits.Clone(), w.ledger.Limits[own.Pool]))
	w.choices = append(w.choices, c)
	return c
}

func (w *claimWriter) readChoices(n *placement.PlannedNode, columns []int) *choices {
	p := w.p
	c := &choices{index: len(w.choices), columns: columns, most: slices.Clone(p.Offers.PoolTypeOf(n.Offering).LimitUse)}
	c.offerings = make([]plan.Choice, len(columns))
	clear(w.named)
	names := 0
	for _, j := range columns {
		if name := p.Offers.PoolTypeOf(j).NameID; !w.named.Has(name) {
			w.named.Add(name)
			names++
		}
	}
	c.types = make([]string, 0, names)
	for i, j := range columns {
		column := &p.Offers.Offerings[j]
		config := &p.Offers.PoolTypes[column.PoolType]
		if w.named.Has(config.NameID) {
			w.named.Remove(config.NameID)
			c.types = append(c.types, config.Type.Name)
		}
		c.offerings[i] = plan.Choice{
			InstanceType: config.Type.Name, Zone: column.Source.Zone, CapacityType: column.Source.CapacityType,
			ReservationID: column.Source.ReservationID, Price: column.Source.Price,
		}
		c.priceOverlay = c.priceOverlay || column.Source.PriceOverlay
		c.capacityOverlay = c.capacityOverlay || config.Type.CapacityOverlay
		for i, use := range config.LimitUse {
			c.most[i] = max(c.most[i], use)
		}
	}
	return c
}

// claim fills in the object to create for a planned node.
func (w *claimWriter) claim(
	claim *api.NodeClaim,
	pool *offering.Pool,
	c *choices,
	a *claimRequirements,
	requests corev1.ResourceList,
	pods []plan.PodRef,
) {
	t := w.template(pool)
	annotations := make(map[string]string, len(t.spec.Annotations)+4)
	maps.Copy(annotations, t.spec.Annotations)
	if text := nominatedText(pods); text != "" {
		annotations[api.NominatedPodsAnnotationKey] = text
	}
	if len(pool.MinValues) > 0 {
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
	claim.TypeMeta = metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind}
	claim.GenerateName, claim.Labels, claim.Annotations = t.generateName, a.labels, annotations
	claim.Finalizers, claim.OwnerReferences = t.finalizers, t.owners
	claim.Spec = api.NodeClaimSpec{
		Taints:                 t.spec.Spec.Taints,
		StartupTaints:          t.spec.Spec.StartupTaints,
		Requirements:           a.terms,
		Resources:              api.ResourceRequirements{Requests: requests},
		NodeClassRef:           t.spec.Spec.NodeClassRef,
		TerminationGracePeriod: t.spec.Spec.TerminationGracePeriod,
		ExpireAfter:            t.spec.Spec.ExpireAfter,
	}
}

// template is what all claims of the pool have in common.
func (w *claimWriter) template(pool *offering.Pool) *claimTemplate {
	if t, ok := w.templates[pool]; ok {
		return t
	}
	controller := true
	t := &claimTemplate{
		spec: pool.NodePool.Spec.Template.DeepCopy(), generateName: pool.Name() + "-",
		finalizers: []string{api.TerminationFinalizer},
		owners: []metav1.OwnerReference{{
			APIVersion: api.APIVersion, Kind: api.NodePoolKind, Name: pool.Name(), UID: pool.NodePool.UID,
			BlockOwnerDeletion: &controller,
		}},
	}
	w.templates[pool] = t
	return t
}

// nominatedText is the annotation's value for pods.
func nominatedText(pods []plan.PodRef) string {
	length := 0
	for i := range pods {
		length += len(pods[i].UID) + 1
	}
	var text strings.Builder
	text.Grow(length)
	for i := range pods {
		if pods[i].UID == "" {
			continue
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(pods[i].UID)
	}
	return text.String()
}
