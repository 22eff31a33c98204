package disrupt

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// savings sums up the metric's lines by reason.
func savings(t *testing.T, lines string) map[string]float64 {
	t.Helper()
	saved := map[string]float64{}
	for line := range strings.Lines(lines) {
		var value struct {
			Reason                        string
			DisruptionSavedDollarsPerHour *float64
		}
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatal(err)
		}
		if value.DisruptionSavedDollarsPerHour != nil {
			saved[value.Reason] += *value.DisruptionSavedDollarsPerHour
		}
	}
	return saved
}

// settleAtOnce lets the pool's nodes be consolidated at once.
func settleAtOnce(t *testing.T) {
	t.Helper()
	annotations := map[string]string{settings.SettleTimeAnnotationKey: "0s"}
	server.Patch(t, api.NodePoolsPath+"/default", map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// spotNodes counts the spot claims that are not deleted.
func spotNodes(claims []api.NodeClaim) int {
	count := 0
	for i := range claims {
		if claims[i].Labels[api.CapacityTypeLabelKey] == api.CapacityTypeSpot && claims[i].DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

// staysSettled runs passes for some minutes, and fails if one of them moves a node.
func (l *harness) staysSettled(t *testing.T, w *world) {
	t.Helper()
	left := w.claims()
	for range 8 {
		l.mustTick(t)
		l.ahead += 20 * time.Second
		w.step()
	}
	for _, claim := range left {
		after := functiontest.Get[api.NodeClaim](t, server, api.NodeClaimsPath+"/"+claim.Name)
		if after == nil {
			t.Errorf("nodeclaim %s is gone", claim.Name)
			continue
		}
		if after.DeletionTimestamp != nil || after.Annotations[disruption.ProposedAnnotationKey] != "" {
			t.Errorf("nodeclaim %s is moved again: %v", claim.Name, after.Annotations)
		}
	}
}

// TestAFragmentedFleetIsConsolidated has six nodes for the pods of two, under a budget of two
// nodes. One Deployment has a disruption budget that allows one eviction. Another one has a single
// replica that is moved by a restart.
func TestAFragmentedFleetIsConsolidated(t *testing.T) {
	mayRestart(t)
	pool(t, "2")
	settleAtOnce(t)
	offers(t)
	const nodes = 6
	w := newWorld(t)
	w.fill("part", nodes)
	w.workload(nodes, nodes-1, "500m")
	w.deploy("single", 1, "200m", map[string]string{disruption.MoveByRestartAnnotationKey: "true"})
	w.await("the single replica runs too", func() bool {
		w.step()
		pods := w.pods()
		waits := func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning }
		return len(pods) == nodes+1 && !slices.ContainsFunc(pods, waits)
	})
	w.most, w.least = 0, map[string]int{"web": nodes, "single": 1}
	l := newHarness(t, nil)
	var written bytes.Buffer
	l.metrics = metrics.NewRecorder("test", &written, l.now)
	proposed := map[string]bool{}
	w.await("two spot nodes are left", func() bool {
		l.mustTick(t)
		for _, claim := range w.claims() {
			if _, isProposed := claim.Annotations[disruption.ProposedAnnotationKey]; isProposed {
				proposed[claim.Name] = true
			}
		}
		l.ahead += 20 * time.Second
		w.step()
		claims := w.claims()
		return len(claims) == 2 && spotNodes(claims) == 2
	})
	if len(proposed) == 0 {
		t.Error("nothing was proposed before it was done")
	}
	if w.most > 2 {
		t.Errorf("%d nodes were on their way out at once, the budget allows 2", w.most)
	}
	if w.least["web"] < nodes-1 || w.least["single"] < 1 {
		t.Errorf("of %d replicas, and of a single one, there were ready at the least %v", nodes, w.least)
	}
	restarted := functiontest.Get[appsv1.Deployment](t, server, deploymentsPath+"/single")
	if restarted.Spec.Template.Annotations[disruption.RestartedAtAnnotationKey] == "" {
		t.Error("the single replica was not moved by a restart")
	}
	// Two spot nodes have replaced six on-demand nodes. Each has 20 GiB of gp3 at $0.08 a month.
	const volume = 20 * 0.08 / 730
	saved, want := savings(t, written.String()), 6*(0.096+volume)-2*(0.03+volume)
	if math.Abs(saved["Underutilized"]+saved["Empty"]-want) > 1e-6 {
		t.Errorf("the metric shows savings of $%v/h, want $%g/h", saved, want)
	}
	l.staysSettled(t, w)
}

// TestAProposalThatDoesNotHoldIsWithdrawn protects a node after it was proposed.
func TestAProposalThatDoesNotHoldIsWithdrawn(t *testing.T) {
	pool(t, "100%")
	settleAtOnce(t)
	offers(t)
	w := newWorld(t)
	w.fill("kept", 2)
	w.workload(2, 0, "300m")
	l := newHarness(t, nil)
	first := ""
	w.await("a move is proposed", func() bool {
		l.mustTick(t)
		l.ahead += 20 * time.Second
		w.step()
		for _, claim := range w.claims() {
			if claim.Annotations[disruption.ProposedAnnotationKey] != "" {
				first = claim.Name
			}
		}
		return first != ""
	})
	server.Patch(t, functiontest.NodesPath+"/node-"+first,
		map[string]any{"metadata": map[string]any{"annotations": map[string]string{api.DoNotDisruptAnnotationKey: "true"}}})
	w.await("the proposal is taken back", func() bool {
		l.mustTick(t)
		l.ahead += 5 * time.Second
		w.step()
		return readClaim(t, first).Annotations[disruption.ProposedAnnotationKey] == ""
	})
	if claim := readClaim(t, first); claim.DeletionTimestamp != nil || isTainted(t, first) {
		t.Error("a node that a person keeps was disrupted")
	}
	for _, about := range []string{first, "node-" + first} {
		reasons := server.Reasons(t, about)
		if !reasons["ConsolidationCandidate"] || !reasons["ConsolidationRejected"] {
			t.Errorf("events about %s: %v", about, reasons)
		}
	}
}
