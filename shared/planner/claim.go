package planner

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/plan"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// claimWriter makes the nodes into claims. Nodes that the same columns can stand in for share their choices, those whose demands ask for the same labels share
// their requirements, and those that take the same share their requests: nobody may change a plan's lists and maps in place, but for annotations.
type claimWriter struct {
	p      *placements
	ledger *ledger
	// choices number the stand-ins of nodes; chosen are what claims keep of them.
	choices *numbering
	chosen  []*chosen
	// asks number what is asked of nodes with these choices.
	asks  *numbering
	asked []*asked
	// bases are the requirements of nodes apart from what the choices add, by pool and by what is on the node.
	bases map[string][]scheduling.Requirement
	// sums number what nodes take; requests are the same as lists.
	sums      *numbering
	requests  []corev1.ResourceList
	templates map[*pool]*claimTemplate
	// pods is memory for the claims' pods.
	pods []plan.PodRef
	// handed is how many units of each demand have got their places.
	handed []int
	// sum, classes, named and key are memory.
	sum     vector
	classes []int
	named   bitset
	key     []byte
}

// claimTemplate is what all claims of a pool have in common.
type claimTemplate struct {
	spec         *api.NodeClaimTemplate
	generateName string
	finalizers   []string
	owners       []metav1.OwnerReference
}

// chosen are the columns that a claim keeps, as it names them.
type chosen struct {
	index     int
	columns   []int
	types     []string
	offerings []plan.Choice
	// priceOverlay and capacityOverlay say that an overlay has changed one of them.
	priceOverlay, capacityOverlay bool
	// most is what the greediest of them takes of the pool's limits.
	most []int64
}

// writeClaims makes the nodes into claims, and gives the pods their places. It returns the claims, and how many units of each demand have got their places.
func writeClaims(p *placements, nodes []*node) ([]plan.PlannedNodeClaim, []int) {
	w := &claimWriter{
		p: p, ledger: p.newLedger(nodes), choices: newNumbering(len(nodes)), asks: newNumbering(len(nodes)), sums: newNumbering(len(nodes)),
		bases: map[string][]scheduling.Requirement{}, templates: map[*pool]*claimTemplate{}, handed: make([]int, len(p.demands)), sum: make(vector, len(p.work.axes.names)),
		named: newBitset(len(p.offers.configs)),
	}
	placed := make([]int, len(p.demands))
	pods := 0
	for _, n := range nodes {
		for _, f := range n.fills {
			placed[f.demand] += f.count
			pods += f.count * p.demands[f.demand].pods()
		}
	}
	w.pods = make([]plan.PodRef, 0, pods)
	claims := slices.Grow([]plan.PlannedNodeClaim(nil), len(nodes))[:len(nodes)]
	w.reserve(nodes, -1)
	for i, n := range nodes {
		w.write(&claims[i], n)
	}
	for i, d := range p.demands {
		d.units = d.units[w.handed[i]:]
	}
	return claims, placed
}

// reserve adds what the nodes need of the limits for minValues to what is left, or takes it away, with a factor of -1: other nodes' choices must leave it to them.
func (w *claimWriter) reserve(nodes []*node, factor int64) {
	for _, n := range nodes {
		w.reserveFor(n, factor)
	}
}

func (w *claimWriter) reserveFor(n *node, factor int64) {
	left := w.ledger.limits[w.p.offers.configOf(n.column).pool]
	for i, use := range w.p.reserve(n) {
		left[i] += factor * use
	}
}

// write makes one node into a claim.
func (w *claimWriter) write(planned *plan.PlannedNodeClaim, n *node) {
	p := w.p
	own := p.offers.configOf(n.column)
	w.reserveFor(n, 1)
	c := w.choose(n)
	left := w.ledger.limits[own.pool]
	for i := range own.use {
		left[i] -= c.most[i] - own.use[i]
	}
	planned.PricePerHour, planned.Offerings, planned.InstanceTypes = c.offerings[0].Price, c.offerings, c.types
	planned.Pods = w.handOut(n)
	w.claim(&planned.NodeClaim, own.pool, c, w.ask(n, c), w.requestsOf(n, p.offers.configOf(c.columns[0])), planned.Pods)
}

// handOut gives the node its pods.
func (w *claimWriter) handOut(n *node) []plan.PodRef {
	first := len(w.pods)
	for _, f := range n.fills {
		d := w.p.demands[f.demand]
		handed := w.handed[f.demand]
		for _, unit := range d.units[handed : handed+f.count] {
			for _, pod := range unit {
				w.pods = append(w.pods, plan.RefOf(pod))
			}
		}
		w.handed[f.demand] += f.count
	}
	pods := w.pods[first:len(w.pods):len(w.pods)]
	slices.SortFunc(pods, plan.CompareRefs)
	return pods
}

// requestsOf are what the pods on the node take, and the daemon sets of a config.
func (w *claimWriter) requestsOf(n *node, c *config) corev1.ResourceList {
	p := w.p
	clear(w.sum)
	for _, f := range n.fills {
		w.sum.add(p.demands[f.demand].need, int64(f.count))
	}
	w.key = w.key[:0]
	for _, amount := range w.sum {
		w.key = binary.AppendVarint(w.key, amount)
	}
	w.key = binary.AppendUvarint(w.key, uint64(c.daemonSum))
	number, isNew := w.sums.of(w.key)
	if isNew {
		requests := make(corev1.ResourceList, len(w.sum))
		for r, amount := range w.sum {
			if amount > 0 {
				requests[p.work.axes.names[r]] = *quantityOf(p.work.axes.names[r], amount)
			}
		}
		addLists(requests, c.daemons)
		w.requests = append(w.requests, requests)
	}
	return w.requests[number]
}

// choose is what the node's claim keeps of its stand-ins. Nodes with the same stand-ins keep the same, unless each takes something of what the limits leave.
func (w *claimWriter) choose(n *node) *chosen {
	p := w.p
	own := p.offers.configOf(n.column)
	fits := p.standInSet(n)
	if len(own.use) == 0 {
		w.key = fits.appendKey(binary.AppendVarint(w.key[:0], int64(p.offers.columns[n.column].reservation)))
		if number, isNew := w.choices.of(w.key); !isNew {
			return w.chosen[number]
		}
	} else {
		// Another node's choices may differ: the key is its own.
		w.choices.of(binary.AppendUvarint(w.key[:0], uint64(len(w.chosen))))
	}
	c := w.readChosen(n, choose(p, n, fits.clone(), w.ledger.limits[own.pool]))
	w.chosen = append(w.chosen, c)
	return c
}

func (w *claimWriter) readChosen(n *node, columns []int) *chosen {
	p := w.p
	c := &chosen{index: len(w.chosen), columns: columns, most: slices.Clone(p.offers.configOf(n.column).use)}
	c.offerings = make([]plan.Choice, len(columns))
	clear(w.named)
	names := 0
	for _, j := range columns {
		if name := p.offers.configOf(j).name; !w.named.has(name) {
			w.named.add(name)
			names++
		}
	}
	c.types = make([]string, 0, names)
	for i, j := range columns {
		column := &p.offers.columns[j]
		config := &p.offers.configs[column.config]
		if w.named.has(config.name) {
			w.named.remove(config.name)
			c.types = append(c.types, config.typ.Name)
		}
		c.offerings[i] = plan.Choice{
			InstanceType: config.typ.Name, Zone: column.offering.Zone, CapacityType: column.offering.CapacityType,
			ReservationID: column.offering.ReservationID, Price: column.offering.Price,
		}
		c.priceOverlay = c.priceOverlay || column.offering.PriceOverlay
		c.capacityOverlay = c.capacityOverlay || config.typ.CapacityOverlay
		for i, use := range config.use {
			c.most[i] = max(c.most[i], use)
		}
	}
	return c
}

// claim fills in the object to create for a planned node.
func (w *claimWriter) claim(claim *api.NodeClaim, pool *pool, c *chosen, a *asked, requests corev1.ResourceList, pods []plan.PodRef) {
	t := w.template(pool)
	annotations := make(map[string]string, len(t.spec.Annotations)+4)
	maps.Copy(annotations, t.spec.Annotations)
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
func (w *claimWriter) template(pool *pool) *claimTemplate {
	if t, ok := w.templates[pool]; ok {
		return t
	}
	controller := true
	t := &claimTemplate{
		spec: pool.api.Spec.Template.DeepCopy(), generateName: pool.name() + "-", finalizers: []string{api.TerminationFinalizer},
		owners: []metav1.OwnerReference{{
			APIVersion: api.APIVersion, Kind: api.NodePoolKind, Name: pool.name(), UID: pool.api.UID, BlockOwnerDeletion: &controller,
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
