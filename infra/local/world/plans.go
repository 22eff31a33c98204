package world

import (
	"encoding/json"

	"github.com/whittle-dev/whittle/infra/local/scenario"
)

// Plans are what provision's log says of the plans that it made.
func (w *World) Plans() []scenario.Bound {
	var plans []scenario.Bound
	for _, line := range w.FunctionLog("provision") {
		var entry struct {
			Message    string  `json:"msg"`
			Pods       int     `json:"pods"`
			NodeClaims int     `json:"nodeclaims"`
			Price      float64 `json:"price"`
			Bound      float64 `json:"bound"`
		}
		// Lambda's own lines are in the log too.
		if json.Unmarshal([]byte(line), &entry) != nil || entry.NodeClaims == 0 {
			continue
		}
		plans = append(plans, scenario.Bound{Pods: entry.Pods, NodeClaims: entry.NodeClaims, Price: entry.Price, Bound: entry.Bound})
	}
	return plans
}
