package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/budget"
)

// tasksPage has the commands for changes of a running installation, relative to root.
const tasksPage = "functions/tasks.md"

// TestTasksShowWhatTheCommandsPrint holds the page of tasks to the output that the tests of reports hold.
func TestTasksShowWhatTheCommandsPrint(t *testing.T) {
	output, err := os.ReadFile(filepath.Join(root, "functions/console/report/testdata/explain-no-place.txt"))
	if err != nil {
		t.Fatal(err)
	}
	block := "```\n" + string(output) + "```\n"
	agrees(t, tasksPage, withBlock(t, tasksPage, tasksText(t), "no place", "Tasks", block))
}

func tasksText(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(tasksPage)))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// TestTasksFreezeAndThaw carries out the page's patches on the pool that `whittle init` prints.
func TestTasksFreezeAndThaw(t *testing.T) {
	_, section, _ := strings.Cut(tasksText(t), "## Freeze everything")
	section, _, _ = strings.Cut(section, "\n## ")
	patches := regexp.MustCompile(`(?s)-p '(\[.*?\])'`).FindAllStringSubmatch(section, -1)
	if len(patches) != 2 {
		t.Fatalf("the page has %d patches, want one to freeze and one to thaw", len(patches))
	}
	var pool api.NodePool
	manifest, _, _ := strings.Cut(firstPool.Manifest(), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(manifest), &pool); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(pool.Spec.Disruption.Budgets)
	allowed := func() (most int) {
		for _, reason := range []api.DisruptionReason{
			api.DisruptionReasonEmpty, api.DisruptionReasonDrifted, api.DisruptionReasonUnderutilized,
		} {
			nodes, err := budget.Allowed(&pool, budget.PoolCount{Nodes: 20}, reason, startedAt)
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, nodes)
		}
		return most
	}
	if got := allowed(); got == 0 {
		t.Fatalf("the pool is frozen before the freeze")
	}
	patched(t, &pool, patches[0][1])
	if err := pool.Validate(); err != nil || allowed() != 0 {
		t.Errorf("%v, and %d nodes may go in the freeze", err, allowed())
	}
	patched(t, &pool, patches[1][1])
	if !reflect.DeepEqual(pool.Spec.Disruption.Budgets, before) {
		t.Errorf("the budgets are %+v after the thaw, and were %+v", pool.Spec.Disruption.Budgets, before)
	}
	if !strings.Contains(section, disruption.ExpireWithinBudgetsAnnotationKey+"=true") ||
		!strings.Contains(section, disruption.ExpireWithinBudgetsAnnotationKey+"-\n") {
		t.Error("the page lacks the annotation that lets budgets count for expired nodes, or its removal")
	}
}

// patched carries out a JSON patch of a pool's budgets.
func patched(t *testing.T, pool *api.NodePool, patch string) {
	t.Helper()
	var steps []struct {
		Op, Path string
		Value    api.Budget
	}
	if err := json.Unmarshal([]byte(patch), &steps); err != nil {
		t.Fatalf("%v in %s", err, patch)
	}
	budgets := &pool.Spec.Disruption.Budgets
	for _, step := range steps {
		place, found := strings.CutPrefix(step.Path, "/spec/disruption/budgets/")
		at, err := strconv.Atoi(place)
		switch {
		case found && step.Op == "add" && place == "-":
			*budgets = append(*budgets, step.Value)
		case found && step.Op == "test" && err == nil && at < len(*budgets):
			if !reflect.DeepEqual((*budgets)[at], step.Value) {
				t.Fatalf("%s: the budget is %+v", patch, (*budgets)[at])
			}
		case found && step.Op == "remove" && err == nil && at < len(*budgets):
			*budgets = slices.Delete(*budgets, at, at+1)
		default:
			t.Fatalf("%s: a step that the test does not know", patch)
		}
	}
}
