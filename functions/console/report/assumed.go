package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/terminal"
)

// Assumed are DaemonSets that a plan of files counts although no file has them.
type Assumed struct {
	// DaemonSets are their names, as namespace/name. Requests are what their pods request of each node.
	DaemonSets []string            `json:"assumedDaemonSets"`
	Requests   corev1.ResourceList `json:"-"`
}

func nothingAssumed() Assumed { return Assumed{DaemonSets: []string{}} }

// Assume adds what the plan counts although no file has it.
func (a *Assumed) Assume(assumed Assumed) {
	if len(assumed.DaemonSets) > 0 {
		*a = assumed
	}
}

// Line says what is assumed; empty for nothing.
func (a *Assumed) Line(style terminal.Style) string {
	if len(a.DaemonSets) == 0 {
		return ""
	}
	var names, amounts []string
	for _, name := range a.DaemonSets {
		names = append(names, name[strings.Index(name, "/")+1:])
	}
	for name, quantity := range a.Requests {
		amounts = append(amounts, fmt.Sprintf("%s %s", name, quantity.String()))
	}
	slices.Sort(amounts)
	return style.Wrap(fmt.Sprintf("each node also runs %s, as EKS clusters do (%s): -daemon-sets files leaves them out",
		strings.Join(names, " and "), strings.Join(amounts, ", ")), "", "  ")
}
