package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
)

// Workload explains the pods of one controller, such as a Deployment.
type Workload struct {
	FormatVersion int    `json:"formatVersion"`
	Kind          string `json:"kind"`
	Name          string `json:"name"` // namespace/name
	Pods          int    `json:"pods"`
	// Outcomes gather the pods that are alike, those without a place first.
	Outcomes []WorkloadOutcome `json:"outcomes"`
}

// WorkloadOutcome is what becomes of pods that are alike.
type WorkloadOutcome struct {
	Outcome string   `json:"outcome"`
	Pods    []string `json:"pods"`
	// Example explains the first of the pods.
	Example *Explanation `json:"example"`

	nodes map[string]bool // of running pods
}

// ExplainWorkload explains the pods of a controller of any of the kinds. It returns nil if no pod is
// one of its.
func ExplainWorkload(
	kinds []string, namespace, name string, view *sight.View, p *plan.Plan,
) *Workload {
	pods, s := view.Objects.Pods, view.Snapshot
	w := &Workload{FormatVersion: FormatVersion, Name: namespace + "/" + name, Outcomes: []WorkloadOutcome{}}
	all := slices.Clone(pods)
	for i := range s.Pods {
		if find(all, s.Pods[i].Namespace, s.Pods[i].Name) == nil {
			all = append(all, s.Pods[i])
		}
	}
	for i := range all {
		pod := &all[i]
		of := controllerOf(pod, name)
		i := slices.IndexFunc(of, func(kind string) bool { return slices.Contains(kinds, kind) })
		if pod.Namespace != namespace || i < 0 {
			continue
		}
		w.Kind, w.Pods = of[i], w.Pods+1
		w.add(Explain(pod.Namespace, pod.Name, view, p))
	}
	if w.Pods == 0 {
		return nil
	}
	rank := []string{OutcomeNoPlace, OutcomeHeld, OutcomeNewNode, OutcomeExistingNode, OutcomeNotWaiting, OutcomeRunning}
	slices.SortStableFunc(w.Outcomes, func(a, b WorkloadOutcome) int {
		return slices.Index(rank, a.Outcome) - slices.Index(rank, b.Outcome)
	})
	return w
}

func (w *Workload) add(e *Explanation) {
	for i := range w.Outcomes {
		o := &w.Outcomes[i]
		if o.Outcome == e.Outcome && (o.Example.Why == e.Why || o.Example.well && e.well) &&
			(e.Outcome != OutcomeNoPlace || slices.Equal(o.Example.Reasons, e.Reasons)) {
			o.Pods = append(o.Pods, e.Pod)
			o.nodes[e.Runs] = true
			return
		}
	}
	w.Outcomes = append(w.Outcomes, WorkloadOutcome{
		Outcome: e.Outcome, Pods: []string{e.Pod}, Example: e, nodes: map[string]bool{e.Runs: true},
	})
}

// controllerOf returns what the pod's controller may be, if it has the name. A Deployment owns its pods
// by a ReplicaSet, whose name ends in the hash of the pods' template. Pods of a Deployment in a file
// have no hash, and look like those of a ReplicaSet.
func controllerOf(pod *corev1.Pod, name string) []string {
	owner, hash := metav1.GetControllerOf(pod), pod.Labels["pod-template-hash"]
	switch {
	case owner == nil:
		return nil
	case owner.Kind == "ReplicaSet" && hash != "" && owner.Name == name+"-"+hash:
		return []string{"Deployment"}
	case owner.Name != name:
		return nil
	case owner.Kind == "ReplicaSet" && hash == "":
		return []string{"Deployment", "ReplicaSet"}
	}
	return []string{owner.Kind}
}

// WriteText writes the explanation for people.
func (w *Workload) WriteText(out io.Writer, style terminal.Style) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s: %s\n", w.Kind, style.Paint(terminal.Bold, w.Name), count(w.Pods, "pod"))
	for _, o := range w.Outcomes {
		if o.Example.well {
			text.WriteString(style.Wrap(fmt.Sprintf("running: %s on %s", count(len(o.Pods), "pod"), count(len(o.nodes), "node")),
				"  ", "    "))
			continue
		}
		text.WriteString(style.Wrap(fmt.Sprintf("%s: %s: %s", o.Outcome, count(len(o.Pods), "pod"), names(o.Pods)),
			"  ", "    "))
	}
	for _, o := range w.Outcomes {
		if o.Example.well {
			continue
		}
		text.WriteString("\n")
		if err := o.Example.WriteText(&text, style); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
