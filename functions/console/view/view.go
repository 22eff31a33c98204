package view

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/release"
	"github.com/whittle-dev/whittle/shared/status"
)

// Cluster holds a cluster's objects as its API server returns them.
type Cluster struct {
	NodePools   []api.NodePool
	NodeClasses []api.EC2NodeClass
	NodeClaims  []api.NodeClaim
	Nodes       []corev1.Node
	Pods        []corev1.Pod
	Events      []corev1.Event // about pods: FailedScheduling and Nominated
	// Budgets are the disruption budgets of pods. Without the right to read them there are none.
	Budgets   []policyv1.PodDisruptionBudget
	Catalog   *catalog.Catalog // nil before the first
	Status    status.Contents
	Misfits   map[string]misfit.Misfit // pods that their nodes did not serve, by UID
	Karpenter cluster.Leadership
	Shifted   map[string]time.Time // zones that zonal shifts move traffic away from, by id
	Quotas    []api.CapacityQuota
	// Commitments is how commitments paid for the account's instances at last; nil where nobody counts.
	Commitments *commitment.Reading
	// Releases are the verdicts about the releases of pools, by name.
	Releases map[string]*release.State

	// whole is the cluster of which these objects are selected; nil for all of them.
	whole *Cluster
}

// View shows a cluster at one time.
type View struct {
	FormatVersion int       `json:"formatVersion"`
	Time          time.Time `json:"time"`
	// Verdict says whether Whittle acts. Problems are what a person may have to look at, the most urgent
	// first.
	Verdict   Verdict    `json:"verdict"`
	Problems  []string   `json:"problems,omitempty"`
	NodePools []NodePool `json:"nodePools"`
	Nodes     []Node     `json:"nodes"`
	Waiting   []Pod      `json:"waitingPods"`
	// Instances is the number of EC2 instances of the claims.
	Instances int `json:"instances"`
	// PricePerHour is the sum of these nodes' prices in $/h. ExtrasPerHour is the part of it for what
	// they cost beside their instances: volumes, public addresses, fees.
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour"`
	// Unpriced is how many of them have no known price. The sum excludes them.
	Unpriced int `json:"unpriced,omitempty"`
	// Savings compares the instances' prices with those of the same types on demand.
	Savings catalog.Savings `json:"savings"`
	// Headroom is the room that CapacityBuffers keep; nil without a buffer.
	Headroom *status.Headroom `json:"headroom,omitempty"`
	// Plan is the last plan with new nodes; nil before the first.
	Plan *status.Plan `json:"plan,omitempty"`
	// Day has samples of the last day, the oldest first.
	Day []status.Sample `json:"day,omitempty"`
	// Past is the last day by steps. The page alone has it; nil elsewhere.
	Past *timeline.Timeline `json:"past,omitempty"`
	// Catalog is nil before the first catalogue.
	Catalog *Catalog `json:"catalog,omitempty"`
	// Standby names the running Karpenter during standby. Otherwise it is empty. StandsBack is the same
	// under its former name.
	Standby    string `json:"standby,omitempty"`
	StandsBack string `json:"standsBack,omitempty"`
	// IgnoredLeases says which Leases of Karpenter's name do not count, and why.
	IgnoredLeases []string `json:"ignoredLeases,omitempty"`
	// Freezes are the orders that hold what Whittle begins by itself.
	Freezes []Freeze `json:"freezes,omitempty"`
	// ShiftedZones are the zones that zonal shifts move traffic away from.
	ShiftedZones []ShiftedZone `json:"shiftedZones,omitempty"`
	// Commitments are nil where nobody counts them.
	Commitments *Commitments `json:"commitments,omitempty"`
	Limits      []Limit      `json:"limits,omitempty"`
}

// ShiftedZone is a zone in which nothing is launched or ended for a while.
type ShiftedZone struct {
	ID    string    `json:"id"`
	Name  string    `json:"name,omitempty"` // as far as the catalogue knows it
	Until time.Time `json:"until"`
}

// String says what the shift means.
func (z ShiftedZone) String() string {
	name := z.ID
	if z.Name != "" {
		name = z.Name + " (" + z.ID + ")"
	}
	return "zone " + name + " until " + z.Until.UTC().Format("2006-01-02 15:04") +
		" UTC: no node is launched or ended there"
}

// NodePool is a NodePool with the sums over its nodes.
type NodePool struct {
	Name      string            `json:"name"`
	NodeClass string            `json:"nodeClass"`
	Nodes     int               `json:"nodes"`
	CPU       resource.Quantity `json:"cpu"`
	Memory    resource.Quantity `json:"memory"`
	Limits    api.Limits        `json:"limits,omitempty"`
	// PricePerHour is the price of its nodes in $/h, as far as it is known, and ExtrasPerHour the
	// extras in it.
	PricePerHour  float64  `json:"pricePerHour"`
	ExtrasPerHour float64  `json:"extrasPerHour"`
	Ready         bool     `json:"ready"`
	Reasons       []string `json:"reasons,omitempty"` // why it is not ready, and other problems
	// Sleep and Maintenance say what holds and changes next; nil for a pool without windows.
	Sleep       *Hours `json:"sleep,omitempty"`
	Maintenance *Hours `json:"maintenance,omitempty"`
}

// Hours are a pool's windows at the view's time.
type Hours struct {
	// Active says that the pool sleeps, or that its maintenance window is open.
	Active bool `json:"active"`
	// NextChange is when that changes; zero where it does not within a year.
	NextChange time.Time `json:"nextChange,omitzero"`
	Message    string    `json:"message"`
}

// Node is a node, a claim whose node has not joined yet, or both.
type Node struct {
	NodeClaim    string    `json:"nodeClaim,omitempty"` // empty for a node of others
	NodePool     string    `json:"nodePool,omitempty"`
	Name         string    `json:"node,omitempty"` // empty until the node has joined
	ProviderID   string    `json:"providerID,omitempty"`
	InstanceType string    `json:"instanceType,omitempty"`
	CapacityType string    `json:"capacityType,omitempty"`
	Zone         string    `json:"zone,omitempty"`
	Created      time.Time `json:"created"`
	// State and Marks are words of package nodestate: what the node is, and what is to happen to it.
	State nodestate.Word   `json:"state"`
	Marks []nodestate.Mark `json:"marks,omitempty"`
	// Reason says why its state lasts, and the marks. HeldUp is set for a drain that has not moved for
	// minutes, because pods may not leave.
	Reason string `json:"reason,omitempty"`
	HeldUp bool   `json:"heldUp,omitempty"`
	// PricePerHour is the node's price in $/h, and ExtrasPerHour the extras in it. OnDemandPerHour is
	// the price of an instance of the type on demand. Zero means unknown.
	PricePerHour    float64 `json:"pricePerHour,omitempty"`
	ExtrasPerHour   float64 `json:"extrasPerHour,omitempty"`
	OnDemandPerHour float64 `json:"onDemandPerHour,omitempty"`
	// CoveredPerHour is the part of the price that commitments pay for, and CommitmentsPerHour what that
	// part of them costs. Both are zero without a count of the last minutes.
	CoveredPerHour     float64   `json:"coveredPerHour,omitempty"`
	CommitmentsPerHour float64   `json:"commitmentsPerHour,omitempty"`
	Pods               int       `json:"pods"`
	Requested          Resources `json:"requested"`
	Allocatable        Resources `json:"allocatable"`
	// Others are the other resources that the node has, such as GPUs, by their names.
	Others []Other `json:"otherResources,omitempty"`
	// Labels are the node's, or those of its claim until it has joined. Columns show some of them.
	Labels map[string]string `json:"-"`

	other corev1.ResourceList // requested of the other resources
}

// Other is a resource beside CPU and memory.
type Other struct {
	Name        string            `json:"name"`
	Requested   resource.Quantity `json:"requested"`
	Allocatable resource.Quantity `json:"allocatable"`
}

// Text is what is requested of what there is, such as 1 of 4.
func (o Other) Text() string { return o.Requested.String() + " of " + o.Allocatable.String() }

// OtherNames are the names of the other resources of any node, sorted.
func (v *View) OtherNames() []string {
	names := map[string]bool{}
	for i := range v.Nodes {
		for _, other := range v.Nodes[i].Others {
			names[other.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Other returns the node's resource of a name.
func (n *Node) Other(name string) (other Other, has bool) {
	if i := slices.IndexFunc(n.Others, func(o Other) bool { return o.Name == name }); i >= 0 {
		return n.Others[i], true
	}
	return Other{}, false
}

// Column is the header of a column for a label or a resource: the last part of its name in capitals, as
// kubectl writes it.
func Column(name string) string {
	return strings.ToUpper(name[strings.LastIndexByte(name, '/')+1:])
}

// InstancePerHour returns the price of the node's instance in $/h, or zero if it is unknown.
func (n *Node) InstancePerHour() float64 { return max(n.PricePerHour-n.ExtrasPerHour, 0) }

// Resources holds the two resources of every node.
type Resources struct {
	CPU    resource.Quantity `json:"cpu"`
	Memory resource.Quantity `json:"memory"`
}

// Pod is a pending pod.
type Pod struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
	Source    string    `json:"source,omitempty"`  // the message's author
	Message   string    `json:"message,omitempty"` // why it waits, or for which node
	// HeldUntil is when the next node may be launched for the pod: the last ones did not serve it. It is
	// zero for a pod that is not held.
	HeldUntil time.Time `json:"heldUntil,omitzero"`
	// Asleep says that every NodePool that may serve it sleeps. Owed is when that sleep ended, a short time
	// ago; zero for a pod that has waited from its creation.
	Asleep bool      `json:"asleep,omitempty"`
	Owed   time.Time `json:"owed,omitzero"`
}

// Catalog holds age and size of the catalogue.
type Catalog struct {
	Time          time.Time `json:"time"`
	SpotPriceTime time.Time `json:"spotPriceTime,omitzero"`
	InstanceTypes int       `json:"instanceTypes"`
}

// formatVersion is the version of the view's JSON form. New fields keep it.
const formatVersion = 1

// Of computes the view of the objects at a time.
func Of(objects *Cluster, now time.Time) *View {
	view := &View{
		FormatVersion: formatVersion,
		Time:          now, Day: objects.Status.Day,
		NodePools: nodePools(objects, now), Nodes: nodes(objects, now), Waiting: waiting(objects, now),
		Plan: objects.Status.Plan,
	}
	view.IgnoredLeases = objects.Karpenter.Ignored
	if leader := objects.Karpenter.Leader; leader != nil {
		view.Standby = leader.String()
		view.StandsBack = view.Standby
	}
	if told := objects.Status.Deployment; told != nil {
		view.Headroom = told.Headroom
	}
	view.ShiftedZones = shiftedZones(objects, now)
	view.Freezes = freezes(objects, now)
	if c := objects.Catalog; c != nil {
		view.Catalog = &Catalog{Time: c.Time, SpotPriceTime: c.SpotPriceTime, InstanceTypes: len(c.InstanceTypes)}
	}
	view.Commitments = commitments(objects.Commitments, now)
	view.Limits = limits(objects)
	view.sumUp()
	view.Verdict = verdict(view, objects.Status.Deployment)
	view.Problems = slices.Concat(problems(view), orderProblem(objects), hoursProblems(objects))
	return view
}

// shiftedZones returns the zones that are shifted away now, in the order of their ids.
func shiftedZones(objects *Cluster, now time.Time) []ShiftedZone {
	var zones []ShiftedZone
	for _, id := range slices.Sorted(maps.Keys(objects.Shifted)) {
		if !now.Before(objects.Shifted[id]) {
			continue
		}
		zone := ShiftedZone{ID: id, Until: objects.Shifted[id]}
		if objects.Catalog != nil {
			for _, known := range objects.Catalog.Zones {
				if known.ZoneID == id {
					zone.Name = known.ZoneName
				}
			}
		}
		zones = append(zones, zone)
	}
	return zones
}

// Of returns the view of one NodePool: its nodes and their price. Pending pods and the last plan
// remain the cluster's.
func (v *View) Of(nodePool string) *View {
	one := *v
	one.NodePools = slices.DeleteFunc(slices.Clone(v.NodePools), func(pool NodePool) bool { return pool.Name != nodePool })
	one.Nodes = slices.DeleteFunc(slices.Clone(v.Nodes), func(node Node) bool { return node.NodePool != nodePool })
	one.sumUp()
	return &one
}

// sumUp counts the instances and their price.
func (v *View) sumUp() {
	v.Instances, v.PricePerHour, v.ExtrasPerHour, v.Unpriced = 0, 0, 0, 0
	onDemand, compared := 0.0, 0.0
	byPool, extrasByPool := map[string]float64{}, map[string]float64{}
	for _, node := range v.Nodes {
		// A claim without an instance costs nothing. The sum excludes nodes of others.
		if node.NodeClaim == "" || node.ProviderID == "" {
			continue
		}
		v.Instances++
		v.PricePerHour += node.PricePerHour
		v.ExtrasPerHour += node.ExtrasPerHour
		byPool[node.NodePool] += node.PricePerHour
		extrasByPool[node.NodePool] += node.ExtrasPerHour
		if node.PricePerHour == 0 {
			v.Unpriced++
		} else if node.OnDemandPerHour > 0 {
			onDemand += node.OnDemandPerHour
			compared += node.InstancePerHour()
		}
	}
	v.Savings = catalog.SavingsAgainst(onDemand, compared)
	for i := range v.NodePools {
		pool := &v.NodePools[i]
		pool.PricePerHour, pool.ExtrasPerHour = byPool[pool.Name], extrasByPool[pool.Name]
	}
}
