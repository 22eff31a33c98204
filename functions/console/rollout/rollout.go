// Package rollout says which NodePools a new image may replace at once.
//
// Its place: `whittle check` and `whittle plan` warn of them.
package rollout

import (
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
)

// nodes stands for a large pool, so that a budget of a number of nodes is less than all of them.
const nodes = 1000

// Open returns a warning for each NodePool whose class follows the newest image while its budgets let all
// nodes drift at once.
func Open(pools []api.NodePool, classes []api.EC2NodeClass, now time.Time) []string {
	var all []string
	for i := range pools {
		pool := &pools[i]
		class := api.ClassOf(pool.Spec.Template.Spec.NodeClassRef, classes)
		if class == nil {
			continue
		}
		family, follows := newest(class)
		if !follows {
			continue
		}
		allowed, err := budget.Allowed(pool, budget.PoolCount{Nodes: nodes}, api.DisruptionReasonDrifted, now)
		if err == nil && allowed >= nodes {
			all = append(all, fmt.Sprintf("the next image of %s@latest replaces all nodes of NodePool %q at once: write a "+
				"budget such as 10%%, or a version such as %s@v20261120 into EC2NodeClass %q", family, pool.Name, family,
				class.Name))
		}
	}
	return all
}

// newest returns the family whose newest image the class takes.
func newest(class *api.EC2NodeClass) (family string, follows bool) {
	for _, term := range class.Spec.AMISelectorTerms {
		if family, version, found := strings.Cut(term.Alias, "@"); found && version == "latest" {
			return family, true
		}
	}
	return "", false
}
