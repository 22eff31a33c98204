package plantest

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// maximumTypes is the most instance types that a launch may name.
const maximumTypes = 60

// checkClaim compares a NodeClaim with its NodePool and with the variants that it allows.
func (c *checker) checkClaim(h *host) {
	n := h.planned
	claim, template := &n.claim.NodeClaim, &n.pool.Spec.Template
	fault := func(format string, args ...any) { c.report("claim", h.name+" "+format, args...) }
	if !n.pool.open {
		fault("is of pool %s, which opens no nodes", n.pool.Name)
	}
	for key, value := range template.Labels {
		if claim.Labels[key] != value {
			fault("has not the label %s=%s of its pool", key, value)
		}
	}
	for key, value := range template.Annotations {
		if claim.Annotations[key] != value {
			fault("has not the annotation %s=%s of its pool", key, value)
		}
	}
	if !apiequality.Semantic.DeepEqual(sortedTaints(claim.Spec.Taints), sortedTaints(template.Spec.Taints)) {
		fault("has the taints %v, its pool %v", claim.Spec.Taints, template.Spec.Taints)
	}
	if !apiequality.Semantic.DeepEqual(sortedTaints(claim.Spec.StartupTaints), sortedTaints(template.Spec.StartupTaints)) {
		fault("has the startup taints %v, its pool %v", claim.Spec.StartupTaints, template.Spec.StartupTaints)
	}
	if !apiequality.Semantic.DeepEqual(claim.Spec.NodeClassRef, template.Spec.NodeClassRef) ||
		!apiequality.Semantic.DeepEqual(claim.Spec.ExpireAfter, template.Spec.ExpireAfter) ||
		!apiequality.Semantic.DeepEqual(claim.Spec.TerminationGracePeriod, template.Spec.TerminationGracePeriod) {
		fault("has another node class, expiry or grace period than its pool")
	}
	if len(n.variants) == 0 {
		fault("allows no combination of instance type and available offering%s", c.unmetRequirement(h))
		return
	}
	for i := range n.variants {
		v := &n.variants[i]
		if text, ok := v.labels.meets(template.Spec.Requirements); !ok {
			fault("may become %s, where %s of pool %s does not hold", v, text, n.pool.Name)
			break
		}
		if key, ok := contradiction(claim.Labels, v.labels[:2]); ok {
			fault("has the label %s=%s, and may become %s, where it is another", key, claim.Labels[key], v)
			break
		}
	}
	c.checkChoices(h)
	c.checkMinValues(h)
	c.checkRequests(h)
}

// unmetRequirement names a requirement of the claim that no type of its pool meets.
func (c *checker) unmetRequirement(h *host) string {
	for _, r := range h.planned.claim.NodeClaim.Spec.Requirements {
		met := false
		for i := range h.planned.pool.types {
			t := &h.planned.pool.types[i]
			for _, offering := range c.labelsOf(t).offering {
				met = met || (append(labelSet{offering, c.labelsOf(t).own}, h.labels...)).holds(r.Key, r.Operator, r.Values)
			}
		}
		if !met {
			return ": nothing meets " + requirementText(&r)
		}
	}
	return ""
}

func sortedTaints(taints []corev1.Taint) []corev1.Taint {
	taints = slices.Clone(taints)
	slices.SortFunc(taints, func(a, b corev1.Taint) int {
		if x, y := a.Key+string(a.Effect), b.Key+string(b.Effect); x < y {
			return -1
		} else if x > y {
			return 1
		}
		return 0
	})
	return taints
}

// contradiction returns a label of the claim for which the instance has another value.
func contradiction(labels map[string]string, instance labelSet) (string, bool) {
	for key, value := range labels {
		if have, ok := instance.get(key); ok && have != value {
			return key, true
		}
	}
	return "", false
}

// wrongChoice is what is wrong with an offering that the plan lists for the node, or nothing.
func (n *plannedNode) wrongChoice(choice plan.Choice) string {
	at := slices.IndexFunc(n.variants, func(v variant) bool { return isChoice(choice, &v) })
	if at < 0 {
		return "which is not on offer or not allowed by its requirements"
	}
	offered := n.variants[at].offering
	if offered.Price != choice.Price || offered.Extras != choice.Extras || offered.Risk != choice.Risk {
		return fmt.Sprintf(
			"whose price is %v with extras of %v and a risk of %v", offered.Price, offered.Extras, offered.Risk,
		)
	}
	return ""
}

// checkChoices compares the offerings that the plan lists with the variants that the claim allows.
func (c *checker) checkChoices(h *host) {
	n := h.planned
	fault := func(format string, args ...any) { c.report("offerings", h.name+" "+format, args...) }
	choices := n.claim.Offerings
	if len(choices) == 0 {
		fault("names no offering")
		return
	}
	for i, choice := range choices {
		if wrong := n.wrongChoice(choice); wrong != "" {
			fault("names %+v, %s", choice, wrong)
		}
		if i > 0 && choices[i-1].Price > choice.Price {
			fault("does not name its offerings cheapest first")
		}
		// minValues may need more than one capacity type.
		if choice.CapacityType != choices[0].CapacityType &&
			!slices.ContainsFunc(
				n.claim.NodeClaim.Spec.Requirements,
				func(r api.NodeSelectorRequirementWithMinValues) bool { return r.MinValues != nil },
			) {
			fault("names offerings of %s and %s", choices[0].CapacityType, choice.CapacityType)
		}
		if !slices.Contains(n.claim.InstanceTypes, choice.InstanceType) {
			fault("names an offering of %s, and not the type", choice.InstanceType)
		}
	}
	if len(n.claim.InstanceTypes) > maximumTypes {
		fault("names %d instance types", len(n.claim.InstanceTypes))
	}
	for _, name := range n.claim.InstanceTypes {
		if !slices.ContainsFunc(n.variants, func(v variant) bool { return v.instanceType.Name == name }) {
			fault("names the type %s, which is not to be had as its requirements say", name)
		}
	}
	for i := range n.variants {
		if v := &n.variants[i]; !slices.Contains(n.claim.InstanceTypes, v.instanceType.Name) {
			fault("may become a %s, which it does not name", v.instanceType.Name)
			break
		}
	}
	c.checkCheapest(h)
}

// capacityTypeOrder is the order in which a launch tries capacity types. Reserved capacity is paid
// for already, and spot is cheaper than on-demand.
var capacityTypeOrder = []string{api.CapacityTypeReserved, api.CapacityTypeSpot, api.CapacityTypeOnDemand}

// checkCheapest reports a node that the plan expects as another offering than its launch takes.
func (c *checker) checkCheapest(h *host) {
	expected := h.planned.claim.Offerings[0]
	taken := c.launchedFirst(h.planned)
	switch {
	case taken == nil:
	case expected.CapacityType != taken.offering.CapacityType:
		c.report("offerings", "%s is expected to be %s %s %s, and a launch takes %s first", h.name,
			expected.InstanceType, expected.CapacityType, expected.Zone, taken)
	case taken.offering.Price < expected.Price:
		c.report("offerings", "%s is expected at %v, and %s costs %v", h.name, expected.Price, taken, taken.offering.Price)
	}
}

// launchedFirst returns the variant that a launch takes, or nil if none can be bought. It is the
// cheapest of the first capacity type that has any.
func (c *checker) launchedFirst(n *plannedNode) *variant {
	buyable := c.buyableVariants(n)
	for _, capacityType := range capacityTypeOrder {
		var cheapest *variant
		for _, v := range buyable {
			if v.offering.CapacityType == capacityType && (cheapest == nil || v.offering.Price < cheapest.offering.Price) {
				cheapest = v
			}
		}
		if cheapest != nil {
			return cheapest
		}
	}
	return nil
}

// buyableVariants returns the variants that a launch can buy. A launch does not buy spot above the
// price of on-demand. The plan's other nodes may use up a stock.
func (c *checker) buyableVariants(n *plannedNode) []*variant {
	onDemand := math.Inf(1)
	for i := range n.variants {
		if o := n.variants[i].offering; o.CapacityType == api.CapacityTypeOnDemand && o.Coverage == nil {
			onDemand = min(onDemand, o.Price)
		}
	}
	own := ""
	if n.expected != nil {
		own, _, _ = stockOf(n.expected.offering)
	}
	var buyable []*variant
	for i := range n.variants {
		v := &n.variants[i]
		if v.offering.CapacityType == api.CapacityTypeSpot && v.offering.Price > onDemand {
			continue
		}
		// What a commitment pays for is the same instance. Only the plan tells whom it pays for.
		id, _, _ := stockOf(v.offering)
		if id != "" && id == own || v.offering.Coverage == nil && c.hasStock(v.offering) {
			buyable = append(buyable, v)
		}
	}
	return buyable
}

// checkRequests reports a claim whose requests are not those of its pods and of the daemon sets of
// one of its variants.
func (c *checker) checkRequests(h *host) {
	n := h.planned
	least, most := amounts{}, amounts{}
	for i := range n.variants {
		v := &n.variants[i]
		sum := amounts{}
		for _, d := range c.pendingDaemons(&host{labels: v.labels, taints: h.taints, planned: n}) {
			sum.add(d.requests)
		}
		for name, amount := range sum {
			most[name] = max(most[name], amount)
		}
		if i == 0 {
			least.add(sum)
		}
		for name := range least {
			least[name] = min(least[name], sum[name])
		}
	}
	pods := amounts{}
	for _, p := range h.placed {
		pods.add(p.requests)
	}
	have := amountsOf(n.claim.NodeClaim.Spec.Resources.Requests)
	for name, amount := range pods {
		if have[name] < amount+least[name] || have[name] > amount+most[name] {
			c.report(
				"requests",
				"%s asks for %d of %s; its pods ask for %d, daemon sets for %d to %d",
				h.name,
				have[name],
				name,
				amount,
				least[name],
				most[name],
			)
		}
	}
}

// checkPrices reports a node that does not cost what its first offering costs, and a plan that does
// not cost what its nodes cost or costs less than its lower bound. Extras and risks count likewise.
func (c *checker) checkPrices() {
	prices := []struct {
		what             string
		ofPlan           float64
		ofClaim, ofFirst func(*plan.PlannedNodeClaim) float64
	}{
		{
			"price", c.plan.PricePerHour, func(p *plan.PlannedNodeClaim) float64 { return p.PricePerHour },
			func(p *plan.PlannedNodeClaim) float64 { return p.Offerings[0].Price },
		},
		{
			"extras", c.plan.ExtrasPerHour, func(p *plan.PlannedNodeClaim) float64 { return p.ExtrasPerHour },
			func(p *plan.PlannedNodeClaim) float64 { return p.Offerings[0].Extras },
		},
		{
			"risk", c.plan.RiskPerHour, func(p *plan.PlannedNodeClaim) float64 { return p.RiskPerHour },
			func(p *plan.PlannedNodeClaim) float64 { return p.Offerings[0].Risk },
		},
	}
	for _, price := range prices {
		sum := 0.0
		for i := range c.plan.NodeClaims {
			claim := &c.plan.NodeClaims[i]
			sum += price.ofClaim(claim)
			if len(claim.Offerings) > 0 && price.ofFirst(claim) != price.ofClaim(claim) {
				c.report("price", "planned-%d has the %s %v, its first offering %v", i, price.what, price.ofClaim(claim),
					price.ofFirst(claim))
			}
		}
		if math.Abs(sum-price.ofPlan) > 1e-9*math.Max(1, sum) {
			c.report("price", "the plan has the %s %v, its nodes %v", price.what, price.ofPlan, sum)
		}
	}
	if price := c.plan.PricePerHour; c.plan.LowerBoundPerHour > price+1e-9*math.Max(1, price) {
		c.report("price", "the plan costs %v, less than its lower bound %v", price, c.plan.LowerBoundPerHour)
	}
}
