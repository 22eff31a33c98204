package answers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryMetricHasARow compares the table of Karpenter's metrics in the page of the functions with
// the metrics that Karpenter's modules declare. A metric without a row fails it, and so does a row
// without a metric.
func TestEveryMetricHasARow(t *testing.T) {
	declared := map[string]bool{}
	for _, module := range []string{
		module(t, "sigs.k8s.io/karpenter"), module(t, "github.com/aws/karpenter-provider-aws"),
	} {
		addMetrics(t, filepath.Join(module, "pkg"), declared)
	}
	if len(declared) < 60 {
		t.Fatalf("%d metrics found in Karpenter's modules", len(declared))
	}
	rows := metricRows(t)
	for name := range declared {
		if !slices.ContainsFunc(rows, func(row *regexp.Regexp) bool { return row.MatchString(name) }) {
			t.Errorf("karpenter_%s has no row", name)
		}
	}
	// Karpenter's libraries serve these.
	foreign := regexp.MustCompile(
		`^\^(operator|controller_runtime|client_go|workqueue|leader_election|aws_sdk_go|build_info)`)
	for _, row := range rows {
		matches := func(name string) bool { return row.MatchString(name) }
		found := false
		for name := range declared {
			found = found || matches(name)
		}
		if !found && !foreign.MatchString(row.String()) {
			t.Errorf("Karpenter has no metric %s", row)
		}
	}
}

// metricRows are the names in the first column of the table, as expressions.
func metricRows(t *testing.T) []*regexp.Regexp {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(repository, "functions", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Karpenter's metrics\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows []*regexp.Regexp
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.Contains(cells[1], "karpenter_...") {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			rows = append(rows, regexp.MustCompile("^"+strings.ReplaceAll(name[1], "*", `\w+`)+"$"))
		}
	}
	return rows
}

// addMetrics adds the metrics that the folder's files declare, without their prefix karpenter_.
func addMetrics(t *testing.T, folder string, into map[string]bool) {
	t.Helper()
	constants := map[string]string{}
	constant := regexp.MustCompile(`^\s*(\w+Subsystem)\s*= "(\w+)"`)
	opening := regexp.MustCompile(`Namespace:\s+(?:metrics\.)?Namespace,`)
	subsystem, name := regexp.MustCompile(`Subsystem:\s+(?:\w+\.)?("?\w+"?),`), regexp.MustCompile(`Name:\s+"(\w+)",`)
	walk(t, folder, func(line string) {
		if match := constant.FindStringSubmatch(line); match != nil {
			constants[match[1]] = match[2]
		}
	})
	within, of := false, ""
	walk(t, folder, func(line string) {
		if opening.MatchString(line) {
			within, of = true, ""
		}
		if match := subsystem.FindStringSubmatch(line); within && match != nil {
			of = match[1]
		}
		match := name.FindStringSubmatch(line)
		if !within || match == nil {
			return
		}
		within = false
		if value, isConstant := constants[of]; isConstant {
			of = value
		}
		into[strings.TrimPrefix(strings.Trim(of, `"`)+"_"+match[1], "_")] = true
	})
}
