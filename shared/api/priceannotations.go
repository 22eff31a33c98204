package api

import "errors"

// maximumNodeFee is far above any price of a node, in US dollars an hour.
const maximumNodeFee = 1000

// NodeFee returns the fee of the annotation whittle.dev/node-fee in US dollars an hour. It returns
// zero without one. With one that cannot be read, it returns zero and a FieldError: the pool still
// works, because the fee only changes which plan is the cheapest.
func (p *NodePool) NodeFee() (float64, error) {
	text, has := p.Annotations[NodeFeeAnnotationKey]
	if !has {
		return 0, nil
	}
	fee, ok := parseDecimal(text)
	if !ok || fee > maximumNodeFee {
		return 0, p.annotationError(
			NodeFeeAnnotationKey, "counts as no fee: write US dollars an hour from 0 to 1000, such as 0.02, or remove it")
	}
	return fee, nil
}

// maximumInterruptionCost is far above what the loss of one node costs, in US dollars.
const maximumInterruptionCost = 1000

// InterruptionCost returns what one interruption of a spot node costs, in US dollars, by the annotation
// whittle.dev/interruption-cost. It returns nil without one, and with one that cannot be read also a
// FieldError.
func (p *NodePool) InterruptionCost() (*float64, error) {
	text, has := p.Annotations[InterruptionCostAnnotationKey]
	if !has {
		return nil, nil
	}
	cost, ok := parseDecimal(text)
	if !ok || cost > maximumInterruptionCost {
		return nil, p.annotationError(
			InterruptionCostAnnotationKey,
			"counts as the default: write US dollars for each interruption from 0 to 1000, such as 0.05, or remove it")
	}
	return &cost, nil
}

// PriceErrors are the errors of the annotations that change the prices of the pool's nodes. The pool
// works without them.
func (p *NodePool) PriceErrors() error {
	_, fee := p.NodeFee()
	_, cost := p.InterruptionCost()
	_, percent := p.DispersalPercent()
	return errors.Join(fee, cost, percent)
}

func (p *NodePool) annotationError(key, problem string) error {
	return &FieldError{
		Kind: NodePoolKind, Name: p.Name, Path: "metadata.annotations[" + key + "]", Value: p.Annotations[key],
		Problem: problem,
	}
}

// maximumDispersalPercent is far above what keeping replicas apart costs, in percent.
const maximumDispersalPercent = 100

// DispersalPercent is what keeping replicas of a workload apart may add to the price of the pool's new
// nodes, in percent, by the annotation whittle.dev/dispersal-percent. It returns nil without one, and with
// one that cannot be read also a FieldError.
func (p *NodePool) DispersalPercent() (*float64, error) {
	text, has := p.Annotations[DispersalPercentAnnotationKey]
	if !has {
		return nil, nil
	}
	percent, ok := parseDecimal(text)
	if !ok || percent > maximumDispersalPercent {
		return nil, p.annotationError(
			DispersalPercentAnnotationKey, "counts as the default: write percent from 0 to 100, such as 0.5, or remove it")
	}
	return &percent, nil
}
