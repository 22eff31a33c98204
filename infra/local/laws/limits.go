package laws

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Staying tells which claims count against the limits of NodePools, by their names. Claims that leave do
// not count, and neither do claims that another one was made to replace: their room is that of their
// replacements.
func Staying(claims []*api.NodeClaim) map[string]bool {
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
