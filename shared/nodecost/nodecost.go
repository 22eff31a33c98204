package nodecost

import (
	"cmp"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// defaultVolumeType is EC2's type for a block device without one.
const defaultVolumeType = "gp2"

// Extras returns what a node of the pool and the class costs beside its instance, in the currency of
// the catalogue an hour. The catalogue may be nil: then the built-in prices count. A nil class has
// neither volumes nor an address, and a nil pool has no fee. A fee that cannot be read counts as
// zero; api.NodePool.NodeFee says what is wrong with it.
func Extras(known *catalog.Catalog, class *api.EC2NodeClass, pool *api.NodePool) float64 {
	extras := 0.0
	if class != nil {
		extras = volumes(catalog.VolumePricesOf(known), class) + address(known, class)
	}
	if pool != nil {
		fee, _ := pool.NodeFee()
		extras += fee
	}
	return extras
}

// volumes returns the price of the class's block devices for an hour. A device that takes its size
// from a snapshot has no known size.
func volumes(prices catalog.VolumePrices, class *api.EC2NodeClass) float64 {
	sum := 0.0
	for _, device := range nodeclass.BlockDevices(class) {
		if device == nil || device.EBS == nil {
			continue
		}
		ebs := device.EBS
		volume := catalog.Volume{Type: cmp.Or(valueOf(ebs.VolumeType), defaultVolumeType), IOPS: valueOf(ebs.IOPS),
			Throughput: valueOf(ebs.Throughput)}
		if ebs.VolumeSize != nil {
			volume.GiB = nodeclass.WholeGiB(*ebs.VolumeSize)
		}
		sum += prices.PerHour(volume)
	}
	return sum
}

// address returns the price of the node's public IPv4 address for an hour. Where the class leaves the
// choice to its subnets, it is the mean over them, because a plan does not choose the subnet.
func address(known *catalog.Catalog, class *api.EC2NodeClass) float64 {
	return catalog.PublicAddressPrice(known) * addresses(class)
}

// addresses is the number of public IPv4 addresses that a node of the class has on average.
func addresses(class *api.EC2NodeClass) float64 {
	subnets := class.Status.Subnets
	switch chosen := class.Spec.AssociatePublicIPAddress; {
	case chosen != nil && *chosen:
		return 1
	case chosen != nil || len(subnets) == 0:
		return 0
	}
	public := 0
	for i := range subnets {
		if subnets[i].PublicIPv4 {
			public++
		}
	}
	return float64(public) / float64(len(subnets))
}

func valueOf[T any](pointer *T) (value T) {
	if pointer != nil {
		value = *pointer
	}
	return value
}

// Costs knows the extras of the nodes of a cluster.
type Costs struct {
	known   *catalog.Catalog
	classes map[string]*api.EC2NodeClass
	pools   map[string]*api.NodePool
}

// Of returns the costs by the given prices, classes and pools. It shares memory with them. The
// catalogue may be nil.
func Of(known *catalog.Catalog, classes []api.EC2NodeClass, pools []api.NodePool) Costs {
	c := Costs{known: known, classes: map[string]*api.EC2NodeClass{}, pools: map[string]*api.NodePool{}}
	for i := range classes {
		c.classes[classes[i].Name] = &classes[i]
	}
	for i := range pools {
		c.pools[pools[i].Name] = &pools[i]
	}
	return c
}

// OfPool returns the extras of the pool's new nodes for an hour.
func (c Costs) OfPool(pool *api.NodePool) float64 {
	return Extras(c.known, c.classOf(pool.Spec.Template.Spec.NodeClassRef), pool)
}

// OfClaim returns the extras of the claim's node for an hour, by its class and pool as they are now.
func (c Costs) OfClaim(claim *api.NodeClaim) float64 {
	return Extras(c.known, c.classOf(claim.Spec.NodeClassRef), c.pools[claim.Labels[api.NodePoolLabelKey]])
}

// PriceOfClaim returns the price of the claim's node for an hour, extras included, or false where
// the price of its instance is unknown.
func (c Costs) PriceOfClaim(claim *api.NodeClaim) (float64, bool) {
	if c.known == nil {
		return 0, false
	}
	price, isKnown := c.known.Price(claim.Labels)
	if !isKnown {
		return 0, false
	}
	return price + c.OfClaim(claim), true
}

func (c Costs) classOf(ref *api.NodeClassReference) *api.EC2NodeClass {
	if ref == nil || !ref.IsEC2NodeClass() {
		return nil
	}
	return c.classes[ref.Name]
}
