package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/nearest"
)

// explainUsage says how to name an object.
func explainUsage() string {
	return "want TYPE NAME or TYPE/NAME, with a type among " + strings.Join(explainedTypes(), ", ") +
		", such as: whittle explain pod web-0 -n shop"
}

// explainedTypes are the names of the types that explain knows, without the short ones.
func explainedTypes() []string {
	return []string{
		"pod", "node", "nodeclaim", "nodepool", "deployment", "replicaset", "statefulset", "daemonset", "job",
		"replicationcontroller",
	}
}

// explainTypes are the types that explain knows, by the names that kubectl accepts.
var explainTypes = map[string]string{
	"pod": "Pod", "po": "Pod", "node": "Node", "no": "Node", "nodeclaim": "NodeClaim", "nodepool": "NodePool",
	"deployment": "Deployment", "deploy": "Deployment", "replicaset": "ReplicaSet", "rs": "ReplicaSet",
	"statefulset": "StatefulSet", "sts": "StatefulSet", "daemonset": "DaemonSet", "ds": "DaemonSet", "job": "Job",
	"replicationcontroller": "ReplicationController", "rc": "ReplicationController",
}

func explainType(word string) string {
	word = strings.ToLower(word)
	return cmp.Or(explainTypes[word], explainTypes[strings.TrimSuffix(word, "s")])
}

// subject is what is to be explained. An empty kind is any.
type subject struct {
	kind, namespace, name string
	// within is set where the word has a namespace, so that no node or pool is meant.
	within bool
}

// explainWords reports whether explain takes a further word after the given ones.
func explainWords(words []string) bool {
	return len(words) == 0 || len(words) == 1 && (explainType(words[0]) != "" || isOtherType(words[0]))
}

// subjectOf reads TYPE NAME, TYPE/NAME, NAMESPACE/NAME or NAME.
func subjectOf(words []string, namespace string) (subject, bool) {
	s := subject{namespace: cmp.Or(namespace, metav1.NamespaceDefault)}
	switch {
	case len(words) == 0:
		return s, false
	case len(words) == 2:
		s.kind, s.name = explainType(words[0]), words[1]
	default:
		s.name = words[0]
		if kind, name, slash := strings.Cut(words[0], "/"); slash && explainType(kind) != "" {
			s.kind, s.name = explainType(kind), name
		} else if explainType(words[0]) != "" {
			return s, false // a type without a name
		}
	}
	if space, name, slash := strings.Cut(s.name, "/"); slash {
		if namespace != "" && namespace != space {
			return s, false
		}
		s.namespace, s.name, s.within = space, name, true
	}
	return s, s.namespace != "" && s.name != ""
}

// unknownType says which type explain does not know; empty where it knows the type, or none is written.
func unknownType(words []string) string {
	if len(words) == 0 {
		return ""
	}
	written, _, slash := strings.Cut(words[0], "/")
	switch {
	case explainType(written) != "" || !slash && len(words) == 1 || !isOtherType(written):
		return ""
	case slash:
		return typeMeant(written) + fmt.Sprintf(" (or pod %s, if %q is a namespace)", words[0], written)
	}
	return typeMeant(written)
}

// explanation is any of the forms that explain writes.
type explanation interface {
	WriteText(out io.Writer, style terminal.Style) error
}

// explain says why a pod has its place, or none, and why a node or a pool is as it is.
func explain(
	ctx context.Context, arguments []string, now func() time.Time, in io.Reader, out, problems io.Writer,
) error {
	flags, err := parsePlanFlags("explain", explainWords, arguments, problems)
	if err != nil {
		return err
	}
	asked, ok := subjectOf(flags.words, flags.namespace)
	if wrong := unknownType(flags.words); wrong != "" {
		return usageProblem(problems, "whittle explain: %s", wrong)
	}
	if !ok {
		return usageProblem(problems, "whittle explain: %s", explainUsage())
	}
	found, assumed, err := flags.explanation(ctx, asked, now, in, problems)
	switch {
	case err != nil:
		return err
	case flags.output.isForPrograms():
		return flags.output.write(out, found, "")
	}
	if err := found.WriteText(out, styleOf(out)); err != nil {
		return err
	}
	line := assumed.Line(styleOf(out))
	if line != "" {
		line = "\n" + line
	}
	_, err = io.WriteString(out, line)
	return err
}

// explanation explains the one object that the subject names, and tells which DaemonSets the plan assumes.
func (f *planFlags) explanation(
	ctx context.Context, asked subject, now func() time.Time, in io.Reader, problems io.Writer,
) (explanation, report.Assumed, error) {
	f.allDetails = true
	made, err := f.plan(ctx, now, in, problems)
	if err != nil {
		return nil, report.Assumed{}, err
	}
	found := made.explain(asked)
	if isNodeOrPool(asked.kind) && !asked.within {
		fleet, err := made.from.consolidate(ctx, now())
		if err != nil {
			return nil, report.Assumed{}, err
		}
		found = slices.Concat(fleet.explain(asked), found)
	}
	switch len(found) {
	case 0:
		return nil, report.Assumed{}, fmt.Errorf("there is no %s%s", asked, near(asked, made))
	case 1:
		return found[0], made.from.assumed, nil
	}
	return nil, report.Assumed{}, fmt.Errorf("several objects have the name %q: give the type, as in pod/%s",
		asked.name, asked.name)
}

// explainRow explains a row of the live view, as `whittle explain node` does for the same cluster.
func explainRow(way access, now func() time.Time) func(context.Context, string, terminal.Style) (string, error) {
	return func(ctx context.Context, name string, style terminal.Style) (string, error) {
		flags, err := parsePlanFlags("explain", explainWords, []string{"node", name}, io.Discard)
		if err != nil {
			return "", err
		}
		flags.access = way
		found, _, err := flags.explanation(ctx, subject{kind: "Node", name: name}, now, strings.NewReader(""), io.Discard)
		if err != nil {
			return "", err
		}
		var text strings.Builder
		err = found.WriteText(&text, style)
		return text.String(), err
	}
}

func (s subject) String() string {
	switch {
	case s.kind == "" && s.within:
		return fmt.Sprintf("pod or workload %s/%s", s.namespace, s.name)
	case s.kind == "":
		return fmt.Sprintf("object %q, or pod %s/%s", s.name, s.namespace, s.name)
	case isNodeOrPool(s.kind):
		return fmt.Sprintf("%s %q", strings.ToLower(s.kind), s.name)
	}
	return fmt.Sprintf("%s %s/%s", strings.ToLower(s.kind), s.namespace, s.name)
}

// isNodeOrPool reports whether the kind may be that of a node, a claim or a pool.
func isNodeOrPool(kind string) bool {
	return slices.Contains([]string{"", "Node", "NodeClaim", "NodePool"}, kind)
}

// explain returns the explanations of the pods and workloads that the subject names.
func (m *planned) explain(asked subject) []explanation {
	var found []explanation
	if asked.kind == "" || asked.kind == "Pod" {
		if e := report.Explain(asked.namespace, asked.name, m.view, m.plan); e != nil {
			found = append(found, e)
		}
	}
	kinds := []string{asked.kind}
	if asked.kind == "" {
		kinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController"}
	}
	if e := report.ExplainWorkload(kinds, asked.namespace, asked.name, m.view, m.plan); e != nil {
		found = append(found, e)
	}
	return found
}

// explain returns the explanations of the nodes and pools that the subject names.
func (c *consolidated) explain(asked subject) []explanation {
	var found []explanation
	if asked.kind != "NodePool" {
		if e := report.AboutNode(asked.name, c.fleet.Objects.NodePools, c.snapshot, c.plan); e != nil {
			found = append(found, e)
		}
	}
	if asked.kind == "" || asked.kind == "NodePool" {
		if e := report.AboutPool(asked.name, c.fleet.Objects.NodePools, c.snapshot, c.plan); e != nil {
			found = append(found, e)
		}
	}
	return found
}

// near suggests objects with a similar name, or else any.
func near(asked subject, made *planned) string {
	if kind := nearType(asked.namespace); asked.kind == "" && asked.within && kind != "" {
		return fmt.Sprintf(": did you mean %s/%s?", kind, asked.name)
	}
	what, all := made.named(asked.kind)
	var names, some []string
	for _, one := range all {
		if len(some) < maximumNear {
			some = append(some, one.shown)
		}
		if len(names) < maximumNear && isNear(asked.name, one.name) {
			names = append(names, one.shown)
		}
	}
	switch {
	case len(all) == 0:
		return what
	case len(names) == 0:
		return what + ": name one, such as " + strings.Join(some, ", ")
	}
	return ": did you mean " + strings.Join(names, " or ") + "?"
}

// isNear reports whether the name is similar to that which was asked for, or one is the other's with a suffix.
func isNear(asked, name string) bool {
	return strings.HasPrefix(name, asked+"-") || strings.HasPrefix(asked, name+"-") ||
		nearest.To(asked, []string{name}) != ""
}

// object is the name of an object, and how explain takes it.
type object struct{ name, shown string }

// named are the objects of the kind, and pods for any other. What says how many there are.
func (m *planned) named(kind string) (what string, all []object) {
	switch kind {
	case "Node", "NodeClaim":
		for i := range m.view.Snapshot.Nodes {
			name := m.view.Snapshot.Nodes[i].Name()
			all = append(all, object{name, name})
		}
		return fmt.Sprintf(" among the %d nodes", len(all)), all
	case "NodePool":
		for i := range m.view.Objects.NodePools {
			name := m.view.Objects.NodePools[i].Name
			all = append(all, object{name, name})
		}
		return fmt.Sprintf(" among the %d nodepools", len(all)), all
	}
	for i := range m.view.Objects.Pods {
		pod := &m.view.Objects.Pods[i]
		all = append(all, object{pod.Name, pod.Namespace + "/" + pod.Name})
	}
	return fmt.Sprintf(" among the %d pods", len(all)), all
}

// maximumNear is the number of suggestions.
const maximumNear = 3
