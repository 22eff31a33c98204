package world_test

import (
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// night is a person at a terminal.
type night struct {
	*testing.T
	world   *world.World
	setup   scenario.Setup
	program string
}

// says runs a command, and compares what it prints with what it must and must not say.
func (n *night) says(when, command string, must, mustNot []string) {
	n.Helper()
	text := n.run(command)
	for _, part := range must {
		if !strings.Contains(text, part) {
			n.Errorf("%s: `whittle %s` does not say %q:\n%s", when, command, part, text)
		}
	}
	for _, part := range mustNot {
		if strings.Contains(text, part) {
			n.Errorf("%s: `whittle %s` says %q:\n%s", when, command, part, text)
		}
	}
}

func (n *night) run(command string) string {
	n.Helper()
	program := exec.CommandContext(n.Context(), n.program, strings.Fields(command)...)
	program.Env = append(append(os.Environ(), n.world.Environment()...), "KUBECONFIG="+n.world.ControlPlane.Kubeconfig)
	text, err := program.CombinedOutput()
	if err != nil {
		n.Errorf("whittle %s: %v\n%s", command, err, text)
	}
	return string(text)
}

// shows compares the text of the dashboard's page with what it must and must not say.
func (n *night) shows(when string, must, mustNot []string) {
	n.Helper()
	text := html.UnescapeString(tag.ReplaceAllString(getPage(n.T, n.world), " "))
	text = strings.Join(strings.Fields(text), " ")
	for _, part := range must {
		if !strings.Contains(text, part) {
			n.Errorf("%s: the page does not say %q:\n%s", when, part, text)
		}
	}
	for _, part := range mustNot {
		if strings.Contains(text, part) {
			n.Errorf("%s: the page says %q:\n%s", when, part, text)
		}
	}
}

// wakesNobody checks that no alarm rings but those of the unkind AWS and of the tests before.
func (n *night) wakesNobody(when string) {
	n.Helper()
	ringing, err := n.world.Ringing()
	if err != nil {
		n.Fatal(err)
	}
	for _, name := range ringing {
		if !slices.Contains([]string{"errors", "dead-letters", "launch-failures"},
			strings.TrimPrefix(name, "whittle-"+n.setup.Name+"-")) {
			n.Errorf("%s: the alarm %q rings", when, name)
		}
	}
}

// tag is an element's beginning or end, or a style sheet.
var tag = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<[^>]*>`)

// until waits until a command says something.
func (n *night) until(what, command, part string) {
	n.Helper()
	wait(n.T, what, func(context.Context) (bool, string, error) {
		text := n.run(command)
		return strings.Contains(text, part), text, nil
	})
}

// atTheTerminal has workloads with a budget, a job, a volume that nobody makes and a pod that fits nowhere. A
// spot warning comes, and somebody deletes a node whose pods may not leave. Each moment has sentences that a
// tired person needs, and others that would mislead.
func atTheTerminal(t *testing.T, w *world.World, setup scenario.Setup) {
	n := &night{t, w, setup, commandLine(t)}
	client, ctx := setup.Client, t.Context()
	file := filepath.Join(setup.Root, "testdata", "manifests", "night.yaml")
	if err := client.Apply(ctx, file, nil); err != nil {
		t.Fatal(err)
	}
	wait(t, "the storefront to run", client.Running("night", "app=storefront", 3))
	wait(t, "the job to run", client.Running("night", "app=nightly", 20))
	wait(t, "the nodes to be initialized", initialized(setup))

	misleading := []string{"a drain is held up", "RequestID", "Draining: Draining"}
	n.says("with all nodes", "status", []string{"ACTING", "/month)", "less than on demand", "night/giant"}, misleading)
	n.shows("with all nodes", []string{"Price of nodes $", "night / giant", "requires cpu 1000", "launched"},
		misleading)
	n.says("with all nodes", "explain job/nightly -n night", []string{"running: 20 pods on"}, misleading)
	n.says("with all nodes", "explain deployment/storefront -n night", []string{"running: 3 pods on"}, misleading)
	n.says("with all nodes", "explain pod giant -n night", []string{"has no place", "requires cpu 1000"}, misleading)
	n.says("with all nodes", "explain pod db-0 -n night", nil, append([]string{"makes room", "has no place"}, misleading...))
	n.says("with all nodes", "events", []string{"Launched", "/h", "Registered", "Initialized"}, nil)

	// Somebody deletes a node whose pods may not leave. The budget needs all three.
	front, err := client.Pods(ctx, "night", "app=storefront")
	if err != nil || len(front) == 0 {
		t.Fatalf("%d pods, %v", len(front), err)
	}
	stuck := front[0].Spec.NodeName
	if err := client.Core.CoreV1().Nodes().Delete(ctx, stuck, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	n.until("the node to drain", "status", "draining")
	began := time.Now()
	n.says("while a drain begins", "status", []string{"PDB night/storefront allows 0 evictions (3 pods healthy, 3 needed)"},
		misleading)
	n.shows("while a drain begins", []string{"draining", "PDB night/storefront allows 0 evictions"}, misleading)

	// Meanwhile EC2 takes an instance back.
	spot := ""
	jobs, err := client.Pods(ctx, "night", "app=nightly")
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		if node := jobs[i].Spec.NodeName; node != stuck {
			spot = node
		}
	}
	if spot != "" {
		nodes, err := client.Nodes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes {
			if nodes[i].Name == spot {
				if err := w.Interrupt(instanceOf(t, nodes[i]), 12*time.Second); err != nil {
					t.Fatal(err)
				}
			}
		}
		wait(t, "the warned node to leave", func(ctx context.Context) (bool, string, error) {
			text := n.run("status -A")
			return !strings.Contains(text, spot), text, nil
		})
		n.says("after a spot warning", "events -A", []string{"SpotInterrupted", "Terminated"}, nil)
		n.shows("after a spot warning", []string{"draining default"}, []string{"RequestID"})
	}

	// Two minutes without progress are a problem that names its cause.
	n.until("the drain to be a problem", "status", "PROBLEM: a drain is held up: "+stuck)
	if early := time.Since(began); early < time.Minute {
		t.Errorf("a drain is a problem after %s", early)
	}
	n.says("after two minutes", "explain node "+stuck,
		[]string{"it has been leaving for", "the drain waits: PDB night/storefront allows 0 evictions"}, nil)
	n.shows("after two minutes", []string{"a drain is held up: " + stuck}, []string{"RequestID"})
	n.wakesNobody("after two minutes")

	if err := client.Core.PolicyV1().PodDisruptionBudgets("night").Delete(ctx, "storefront", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the drain to go on", func(ctx context.Context) (bool, string, error) {
		text := n.run("status")
		return !strings.Contains(text, stuck), text, nil
	})
	n.says("at the end", "status", nil, misleading)
	n.shows("at the end", nil, misleading)
	n.says("at the end", "events", []string{"Terminated"}, nil)
	foreground := metav1.DeletePropagationForeground
	if err := client.Core.CoreV1().Namespaces().Delete(ctx, "night", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster to be empty", empty(setup))
}
