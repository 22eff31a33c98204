package world

import (
	"encoding/json"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// Plans returns what provision logged about its plans.
func (w *World) Plans() []scenario.Bound {
	var plans []scenario.Bound
	for _, line := range w.FunctionLog("provision") {
		var entry struct {
			Pods       int      `json:"pods"`
			NodeClaims int      `json:"nodeclaims"`
			Price      *float64 `json:"price"`
			Risk       float64  `json:"risk"`
			Bound      float64  `json:"bound"`
		}
		// The log has Lambda's own lines too, and lines about other groups of claims, which have no price.
		if json.Unmarshal([]byte(line), &entry) != nil || entry.NodeClaims == 0 || entry.Price == nil {
			continue
		}
		plans = append(plans, scenario.Bound{
			Pods: entry.Pods, NodeClaims: entry.NodeClaims, Price: *entry.Price + entry.Risk, Bound: entry.Bound,
		})
	}
	return plans
}
