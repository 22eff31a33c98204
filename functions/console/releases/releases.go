package releases

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/release"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Known is what is remembered and ordered of the releases of all pools.
type Known struct {
	Records map[string]release.Record
	Orders  release.Orders
}

// Read reads it. A person with older rights sees none.
func Read(ctx context.Context, store inventory.Store) (Known, error) {
	var known Known
	var err error
	if known.Records, err = inventory.Releases(ctx, store); err != nil {
		return Known{}, unlessForbidden(err)
	}
	if known.Orders, err = inventory.ReleaseOrders(ctx, store); err != nil {
		return Known{}, unlessForbidden(err)
	}
	return known, nil
}

func unlessForbidden(err error) error {
	if cluster.IsForbidden(err) {
		return nil
	}
	return err
}

// Objects are those that the verdicts follow from.
type Objects struct {
	Pools   []api.NodePool
	Classes []api.EC2NodeClass
	Claims  []api.NodeClaim
	Nodes   []corev1.Node
	Pods    []corev1.Pod
}

// Judge decides how far the release of each pool is, by the pool's name. Pools of which nothing is
// remembered have none: no node of theirs has drifted.
func (k Known) Judge(o Objects, now time.Time) map[string]*release.State {
	states := map[string]*release.State{}
	if len(k.Records) == 0 {
		return states
	}
	nodes := o.byPool()
	for i := range o.Pools {
		pool := &o.Pools[i]
		record, has := k.Records[pool.Name]
		if !has {
			continue
		}
		states[pool.Name] = release.Judge(release.Input{
			Pool: pool, Class: api.ClassOf(pool.Spec.Template.Spec.NodeClassRef, o.Classes),
			Record: record, Orders: k.Orders, Nodes: nodes[pool.Name],
		}, now)
	}
	return states
}

func (o *Objects) byPool() map[string][]release.Node {
	members := membership.Join(o.Claims, o.Nodes)
	pods := map[string][]*corev1.Pod{}
	for i := range o.Pods {
		if pod := &o.Pods[i]; pod.Spec.NodeName != "" && !scheduling.IsTerminal(pod) {
			pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName], pod)
		}
	}
	nodes := map[string][]release.Node{}
	for i := range o.Claims {
		claim := &o.Claims[i]
		one := release.Node{Claim: claim, Node: members.Node(claim)}
		if one.Node != nil {
			one.Pods = pods[one.Node.Name]
		}
		pool := claim.Labels[api.NodePoolLabelKey]
		nodes[pool] = append(nodes[pool], one)
	}
	return nodes
}

// Show writes on the pools why their drift waits, for the words of their nodes.
func Show(pools []api.NodePool, states map[string]*release.State) {
	for i := range pools {
		pools[i].DriftWaits = ""
		if state := states[pools[i].Name]; state != nil && state.Waits() {
			pools[i].DriftWaits = state.String()
		}
	}
}
