package shared_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/whittle-dev/whittle/"

// layer is a row of the table: the packages at and below a path, and what they may import.
type layer struct {
	// path is a package relative to the module. The row covers the package and every package below
	// it that has no longer row of its own.
	path string
	// imports are the packages of this module that the row may import, separated by spaces. Each
	// entry stands for the package and every package below it. Packages of the same row may always
	// import each other.
	imports string
	// deciding marks packages that take values and return values. Nothing that they depend on may
	// reach EC2 or the API server, and they do not use the network, files or a log themselves.
	deciding bool
}

// layers returns the architecture, from the lowest layer up. To add a package, add a row to its
// layer. A package below an existing row needs no row, unless it must import less or more.
func layers() []layer {
	return []layer{
		// Vocabulary: the objects and events that everything else is about.
		{path: "shared/hours", deciding: true},
		{path: "shared/freeze", imports: "shared/hours", deciding: true},
		{path: "shared/api", imports: "shared/freeze shared/hours", deciding: true},
		{path: "shared/api/internal/crdgen", imports: "shared/api"},
		{path: "shared/api/legacy", imports: "shared/api", deciding: true},
		{path: "shared/api/legacy/legacytest", imports: "shared/api"},
		{path: "shared/guard", deciding: true},
		{path: "shared/fairness", deciding: true},
		{path: "shared/nearest", deciding: true},
		{path: "events", deciding: true},

		// Facts: what Kubernetes and EC2 say about requirements, volumes, instance types and node
		// classes, as pure functions.
		{path: "shared/scheduling", imports: "shared/api shared/nearest", deciding: true},
		{path: "shared/membership", imports: "shared/api shared/scheduling", deciding: true},
		{path: "shared/volumes", imports: "shared/scheduling", deciding: true},
		{path: "shared/quota", imports: "shared/scheduling", deciding: true},
		{path: "shared/spread", imports: "shared/scheduling", deciding: true},
		{path: "shared/kubelet", imports: "shared/api", deciding: true},
		{path: "shared/catalog", imports: "shared/api shared/guard shared/kubelet shared/scheduling", deciding: true},
		{path: "shared/catalog/builtin", imports: "shared/catalog"},
		{path: "shared/nodeclass", imports: "shared/api shared/kubelet", deciding: true},
		{path: "shared/kubelet/expression", deciding: true},
		{
			path:     "shared/kubelet/evaluation",
			imports:  "shared/api shared/catalog shared/kubelet shared/kubelet/expression",
			deciding: true,
		},
		{path: "shared/nodecost", imports: "shared/api shared/catalog shared/nodeclass", deciding: true},

		// Decisions: a snapshot in, a plan out.
		{
			path:     "shared/plan",
			imports:  "shared/api shared/catalog shared/membership shared/scheduling shared/volumes",
			deciding: true,
		},
		{path: "shared/limit", imports: "shared/api shared/catalog shared/plan shared/scheduling", deciding: true},
		{
			path: "shared/planner",
			imports: "shared/api shared/catalog shared/fairness shared/guard shared/limit shared/nearest shared/plan " +
				"shared/scheduling shared/spread shared/volumes",
			deciding: true,
		},
		{path: "shared/planning", imports: "shared/api shared/catalog shared/plan shared/planner", deciding: true},
		{path: "shared/registration", imports: "shared/api shared/scheduling", deciding: true},
		{path: "shared/release", imports: "shared/api shared/hours shared/registration shared/scheduling", deciding: true},
		{
			path:     "shared/misfit",
			imports:  "shared/api shared/plan shared/planner/workload shared/scheduling shared/volumes",
			deciding: true,
		},
		// Disruption, from its leaves up.
		{path: "shared/disruption/budget", imports: "shared/api shared/guard shared/hours", deciding: true},
		{path: "shared/disruption/protection", imports: "shared/api shared/scheduling", deciding: true},
		{
			path:     "shared/disruption/drift",
			imports:  "shared/api shared/catalog shared/nodeclass shared/scheduling",
			deciding: true,
		},
		{path: "shared/disruption/reboot", imports: "shared/api", deciding: true},
		{path: "shared/disruption/repair", imports: "shared/api shared/disruption/reboot", deciding: true},
		{
			path: "shared/disruption",
			imports: "shared/api shared/catalog shared/disruption shared/freeze shared/guard shared/plan shared/registration " +
				"shared/release shared/scheduling",
			deciding: true,
		},
		{path: "shared/commitment", imports: "shared/api shared/catalog", deciding: true},
		{path: "shared/pending", imports: "shared/api shared/planner/workload shared/scheduling", deciding: true},
		{path: "shared/binding", imports: "shared/api shared/disruption shared/scheduling", deciding: true},
		{path: "shared/nodestate", imports: "shared/api shared/disruption shared/scheduling", deciding: true},
		// Consolidation, in the order of its pipeline.
		{path: "shared/consolidation/settings", imports: "shared/api shared/plan", deciding: true},
		{path: "shared/consolidation/relations", imports: "shared/plan", deciding: true},
		{
			path:     "shared/consolidation/podgroup",
			imports:  "shared/plan shared/planner/resource shared/scheduling",
			deciding: true,
		},
		{
			path: "shared/consolidation/state",
			imports: "shared/api shared/catalog shared/consolidation/settings shared/consolidation/relations " +
				"shared/consolidation/podgroup shared/disruption shared/limit shared/plan shared/planner shared/planning " +
				"shared/scheduling",
			deciding: true,
		},
		{
			path:     "shared/consolidation/eligibility",
			imports:  "shared/api shared/consolidation/state shared/disruption shared/plan shared/scheduling",
			deciding: true,
		},
		{
			path:     "shared/consolidation/firstfit",
			imports:  "shared/consolidation/state shared/consolidation/podgroup shared/planner/resource",
			deciding: true,
		},
		{
			path:     "shared/consolidation/evaluation",
			imports:  "shared/api shared/consolidation/state shared/plan shared/planner shared/planning shared/scheduling",
			deciding: true,
		},
		{
			path: "shared/consolidation/search",
			imports: "shared/consolidation/evaluation shared/consolidation/state shared/consolidation/firstfit " +
				"shared/planner/resource",
			deciding: true,
		},
		{
			path:     "shared/consolidation",
			imports:  "shared/api shared/consolidation shared/disruption shared/plan shared/planner shared/scheduling",
			deciding: true,
		},
		{
			path: "shared/snapshot",
			imports: "shared/api shared/catalog shared/disruption shared/guard shared/limit shared/membership " +
				"shared/nodeclass shared/nodecost shared/plan shared/registration shared/scheduling shared/volumes",
			deciding: true,
		},
		{path: "shared/virtual", imports: "shared/plan shared/scheduling shared/snapshot", deciding: true},
		{
			path:     "shared/provisioningrequest",
			imports:  "shared/api shared/plan shared/quota shared/scheduling shared/virtual",
			deciding: true,
		},
		{
			path:     "shared/buffer",
			imports:  "shared/api shared/plan shared/quota shared/scheduling shared/virtual",
			deciding: true,
		},
		{path: "shared/launch", imports: "shared/api shared/catalog shared/nodeclass shared/scheduling", deciding: true},

		// Edge: clients of Kubernetes, EC2, SQS and CloudWatch. They carry out decisions and make
		// none.
		{path: "shared/metrics"},
		{path: "shared/version"},
		{path: "shared/queue"},
		{path: "shared/cluster", imports: "shared/api shared/cluster/lean shared/spread"},
		{path: "shared/cluster/lean", imports: "shared/spread"},
		{path: "shared/fleet", imports: "shared/api shared/catalog shared/commitment shared/launch shared/nodeclass"},
		{
			path: "shared/inventory",
			imports: "shared/api shared/catalog shared/cluster shared/commitment shared/freeze shared/hours " +
				"shared/kubelet shared/misfit shared/release",
		},
		{path: "shared/status", imports: "shared/api shared/cluster shared/freeze"},
		{
			path: "shared/sight",
			imports: "shared/api shared/buffer shared/catalog shared/cluster shared/commitment shared/consolidation shared/disruption " +
				"shared/fairness shared/function shared/inventory shared/kubelet shared/limit shared/membership shared/misfit " +
				"shared/plan shared/planner/gang shared/planning shared/provisioningrequest shared/quota shared/release " +
				"shared/scheduling shared/snapshot shared/spread shared/status shared/virtual",
		},
		{
			path: "shared/classes",
			imports: "shared/api shared/catalog shared/cluster shared/fleet shared/inventory shared/kubelet shared/launch " +
				"shared/nodeclass",
		},
		{path: "shared/alarm", imports: "shared/freeze"},
		{
			path:    "shared/zonalshift",
			imports: "shared/api shared/cluster shared/disruption shared/inventory shared/snapshot",
		},
		{
			path:    "shared/function",
			imports: "shared/api shared/cluster shared/metrics shared/queue shared/spread shared/version",
		},
		{path: "shared/reaction", imports: "shared/function"},
		{path: "shared/publish", imports: "events/own"},
		{path: "shared/ec2catalog", imports: "shared/catalog shared/commitment"},

		// Test support: packages that only tests and other packages of this layer import.
		{path: "shared/catalog/catalogtest", imports: "shared/api shared/catalog"},
		{path: "shared/cluster/clustertest", imports: "shared/cluster functions/install/manifests testdata/lab"},
		{path: "shared/pagetest"},
		{path: "shared/planner/plantest", imports: "shared"},
		{path: "shared/planner/schedulertest", imports: "shared"},
		{path: "shared/consolidation/consolidationtest", imports: "shared"},
		{path: "functions/functiontest", imports: "shared"},

		// Functions: the top layer. A function may import all of shared, but no other function.
		{path: "functions/catalog", imports: "shared"},
		{path: "functions/console", imports: "shared"},
		{
			path:    "functions/console/whittle",
			imports: "functions/console infra/cfntemplate infra/signature shared",
		},
		{path: "functions/disrupt", imports: "shared events/own"},
		{path: "functions/install", imports: "events shared"},
		{path: "functions/interrupt", imports: "shared events"},
		{path: "functions/lifecycle", imports: "shared events/own"},
		{path: "functions/provision", imports: "shared events/own"},
		{path: "functions/ticker", imports: "shared"},
		{path: "functions/watch", imports: "shared functions/watch/signal"},
		{path: "functions/watch/signal", imports: "shared/api", deciding: true},
	}
}

// clients returns the modules that reach EC2 or the API server. Karpenter is among them, because
// Whittle speaks its API and contains none of its code.
func clients() []string {
	return []string{
		"github.com/aws/aws-sdk-go-v2", "k8s.io/client-go", "sigs.k8s.io/controller-runtime", "sigs.k8s.io/karpenter",
	}
}

// effects returns the packages of the standard library that a deciding package does not import.
func effects() []string {
	return []string{"log", "log/slog", "net", "net/http", "os", "os/exec"}
}

// goPackage is the part of the output of go list that this test reads.
type goPackage struct {
	ImportPath    string
	Imports, Deps []string
	GoFiles       []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	output, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps,GoFiles",
		module+"shared/...", module+"functions/...", module+"events/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var p goPackage
		if err := decoder.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) > 0 {
			packages = append(packages, p)
		}
	}
}

// TestImportsFollowTheLayers checks each package of shared, functions and events against the table.
func TestImportsFollowTheLayers(t *testing.T) {
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		row, ok := rowOf(path)
		if !ok {
			t.Errorf("%s has no row in layers: add one to the layer that it belongs to", path)
			continue
		}
		for _, imported := range p.Imports {
			if problem := row.refuse(path, imported); problem != "" {
				t.Errorf("%s imports %s: %s", path, imported, problem)
			}
		}
		if path != "shared/hours" && slices.Contains(p.Imports, "github.com/robfig/cron/v3") {
			t.Errorf("%s parses schedules: call hours.ParseSchedule, because the cron library panics on some texts", path)
		}
		if !row.deciding {
			continue
		}
		for _, dependency := range p.Deps {
			if slices.ContainsFunc(clients(), func(client string) bool { return within(dependency, client) }) {
				t.Errorf("%s depends on %s, but a deciding package reaches no client", path, dependency)
			}
		}
	}
}

// TestOnlyLifecycleAndTheCommandLineInterpretExpressions keeps the interpreter out of the functions
// for which pods wait: it adds a fifth to their size.
func TestOnlyLifecycleAndTheCommandLineInterpretExpressions(t *testing.T) {
	linked := 0
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if !slices.Contains(p.Deps, "github.com/google/cel-go/cel") {
			continue
		}
		linked++
		if !slices.ContainsFunc([]string{
			"shared/kubelet/expression", "shared/kubelet/evaluation", "functions/lifecycle", "functions/lifecycle/cmd",
			"functions/console/whittle", "functions/console/instancetypes",
		}, func(allowed string) bool { return path == allowed }) {
			t.Errorf("%s depends on cel-go: read the values that lifecycle has stored, by inventory.KubeletValues", path)
		}
	}
	if linked < 3 {
		t.Errorf("only %d packages depend on cel-go: does it have another name?", linked)
	}
}

// TestOnlyPlanningAsksThePlanner holds that every program plans through planning.Solve. The packages that
// solve a part of a plan are imported for other things elsewhere: dual prices, and the topology of gangs
// that run.
func TestOnlyPlanningAsksThePlanner(t *testing.T) {
	solvers := []string{"shared/planner", "shared/planner/gang", "shared/planner/isolate"}
	others := map[string]string{
		"shared/consolidation/state": "shared/planner",      // DualPrices
		"shared/sight":               "shared/planner/gang", // Keep
	}
	for _, p := range listPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if path == "shared/planning" || within(path, "shared/planner") || isTestSupport(path) {
			continue
		}
		for _, imported := range p.Imports {
			inner := strings.TrimPrefix(imported, module)
			if slices.Contains(solvers, inner) && others[path] != inner {
				t.Errorf("%s imports %s: plan with planning.Solve", path, inner)
			}
		}
	}
}

// TestEachPathHasOneRow checks the table itself. A row may be ahead of its package.
func TestEachPathHasOneRow(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range layers() {
		if seen[row.path] {
			t.Errorf("layers has two rows for %s: remove one", row.path)
		}
		seen[row.path] = true
	}
}

// rowOf returns the row with the longest path that covers a package.
func rowOf(path string) (layer, bool) {
	var best layer
	for _, row := range layers() {
		if within(path, row.path) && len(row.path) > len(best.path) {
			best = row
		}
	}
	return best, best.path != ""
}

// refuse returns why a package of the row may not import another, or nothing where it may.
func (l layer) refuse(path, imported string) string {
	inner, own := strings.CutPrefix(imported, module)
	if !own {
		if l.deciding && slices.Contains(effects(), imported) {
			return "a deciding package has no effects"
		}
		return ""
	}
	if isTestSupport(inner) && !isTestSupport(path) {
		return "only tests import it"
	}
	if row, ok := rowOf(inner); ok && row.path == l.path {
		return ""
	}
	for _, allowed := range strings.Fields(l.imports) {
		if within(inner, allowed) {
			return ""
		}
	}
	return "the row " + l.path + " of layers does not allow it"
}

// isTestSupport reports whether a package is for tests, by the last part of its name.
func isTestSupport(path string) bool { return strings.HasSuffix(path, "test") }

// within reports whether a package is the given one or lies below it.
func within(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }
