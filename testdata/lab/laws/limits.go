package laws

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// exceeded lists the NodePools whose live instances have more processors than their limit, without those
// that leave.
func exceeded(w *World) []string {
	sums, staying, owners := map[string]int64{}, staying(w.Claims), w.owners()
	pools := map[string]string{} // by claim
	for _, claim := range w.Claims {
		pools[claim.Name] = claim.Labels[api.NodePoolLabelKey]
	}
	for i := range w.Instances {
		instance := &w.Instances[i]
		stays, claimed := staying[owners[instance.ID]]
		if !Live(instance) || claimed && !stays {
			continue
		}
		pool, known := pools[owners[instance.ID]]
		if !known {
			pool = instance.Tags[api.NodePoolLabelKey]
		}
		sums[pool] += int64(instance.Facts.VCPUs)
	}
	var wrong []string
	for _, pool := range w.Pools {
		limit, has := pool.Spec.Limits[corev1.ResourceCPU]
		if has && limit.CmpInt64(sums[pool.Name]) < 0 {
			wrong = append(wrong, fmt.Sprintf("nodepool %s has %d processors, and its limit is %s", pool.Name, sums[pool.Name],
				limit.String()))
		}
	}
	return wrong
}

// staying tells which claims count against the limits of NodePools, by their names. Claims that leave do
// not count, and neither do claims that another one was made to replace: their room is that of their
// replacements.
func staying(claims []*api.NodeClaim) map[string]bool {
	staying := map[string]bool{}
	for _, claim := range claims {
		staying[claim.Name] = claim.DeletionTimestamp == nil &&
			!api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInstanceTerminating)
	}
	for _, claim := range claims {
		for _, name := range strings.Split(claim.Annotations[api.ReplacesAnnotationKey], ",") {
			if staying[claim.Name] && staying[name] && name != claim.Name {
				staying[name] = false
			}
		}
	}
	return staying
}
