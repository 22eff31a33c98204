package api

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/hours"
)

const (
	maxBudgets       = 50
	maxBudgetReasons = 50
)

var budgetNodes = regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`)

func consolidationPolicies() []string {
	return texts([]ConsolidationPolicy{
		ConsolidationPolicyWhenEmpty, ConsolidationPolicyWhenEmptyOrUnderutilized, ConsolidationPolicyBalanced,
	})
}

func disruptionReasons() []string {
	return texts([]DisruptionReason{
		DisruptionReasonUnderutilized, DisruptionReasonEmpty, DisruptionReasonDrifted, DisruptionReasonUnhealthy,
	})
}

func (f *findings) validateDisruption(path string, d Disruption) {
	f.validateNillableDuration(path+".consolidateAfter", d.ConsolidateAfter)
	switch d.ConsolidationPolicy {
	case "", ConsolidationPolicyWhenEmpty, ConsolidationPolicyWhenEmptyOrUnderutilized, ConsolidationPolicyBalanced:
	default:
		f.choose(path+".consolidationPolicy", string(d.ConsolidationPolicy), consolidationPolicies(),
			"is not a policy: use WhenEmpty, WhenEmptyOrUnderutilized or Balanced")
	}
	if len(d.Budgets) > maxBudgets {
		f.addField(path+".budgets", "has %d entries: remove all but %d", len(d.Budgets), maxBudgets)
	}
	for i, budget := range d.Budgets {
		f.validateBudget(fmt.Sprintf("%s.budgets[%d]", path, i), budget)
	}
}

func (f *findings) validateBudget(path string, b Budget) {
	if err := validateBudgetNodes(b.Nodes); err != nil {
		f.add(path+".nodes", b.Nodes, "%s", err)
	}
	if len(b.Reasons) > maxBudgetReasons {
		f.addField(path+".reasons", "has %d entries: remove all but %d", len(b.Reasons), maxBudgetReasons)
	}
	for i, reason := range b.Reasons {
		at := fmt.Sprintf("%s.reasons[%d]", path, i)
		switch reason {
		case DisruptionReasonUnderutilized, DisruptionReasonEmpty, DisruptionReasonDrifted, DisruptionReasonUnhealthy:
		default:
			f.choose(at, string(reason), disruptionReasons(), "is not a reason: use Underutilized, Empty, Drifted or Unhealthy")
		}
		if slices.Contains(b.Reasons[:i], reason) {
			f.add(at, string(reason), "is there twice: remove one of them")
		}
	}
	if b.Schedule != nil {
		if _, err := hours.ParseSchedule(*b.Schedule, time.UTC); err != nil {
			f.add(path+".schedule", *b.Schedule, "%s", err)
		}
	}
	f.validateTimeZone(path, b)
	if b.Duration != nil && (b.Duration.Duration < 0 || b.Duration.Duration%time.Minute != 0) {
		f.add(path+".duration", b.Duration.Duration.String(),
			"is not a number of whole minutes, zero or more: write hours and minutes, such as 1h30m")
	}
	switch {
	case b.Schedule != nil && b.Duration == nil:
		f.addField(path+".duration",
			"is missing: add how long the budget is active after each hit of its schedule, or remove the schedule")
	case b.Schedule == nil && b.Duration != nil:
		f.addField(path+".schedule", "is missing: add when the budget starts to be active, or remove the duration")
	}
}

func (f *findings) validateTimeZone(path string, b Budget) {
	if b.TimeZone == nil {
		return
	}
	if b.Schedule == nil {
		f.add(path+".timeZone", *b.TimeZone, "is of no use without a schedule: remove it, or add a schedule")
	}
	if _, err := hours.Zone(*b.TimeZone); err != nil {
		f.add(path+".timeZone", *b.TimeZone, "%s", err)
	}
}

// validateBudgetNodes checks that a text is a number of nodes or a percentage. The error gives the
// problem and its remedy, without the text.
func validateBudgetNodes(nodes string) error {
	if !budgetNodes.MatchString(nodes) {
		return fmt.Errorf("is neither a number nor a percentage from 0%% to 100%%: write such as 5 or 10%%")
	}
	if strings.HasSuffix(nodes, "%") {
		return nil
	}
	if _, err := strconv.ParseInt(nodes, 10, 32); err != nil {
		return fmt.Errorf("is more nodes than can be counted: use a number below 2147483648")
	}
	return nil
}

func (f *findings) validateNillableDuration(path string, d NillableDuration) {
	if d.Duration != nil && *d.Duration < 0 {
		f.add(path, d.String(), "is negative: use zero, more, or Never")
	}
}
