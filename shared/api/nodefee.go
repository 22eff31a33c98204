package api

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
		return 0, &FieldError{
			Kind: NodePoolKind, Name: p.Name, Path: "metadata.annotations[" + NodeFeeAnnotationKey + "]", Value: text,
			Problem: "counts as no fee: write US dollars an hour from 0 to 1000, such as 0.02, or remove it",
		}
	}
	return fee, nil
}
