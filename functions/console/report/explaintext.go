package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/api"
	vector "github.com/whittle-dev/whittle/shared/planner/resource"
)

// WriteText writes the explanation for people.
func (e *Explanation) WriteText(out io.Writer, style terminal.Style) error {
	var text strings.Builder
	name := style.Paint(terminal.Bold, e.Pod)
	switch e.Outcome {
	case OutcomeNewNode:
		e.writeNew(&text, name, style)
	case OutcomeExistingNode:
		e.writeExisting(&text, name, style)
	case OutcomeNoPlace:
		text.WriteString(style.Wrap(fmt.Sprintf("%s has no place.", name), "", ""))
		e.writeAsks(&text, style)
		text.WriteString("\nWhy not:\n")
		for _, reason := range e.Reasons {
			text.WriteString(style.Wrap(reason.text(), "  ", "    "))
		}
	case OutcomeHeld:
		text.WriteString(style.Wrap(fmt.Sprintf("%s is held: %s.", name, e.Why), "", ""))
	case OutcomeRunning:
		text.WriteString(style.Wrap(fmt.Sprintf("%s needs no node: %s.", name, e.Why), "", ""))
	default:
		text.WriteString(style.Wrap(fmt.Sprintf("%s waits for no node: %s.", name, e.Why), "", ""))
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (e *Explanation) writeNew(out *strings.Builder, name string, style terminal.Style) {
	n := e.Node
	out.WriteString(style.Wrap(fmt.Sprintf("%s goes to a new node of nodepool %q: %s, %s in %s, $%s/h%s.",
		name, n.NodePool, style.Paint(terminal.Bold, n.InstanceType), n.CapacityType, n.Zone, dollars(n.PricePerHour),
		extrasText(n.ExtrasPerHour)+riskText(n.RiskPerHour)), "", ""))
	if e.Risk != "" {
		out.WriteString(style.Wrap(e.Risk, "  ", "    "))
	}
	e.writeAsks(out, style)
	out.WriteString("\nThe node:\n")
	rows := [][]terminal.Cell{}
	for _, resource := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		part := fill(n.Requests, e.room, resource)
		rows = append(
			rows,
			[]terminal.Cell{
				{Text: "  " + string(resource)}, filled(part, barLength),
				{Text: fmt.Sprintf("%s of %s", amount(resource, n.Requests), amount(resource, e.room))},
			},
		)
	}
	out.WriteString(style.Table(rows))
	var others []string
	for _, pod := range n.Pods {
		if pod != e.Pod {
			others = append(others, pod)
		}
	}
	shares := "no other pod shares the node, except those of daemon sets"
	if len(others) > 0 {
		shares = fmt.Sprintf("it shares the node with %s: %s", count(len(others), "pod"), names(others))
	}
	out.WriteString(style.Wrap(shares, "  ", "    "))
	if more := len(n.InstanceTypes) - 1; more > 0 {
		out.WriteString(
			style.Wrap(
				fmt.Sprintf("%s would also fit: %s", count(more, "other type"), names(n.InstanceTypes[1:])), "  ", "    ",
			),
		)
	}
	if len(e.Steps) > 0 {
		out.WriteString("\nInstance types:\n")
		rows = rows[:0]
		for _, step := range e.Steps {
			rows = append(rows, []terminal.Cell{
				{Text: fmt.Sprintf("  %d", step.InstanceTypes), Right: true}, {Text: step.Demand},
			})
		}
		out.WriteString(style.Table(rows))
	}
	if len(e.Reasons) > 0 {
		out.WriteString("\nOther nodepools:\n")
		for _, reason := range e.Reasons {
			out.WriteString(style.Wrap(fmt.Sprintf("%s: %s", reason.NodePool, reason.Reason), "  ", "    "))
		}
	}
}

func (e *Explanation) writeExisting(out *strings.Builder, name string, style terminal.Style) {
	where := fmt.Sprintf("node %q, which has room for it", e.Existing.Node)
	if e.Existing.Node == "" {
		where = fmt.Sprintf("the node of nodeclaim %q, which is launching and has room for it", e.Existing.NodeClaim)
	}
	out.WriteString(style.Wrap(fmt.Sprintf("%s goes to %s: an existing node adds no cost.", name, where), "", ""))
	e.writeAsks(out, style)
	var others []string
	for _, pod := range e.Existing.Pods {
		if pod != e.Pod {
			others = append(others, pod)
		}
	}
	if len(others) > 0 {
		out.WriteString(
			style.Wrap(
				fmt.Sprintf("the node also takes %s: %s", count(len(others), "other pending pod"), names(others)), "  ", "    ",
			),
		)
	}
}

// writeAsks writes the pod's requests and constraints.
func (e *Explanation) writeAsks(out *strings.Builder, style terminal.Style) {
	if e.Leaves != "" {
		out.WriteString(style.Wrap(fmt.Sprintf("it is on node %q, which is leaving", e.Leaves), "  ", "    "))
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(e.Requests)) {
		if name != corev1.ResourcePods {
			parts = append(parts, fmt.Sprintf("%s %s", name, amount(name, e.Requests)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	out.WriteString(style.Wrap("requests "+strings.Join(parts, ", "), "  ", "    "))
	for _, constraint := range e.Constraints {
		out.WriteString(style.Wrap(constraint, "  ", "    "))
	}
}

// amount formats a quantity for people: cores with decimals, bytes in Mi or Gi.
func amount(name corev1.ResourceName, list corev1.ResourceList) string {
	quantity, ok := list[name]
	switch {
	case !ok:
		return "0"
	case name == corev1.ResourceCPU:
		return decimals(quantity.AsApproximateFloat64(), 3)
	case name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage:
		return memoryText(&quantity)
	case name == api.ResourceDollarsPerHour:
		return vector.Text(name, vector.AmountUp(name, &quantity))
	}
	return quantity.String()
}

func memoryText(quantity *resource.Quantity) string {
	switch value := quantity.AsApproximateFloat64(); {
	case value >= 1<<30:
		return decimals(value/(1<<30), 1) + "Gi"
	case value >= 1<<20:
		return decimals(value/(1<<20), 1) + "Mi"
	}
	return quantity.String()
}

func decimals(value float64, places int) string {
	text := fmt.Sprintf("%.*f", places, value)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
