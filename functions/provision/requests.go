package provision

import (
	"context"
	"log/slog"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/provisioningrequest"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/virtual"
)

// requestsDue reports whether a plan is due for ProvisioningRequests: while one waits for its room,
// and after a while for one whose room is booked.
func (h *Handler) requestsDue(ctx context.Context, client *cluster.Client) (bool, error) {
	if !h.settings.ProvisioningRequests {
		return false, nil
	}
	objects, err := sight.OwnRequests(ctx, client)
	if err != nil {
		return false, err
	}
	booked := false
	for i := range objects {
		stage := provisioningrequest.StageOf(&objects[i])
		if stage == provisioningrequest.Waits {
			return true, nil
		}
		booked = booked || stage == provisioningrequest.Booked
	}
	return booked && h.refillDue(), nil
}

// checkCapacity looks for room on existing nodes for the requests that ask for no other, beside the
// pods that the plan has placed there.
func (r *pass) checkCapacity(s *plan.Snapshot, outcome virtual.Outcome) virtual.Outcome {
	asked := *s
	asked.NodePools, asked.Pods, asked.Gangs = nil, nil, nil
	asked.Nodes = withNominated(s, r.placed)
	for i := range r.view.Requests {
		if request := &r.view.Requests[i]; !request.Grows() {
			sight.AddRequest(&asked, request)
		}
	}
	if len(asked.Pods) == 0 {
		return outcome
	}
	outcome.Adopt(virtual.Take(planning.Solve(&asked)), asked.Pods)
	return outcome
}

// withNominated returns the nodes with the pods that a plan has placed on them.
func withNominated(s *plan.Snapshot, nominations []plan.Nomination) []plan.Node {
	pods := map[plan.PodRef]*corev1.Pod{}
	for i := range s.Pods {
		pods[plan.RefOf(&s.Pods[i])] = &s.Pods[i]
	}
	placed := map[plan.Nomination][]corev1.Pod{} // by node
	for _, nomination := range nominations {
		if pod := pods[nomination.Pod]; pod != nil {
			nomination.Pod = plan.PodRef{}
			placed[nomination] = append(placed[nomination], *pod)
		}
	}
	nodes := slices.Clone(s.Nodes)
	for i := range nodes {
		var of plan.Nomination
		if nodes[i].Node != nil {
			of.NodeName = nodes[i].Node.Name
		}
		if nodes[i].NodeClaim != nil {
			of.NodeClaimName = nodes[i].NodeClaim.Name
		}
		nodes[i].Pods = append(slices.Clip(nodes[i].Pods), placed[of]...)
	}
	return nodes
}

// writeRequests writes what the plan has found for the requests. A request that changed meanwhile
// gets its conditions after a later plan. Plans do not depend on it, so that a failure is only
// logged.
func (r *pass) writeRequests(ctx context.Context, s *plan.Snapshot, outcome virtual.Outcome) {
	if len(r.view.Requests) == 0 {
		return
	}
	outcome = r.checkCapacity(s, outcome)
	nodes := nodesByName(s)
	initialized := func(nomination plan.Nomination) bool { return isInitialized(nodes[nomination.NodeName]) }
	labels := func(nomination plan.Nomination) map[string]string {
		if node := nodes[nomination.NodeName]; node != nil {
			return node.Node.Labels
		}
		return nil
	}
	for i := range r.view.Requests {
		object := r.view.Requests[i].Object
		wanted, changed := r.view.Requests[i].Conditions(outcome, initialized, r.now())
		if !changed {
			continue
		}
		err := r.client.PatchProvisioningRequestStatus(ctx, object, api.ProvisioningRequestStatus{
			Conditions: wanted, ProvisioningClassDetails: r.view.Requests[i].Details(wanted, outcome, labels),
		})
		if err = cluster.IgnoreStale(err); err != nil {
			slog.WarnContext(ctx, "the status of a provisioningrequest is not written",
				"ProvisioningRequest", object.Namespace+"/"+object.Name, "error", err)
		}
	}
}

// nodesByName are the nodes that have joined.
func nodesByName(s *plan.Snapshot) map[string]*plan.Node {
	nodes := map[string]*plan.Node{}
	for i := range s.Nodes {
		if node := &s.Nodes[i]; node.Node != nil {
			nodes[node.Node.Name] = node
		}
	}
	return nodes
}

// isInitialized reports whether pods can run on the node. Nodes of others count once they have
// joined.
func isInitialized(node *plan.Node) bool {
	return node != nil && (node.NodeClaim == nil ||
		api.ConditionTrue(node.NodeClaim.Status.Conditions, api.ConditionTypeInitialized))
}
