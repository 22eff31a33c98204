package drift

import (
	"github.com/whittle-dev/whittle/shared/api"
)

// PoolAnnotations returns the annotations that bring the hash on the origin's pool up to date, and
// nil when nothing differs. The claims of the pool come first: while the hash of one has another
// version, the pool keeps its own. Karpenter takes the pool's version as the sign that all claims
// have it.
func (o *Origin) PoolAnnotations(claims []api.NodeClaim) map[string]string {
	if len(o.Pool.Unreadable) > 0 {
		return nil
	}
	return poolHashKeys().stamp(o.Pool.Annotations, o.PoolHash, api.NodePoolHashVersion, claims,
		func(claim *api.NodeClaim) bool { return claim.Labels[api.NodePoolLabelKey] == o.Pool.Name })
}

// ClassAnnotations is PoolAnnotations for the origin's class. It needs the claims of all pools with
// the class. A claim without a pool does not count, because nothing is known of its drift.
func (o *Origin) ClassAnnotations(claims []api.NodeClaim) map[string]string {
	if o.Class == nil {
		return nil
	}
	return classHashKeys().stamp(o.Class.Annotations, o.ClassHash, api.EC2NodeClassHashVersion, claims,
		func(claim *api.NodeClaim) bool {
			ref := claim.Spec.NodeClassRef
			return ref.IsEC2NodeClass() && ref.Name == o.Class.Name && claim.Labels[api.NodePoolLabelKey] != ""
		})
}

// stamp returns what differs on the owner of the claims that belong to it.
func (keys staticHash) stamp(
	owner map[string]string, now, version string, claims []api.NodeClaim, belongs func(*api.NodeClaim) bool,
) map[string]string {
	if owner[keys.hash] == now && owner[keys.version] == version {
		return nil
	}
	for i := range claims {
		claim := &claims[i]
		was := claim.Annotations[keys.version]
		if was != "" && was != version && claim.DeletionTimestamp == nil && belongs(claim) {
			return nil
		}
	}
	return map[string]string{keys.hash: now, keys.version: version}
}
