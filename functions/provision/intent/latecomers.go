package intent

import (
	"maps"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Latecomer is a claim in flight that gets pods of a later plan.
type Latecomer struct {
	Claim *api.NodeClaim
	// Pods is how many pods come to its list, and List the list with them.
	Pods int
	List string
}

// Latecomers are the claims whose nodes have not joined yet, and that take pods which no list names. Lifecycle
// binds the pods of the list when the node joins. A claim for one gang keeps its list, because it goes back
// with the gang. The order is that of the names.
func Latecomers(snapshot *plan.Snapshot, nominations []plan.Nomination) []Latecomer {
	if len(nominations) == 0 {
		return nil
	}
	named, claims := map[string]bool{}, map[string]*api.NodeClaim{}
	for i := range snapshot.Nodes {
		claim := snapshot.Nodes[i].NodeClaim
		if claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		for uid := range strings.SplitSeq(claim.Annotations[api.NominatedPodsAnnotationKey], ",") {
			named[uid] = true
		}
		if isComing(claim) && claim.Annotations[api.GangAnnotationKey] == "" {
			claims[claim.Name] = claim
		}
	}
	added := map[string][]string{}
	for _, n := range nominations {
		if claims[n.NodeClaimName] != nil && n.Pod.UID != "" && !named[n.Pod.UID] {
			added[n.NodeClaimName] = append(added[n.NodeClaimName], n.Pod.UID)
		}
	}
	var latecomers []Latecomer
	for _, name := range slices.Sorted(maps.Keys(added)) {
		uids := added[name]
		slices.Sort(uids)
		list := strings.Join(uids, ",")
		if before := claims[name].Annotations[api.NominatedPodsAnnotationKey]; before != "" {
			list = before + "," + list
		}
		latecomers = append(latecomers, Latecomer{Claim: claims[name], Pods: len(uids), List: list})
	}
	return latecomers
}

// isComing reports whether the claim's instance runs and its node has not joined.
func isComing(claim *api.NodeClaim) bool {
	return claim.Status.ProviderID != "" && !api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeRegistered)
}
