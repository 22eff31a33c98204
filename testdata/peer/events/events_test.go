package events

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
)

const (
	coreModule = "sigs.k8s.io/karpenter"
	awsModule  = "github.com/aws/karpenter-provider-aws"
	repository = "../../.."
	page       = "../events.md"
)

var update = flag.Bool("update", false, "write the page of the events")

// row is one event of Karpenter's. Kinds and types are not in it: the test reads them from the code.
type row struct {
	// Reason is the event's, or the constructor's name where Karpenter gives the event none.
	Reason string `json:"reason"`
	// Unused says that no code of Karpenter's publishes the event.
	Unused bool `json:"unused"`
	// Karpenter and Whittle say when each writes the event. Whittle is empty where it has no such event.
	Karpenter string `json:"karpenter"`
	Whittle   string `json:"whittle"`
	// Proof is Karpenter's test: module, file and text. It is "none" where Karpenter tests no event.
	Proof string `json:"proof"`
	// Test is the folder and name of a test of Whittle's that shows the condition.
	Test string `json:"test"`
	// Differs says why the conditions are not the same. It is empty where they are.
	Differs string `json:"differs"`
	// Kinds and Types say why the kinds of objects or the types differ, where they do.
	Kinds string `json:"kinds"`
	Types string `json:"types"`
}

// own are events that only Whittle has.
type own struct {
	Reasons []string `json:"reasons"`
	Why     string   `json:"why"`
}

type table struct {
	Rows []row `json:"rows"`
	Own  []own `json:"own"`
}

func read(t *testing.T) table {
	t.Helper()
	content, err := os.ReadFile("events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var given table
	if err := yaml.UnmarshalStrict(content, &given); err != nil {
		t.Fatal(err)
	}
	return given
}

// karpenters is one event of Karpenter's: what all of its constructors return.
type karpenters struct {
	kinds, types []string
	again        []time.Duration
	limited      bool
	used         bool
}

// eventsOfKarpenter are the events by their reasons. An event without a reason has its constructor's name.
// Constructors that nothing calls add nothing but the reason, and so do constants without a constructor.
func eventsOfKarpenter(t *testing.T) map[string]*karpenters {
	t.Helper()
	s, found := readKarpenter(t), map[string]*karpenters{}
	at := func(reason string) *karpenters {
		if found[reason] == nil {
			found[reason] = &karpenters{}
		}
		return found[reason]
	}
	for _, reason := range s.reasons {
		at(reason)
	}
	for _, w := range s.written {
		reason := w.reason
		if reason == "" {
			reason = w.constructor
		}
		event := at(reason)
		if !s.calls[w.constructor] {
			continue
		}
		event.used = true
		event.kinds = with(event.kinds, w.kind)
		event.types = with(event.types, w.eventType)
		event.again = with(event.again, w.again)
		event.limited = event.limited || w.limited
	}
	return found
}

// with is a sorted set with one more member.
func with[T string | time.Duration](set []T, member T) []T {
	if at, has := slices.BinarySearch(set, member); !has {
		return slices.Insert(set, at, member)
	}
	return set
}

// TestEveryEventHasARow compares the rows with the code of both sides.
func TestEveryEventHasARow(t *testing.T) {
	given, theirs, ours := read(t), eventsOfKarpenter(t), kindsOfWhittle()
	if len(theirs) < 40 || len(ours) < 40 {
		t.Fatalf("%d reasons of Karpenter's and %d of Whittle's: does the test still find them?", len(theirs), len(ours))
	}
	rows := map[string]row{}
	for _, r := range given.Rows {
		if _, twice := rows[r.Reason]; twice {
			t.Errorf("%s has two rows", r.Reason)
		}
		if theirs[r.Reason] == nil {
			t.Errorf("%s: Karpenter has no such event", r.Reason)
		}
		rows[r.Reason] = r
	}
	for _, reason := range slices.Sorted(maps.Keys(theirs)) {
		if r, has := rows[reason]; !has {
			t.Errorf("%s is an event of Karpenter's without a row", reason)
		} else if r.Unused == theirs[reason].used {
			t.Errorf("%s: unused is %t, and Karpenter publishes it: %t", reason, r.Unused, theirs[reason].used)
		}
	}
	alone := map[string]bool{}
	for _, o := range given.Own {
		for _, reason := range o.Reasons {
			if alone[reason] || theirs[reason] != nil || ours[reason] == nil {
				t.Errorf("%s is called Whittle's own: twice %t, Karpenter's too %t, Whittle's %t",
					reason, alone[reason], theirs[reason] != nil, ours[reason] != nil)
			}
			alone[reason] = true
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(ours)) {
		if _, has := rows[reason]; !has && !alone[reason] {
			t.Errorf("%s is an event of Whittle's without a row, and is not marked as its own", reason)
		}
	}
}

// TestKindsAndTypesAreKarpenters compares what events are about. A difference needs its reason in the row.
func TestKindsAndTypesAreKarpenters(t *testing.T) {
	theirs, kinds, types := eventsOfKarpenter(t), kindsOfWhittle(), typesOfWhittle(t)
	for _, r := range read(t).Rows {
		event := theirs[r.Reason]
		if event == nil || !event.used || kinds[r.Reason] == nil {
			if r.Kinds+r.Types != "" {
				t.Errorf("%s: only one side writes it, so that kinds and types cannot differ", r.Reason)
			}
			continue
		}
		our := slices.Sorted(slices.Values(kinds[r.Reason]))
		if same := slices.Equal(our, event.kinds); same != (r.Kinds == "") {
			t.Errorf("%s is about %v, and in Karpenter about %v; the row says why: %q", r.Reason, our, event.kinds, r.Kinds)
		}
		ourTypes := slices.Sorted(maps.Keys(types[r.Reason]))
		if same := slices.Equal(ourTypes, event.types); same != (r.Types == "") {
			t.Errorf("%s has the type %v, and in Karpenter %v; the row says why: %q",
				r.Reason, ourTypes, event.types, r.Types)
		}
	}
}

// TestEveryRowIsProven checks that the named tests of both sides exist, and that a difference has a reason.
func TestEveryRowIsProven(t *testing.T) {
	modules := map[string]string{"core": module(t, coreModule), "aws": module(t, awsModule)}
	ours, constants := kindsOfWhittle(), readWhittle(t).reasons
	for _, r := range read(t).Rows {
		if r.Karpenter == "" {
			t.Errorf("%s: the row does not say when Karpenter writes it", r.Reason)
		}
		if r.Differs == "" && r.Test == "" {
			t.Errorf("%s: the conditions are called the same, and no test of Whittle's is named", r.Reason)
		}
		if r.Whittle == "" && (r.Differs == "" || ours[r.Reason] != nil) {
			t.Errorf("%s: the row does not say when Whittle writes it, or why it does not", r.Reason)
		}
		if file, exists := testFile(t, r.Test); r.Test != "" && !exists {
			t.Errorf("%s: there is no test %s", r.Reason, r.Test)
		} else if ours[r.Reason] != nil && r.Test != "" && !names(file, r.Reason, constants) {
			t.Errorf("%s: the file of %s does not name the event", r.Reason, r.Test)
		}
		if r.Proof != "none" {
			checkProof(t, r, modules)
		}
		for _, sentence := range []string{r.Karpenter, r.Whittle, r.Differs, r.Kinds, r.Types} {
			if sentence != "" && !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s: %q is no sentence", r.Reason, sentence)
			}
		}
	}
}

// checkProof looks for Karpenter's test in its module.
func checkProof(t *testing.T, r row, modules map[string]string) {
	t.Helper()
	parts := strings.SplitN(r.Proof, " ", 3)
	if len(parts) != 3 || modules[parts[0]] == "" {
		t.Errorf("%s: the proof %q is no module, file and text", r.Reason, r.Proof)
		return
	}
	content, err := os.ReadFile(filepath.Join(modules[parts[0]], "pkg", parts[1]))
	if err != nil || !strings.HasSuffix(parts[1], "_test.go") {
		t.Errorf("%s: %s is no test file of Karpenter's: %v", r.Reason, parts[1], err)
		return
	}
	if name := parts[2]; !strings.Contains(string(content), `It("`+name+`"`) &&
		!strings.Contains(string(content), "func "+name+"(") {
		t.Errorf("%s: %s has no test %q", r.Reason, parts[1], name)
	}
}

// testFile is the text of the file with a test, which is given as folder and name.
func testFile(t *testing.T, named string) (text string, exists bool) {
	t.Helper()
	folder, name, _ := strings.Cut(named, " ")
	files, err := filepath.Glob(filepath.Join(repository, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "\nfunc "+name+"(") {
			return string(content), true
		}
	}
	return "", false
}

// names reports whether the text has the reason, or a constant with it.
func names(text, reason string, constants map[string]string) bool {
	if strings.Contains(text, reason) {
		return true
	}
	for name, value := range constants {
		if value == reason && strings.Contains(text, "."+name) {
			return true
		}
	}
	return false
}

// TestEventsPage compares the page with the rows and the code. With -update it writes the page.
func TestEventsPage(t *testing.T) {
	before, after := "<!-- events: written by `go test -C testdata/peer ./events -update` -->\n", "<!-- end of events -->"
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(content), before)
	_, tail, ends := strings.Cut(rest, after)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", page)
	}
	want := head + before + render(t) + after + tail
	switch {
	case want == string(content):
	case !*update:
		t.Errorf("%s differs from the rows and the code: run go test -C testdata/peer ./events -update", page)
	default:
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// render writes the tables of the page.
func render(t *testing.T) string {
	t.Helper()
	given, theirs, kinds, types := read(t), eventsOfKarpenter(t), kindsOfWhittle(), typesOfWhittle(t)
	var b strings.Builder
	b.WriteString("| event | Karpenter writes it | Whittle writes it | the same? |\n| --- | --- | --- | --- |\n")
	for _, r := range given.Rows {
		event := theirs[r.Reason]
		karpenter := join(r.Karpenter, about(event.kinds, event.types), repeated(event), proof(r.Proof))
		whittle := r.Whittle
		if whittle == "" {
			whittle = "It writes none."
		} else if kinds[r.Reason] != nil {
			our := slices.Sorted(slices.Values(kinds[r.Reason]))
			whittle = join(whittle, about(our, slices.Sorted(maps.Keys(types[r.Reason]))))
		}
		if r.Test != "" {
			whittle = join(whittle, "Test: `"+r.Test+"`.")
		}
		same := "yes"
		if why := join(r.Differs, r.Kinds, r.Types); why != "" {
			same = why
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Reason, karpenter, whittle, same)
	}
	b.WriteString("\nThese events are Whittle's own:\n\n")
	b.WriteString("| event | meaning | beyond Karpenter, because |\n| --- | --- | --- |\n")
	meanings := map[string]string{}
	for _, e := range api.EventReasons() {
		meanings[e.Reason] = e.Meaning
	}
	for _, o := range given.Own {
		for _, reason := range o.Reasons {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", reason, meanings[reason], o.Why)
		}
	}
	return b.String()
}

func about(kinds, types []string) string {
	if len(kinds) == 0 {
		return ""
	}
	return "On: " + strings.Join(kinds, ", ") + " (" + strings.Join(types, ", ") + ")."
}

// repeated says how often Karpenter repeats the event.
func repeated(event *karpenters) string {
	if !event.used {
		return ""
	}
	var times []string
	for _, again := range event.again {
		times = append(times, fmt.Sprintf("%.0f min", again.Minutes()))
	}
	limited := ""
	if event.limited {
		limited = ", and within a rate for all objects together"
	}
	return "Again after " + strings.Join(times, " or ") + limited + "."
}

func proof(named string) string {
	if named == "none" {
		return "It has no test of the event."
	}
	parts := strings.SplitN(named, " ", 3)
	return "Test: `" + parts[1] + "`, \"" + parts[2] + "\"."
}

// join joins sentences, and leaves out empty ones.
func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}
