package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/nodecost"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/registration"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Offer holds the NodePools and what can be bought for them: one reading of pools, classes and
// overlays for provisioning and consolidation.
type Offer struct {
	// Pools are the pools that may get nodes, with their defaults.
	Pools []api.NodePool
	// Unusable are the other pools, with the reason.
	Unusable []Unusable
	// Paused are those of the unusable pools that get no node for a while, because their last ones
	// have not joined. Nodes of theirs that nobody needs may go.
	Paused []api.NodePool
	// Types are the instance types by NodePool, with the NodeOverlays applied. ClassTypes are those
	// by EC2NodeClass, without overlays. They include classes whose launches EC2 refused, because
	// earlier plans are tried again.
	Types, ClassTypes map[string][]catalog.InstanceType
	// Problems are the NodeOverlays that do not apply, with the reason.
	Problems []catalog.OverlayProblem
	// Extras are those of a pool's nodes. They are part of the prices in a snapshot.
	Extras func(*api.NodePool) float64
	// Interruptions are the rates of catalog.Interruptions. Spot offerings cost more by them in a
	// snapshot.
	Interruptions map[string]float64
	// WellKnownLabels and MaximumTypes are those of plan.Snapshot.
	WellKnownLabels []string
	MaximumTypes    int
	// oneNode are the pools that may have one node more than they have, because their last ones have
	// not joined.
	oneNode map[string]bool
}

// ReasonAsleep is why a pool that sleeps gets no nodes. No condition has it.
const ReasonAsleep = "Asleep"

// ReasonFrozen is why a pool whose launches are frozen gets no nodes. No condition has it.
const ReasonFrozen = "Frozen"

// Unusable is a NodePool that gets no nodes. The message contains the remedy. It is empty for a
// pool that is being deleted.
type Unusable struct {
	Pool            api.NodePool
	Reason, Message string
}

// Plan is what a plan tells of the pool.
func (u *Unusable) Plan() plan.UnusablePool {
	return plan.UnusablePool{NodePool: u.Pool.Name, Message: cmp.Or(u.Message, "it is being deleted")}
}

// NewOffer builds the offer from the objects and the current statuses of the classes. It sets the
// defaults of the classes.
func NewOffer(o *Objects, known *catalog.Catalog, observed catalog.Observed, now time.Time) *Offer {
	offer := &Offer{
		ClassTypes: map[string][]catalog.InstanceType{}, Extras: nodecost.Of(known, o.NodeClasses, o.NodePools).OfPool,
	}
	if observed.Unavailable != nil {
		offer.Interruptions = observed.Unavailable.Interruptions.Rates(now)
	}
	unread := map[string]error{} // by EC2NodeClass
	for i := range o.NodeClasses {
		class := &o.NodeClasses[i]
		unread[class.Name] = guard.Run(func() error {
			if class.Default(); nodeclass.Launchable(class) {
				offer.ClassTypes[class.Name] = catalog.Resolve(known, nodeclass.Planned(class), observed, now)
			}
			return nil
		})
	}
	offer.Pools, offer.Unusable, offer.oneNode = pools(o, unread, now)
	for i := range offer.Unusable {
		if offer.Unusable[i].Reason == api.ReasonRegistrationFailed {
			offer.Paused = append(offer.Paused, offer.Unusable[i].Pool)
		}
	}
	offer.Types, offer.Problems = catalog.Overlays(offer.priced(), func(pool *api.NodePool) []catalog.InstanceType {
		return offer.ClassTypes[pool.Spec.Template.Spec.NodeClassRef.Name]
	}, o.NodeOverlays)
	return offer
}

// priced are the pools whose nodes have prices.
func (offer *Offer) priced() []api.NodePool { return slices.Concat(offer.Pools, offer.Paused) }

// Assemble is the function Assemble with the offer's pools and types.
func (offer *Offer) Assemble(o *Objects, now time.Time) *plan.Snapshot {
	offered := *o
	offered.NodePools, offered.NodeOverlays = offer.priced(), nil
	types := func(pool *api.NodePool) []catalog.InstanceType { return offer.Types[pool.Name] }
	made := Assemble(&offered, types, offer.Extras, now)
	addRisk(offered.NodePools, made.InstanceTypes, offer.Interruptions)
	made.NodePools, made.PausedPools = offer.Pools, offer.Paused
	made.WellKnownLabels, made.MaximumTypes = offer.WellKnownLabels, offer.MaximumTypes
	offer.limit(made)
	for i := range offer.Unusable {
		made.UnusablePools = append(made.UnusablePools, offer.Unusable[i].Plan())
	}
	return made
}

// limit limits the pools that may have one node more.
func (offer *Offer) limit(made *plan.Snapshot) {
	if len(offer.oneNode) == 0 {
		return
	}
	count := map[string]int64{}
	for i := range made.Nodes {
		if node := &made.Nodes[i]; scheduling.CountsAgainstLimits(node.NodeClaim, node.Node) {
			count[node.Pool()]++
		}
	}
	made.NodePools = slices.Clone(made.NodePools)
	for i, pool := range made.NodePools {
		if offer.oneNode[pool.Name] {
			made.NodePools[i].Spec.Limits = registration.OneMore(pool.Spec.Limits, count[pool.Name])
		}
	}
}

// pools divides the pools into those that may get nodes and the others. It sets the defaults of
// all. Unread are the errors of classes that cannot be read, by their names. A pool whose nodes do
// not join waits, or gets oneNode.
func pools(
	o *Objects, unread map[string]error, now time.Time,
) (usable []api.NodePool, others []Unusable, oneNode map[string]bool) {
	oneNode = map[string]bool{}
	for _, pool := range o.NodePools {
		reason, message := "", ""
		err := guard.Run(func() error {
			pool.Default()
			reason, message = unusable(&pool, o.NodeClasses, unread)
			return nil
		})
		if err != nil {
			reason, message = api.ReasonNodePoolValidationFailed, err.Error()
		}
		if rest := pool.Rest(now); reason == "" && rest.Asleep {
			reason, message = ReasonAsleep, rest.String()
		}
		if held := pool.LaunchesFrozen(now); reason == "" && held != nil {
			reason, message = ReasonFrozen, held.String()
		}
		brake := registration.Brake{}
		if reason == "" {
			class := api.ClassOf(pool.Spec.Template.Spec.NodeClassRef, o.NodeClasses)
			brake = registration.BrakeOf(&pool, class, o.NodeClaims, now)
		}
		if brake.Closed != "" {
			reason, message = api.ReasonRegistrationFailed, brake.Closed
		}
		if brake.OneNode {
			oneNode[pool.Name] = true
		}
		if reason == "" && pool.DeletionTimestamp == nil {
			usable = append(usable, pool)
		} else {
			others = append(others, Unusable{pool, reason, message})
		}
	}
	return usable, others, oneNode
}

// unusable returns the reason why a pool gets no nodes, or nothing.
func unusable(
	pool *api.NodePool, classes []api.EC2NodeClass, unread map[string]error,
) (reason, message string) {
	if pool.DeletionTimestamp != nil {
		return "", ""
	}
	if err := pool.Validate(); err != nil {
		return api.ReasonNodePoolValidationFailed, err.Error()
	}
	name := pool.Spec.Template.Spec.NodeClassRef.Name
	for i := range classes {
		class := &classes[i]
		if class.Name != name {
			continue
		}
		if err := unread[name]; err != nil {
			return api.ReasonNodeClassNotReady, fmt.Sprintf("EC2NodeClass %q: %v", name, err)
		}
		if !api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
			return api.ReasonNodeClassNotReady, nodeclass.NotReady(class)
		}
		return "", ""
	}
	return api.ReasonNodeClassNotFound, fmt.Sprintf(
		"spec.template.spec.nodeClassRef names the EC2NodeClass %q, which does not exist: create it, or name one that does",
		name,
	)
}
