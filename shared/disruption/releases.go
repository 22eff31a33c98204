package disruption

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/release"
)

// AnyDrifted tells whether a node has drifted, so that its release matters.
func (s *Cluster) AnyDrifted() bool {
	for i := range s.Nodes {
		if api.ConditionTrue(s.Nodes[i].Claim.Status.Conditions, api.ConditionTypeDrifted) {
			return true
		}
	}
	return false
}

// JudgeReleases decides how far the release of each pool may go. Its results are for Releases.
func (s *Cluster) JudgeReleases(
	records map[string]release.Record, orders release.Orders, now time.Time,
) map[string]*release.State {
	nodes := map[string][]release.Node{}
	for i := range s.Nodes {
		node := &s.Nodes[i]
		nodes[node.pool()] = append(nodes[node.pool()], release.Node{Claim: node.Claim, Node: node.Node, Pods: node.Pods})
	}
	states := make(map[string]*release.State, len(s.Pools))
	for i := range s.Pools {
		pool := &s.Pools[i]
		input := release.Input{Pool: pool, Record: records[pool.Name], Orders: orders, Nodes: nodes[pool.Name]}
		if origin := s.Origins[pool.Name]; origin != nil {
			input.Class = origin.Class
			input.ID = release.ID(pool, origin.Class, origin.PoolHash, origin.ClassHash)
		}
		states[pool.Name] = release.Judge(input, now)
	}
	return states
}

// releaseStops says why the replacement of the node for its drift is taken back, or nothing.
func (s *Cluster) releaseStops(node *Node, reason *metav1.Condition) string {
	state := s.Releases[node.pool()]
	if reason == nil || reason.Reason != string(api.DisruptionReasonDrifted) || !state.Stops() {
		return ""
	}
	return state.String()
}

// releaseHolds tells whether no node of the pool goes for the reason because of its release.
func (s *Cluster) releaseHolds(pool string, reason api.DisruptionReason) bool {
	return reason == api.DisruptionReasonDrifted && s.Releases[pool].Holds()
}

// staged tells whether the stages of a release are about the candidate. Nothing replaces a node of a
// pool that sleeps.
func (c *Candidate) staged() bool { return c.Reason == api.DisruptionReasonDrifted && !c.asleep }

// gate is what the release of the candidate's pool still lets go in this pass.
func (a *allowance) gate(candidate *Candidate) *release.Gate {
	name := candidate.Pool.Name
	if a.gates[name] == nil {
		a.gates[name] = a.releases[name].Gate()
	}
	return a.gates[name]
}

// releaseNotice says that the release lets no more nodes of the pool go. It passes by itself unless
// a person has to act.
func releaseNotice(pool *api.NodePool, state *release.State) Notice {
	return Notice{Pool: pool, Passing: !state.Holds(), Mend: state.Holds(), Message: fmt.Sprintf(
		"No allowed disruptions for disruption reason %s: %s", api.DisruptionReasonDrifted, state)}
}
