package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/live"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func node(name string, state nodestate.Word, price float64, age time.Duration, cpu string) view.Node {
	n := view.Node{Name: name, NodePool: "general", State: state, PricePerHour: price, Created: now.Add(-age),
		InstanceType: "m7g.large", CapacityType: "spot", Zone: "us-east-1a"}
	n.Requested.CPU, n.Allocatable.CPU = resource.MustParse(cpu), resource.MustParse("2")
	n.Requested.Memory, n.Allocatable.Memory = resource.MustParse("1Gi"), resource.MustParse("8Gi")
	return n
}

func cluster() *view.View {
	return &view.View{
		Time: now, PricePerHour: 0.6, Problems: []string{"p1", "p2", "p3", "p4"},
		Nodes: []view.Node{
			node("ready-old", nodestate.Ready, 0.1, 48*time.Hour, "500m"),
			node("drains", nodestate.Draining, 0.2, time.Hour, "1"),
			node("ready-dear", nodestate.Ready, 0.3, time.Minute, "1500m"),
		},
	}
}

// press applies keys, one after the other.
func press(t *testing.T, keys ...string) live.Model {
	t.Helper()
	var m live.Model
	for _, key := range keys {
		var ask live.Ask
		if m, ask = m.Key(key, cluster()); ask.Quit {
			t.Fatalf("%s quits", key)
		}
	}
	return m
}

func TestKeysSortAndFilter(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want string // the nodes, in order
	}{
		{nil, "drains ready-dear ready-old"},
		{[]string{"p"}, "ready-dear drains ready-old"},
		{[]string{"a"}, "ready-old drains ready-dear"},
		{[]string{"c"}, "ready-dear drains ready-old"},
		{[]string{"n"}, "drains ready-dear ready-old"},
		{[]string{"x"}, "drains ready-dear ready-old"},
		{[]string{"/", "r", "e", "a", "d", "y", "-"}, "ready-dear ready-old"},
		{[]string{"/", "O", "L", "D", "enter", "p"}, "ready-old"},
		{[]string{"/", "o", "x", "backspace", "l", "enter"}, "ready-old"},
		{[]string{"/", "o", "l", "escape"}, "drains ready-dear ready-old"},
		{[]string{"/", "q", "q"}, ""},
		{[]string{"/", "o", "enter", "escape"}, "drains ready-dear ready-old"},
	} {
		lines := press(t, test.keys...).Lines(cluster(), "", terminal.Style{Width: 120}, 30)
		var names []string
		for _, line := range lines {
			for _, name := range []string{"ready-old", "drains", "ready-dear"} {
				if strings.HasPrefix(line, "  "+name) || strings.HasPrefix(line, "▸ "+name) {
					names = append(names, name)
				}
			}
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%q: %s, want %s\n%s", test.keys, got, test.want, strings.Join(lines, "\n"))
		}
	}
	for _, keys := range [][]string{{"q"}, {"ctrl-c"}, {"/", "ctrl-c"}, {"enter", "q"}, {"enter", "ctrl-c"}} {
		var m live.Model
		var ask live.Ask
		for _, key := range keys {
			m, ask = m.Key(key, cluster())
		}
		if !ask.Quit {
			t.Errorf("%q does not quit", keys)
		}
	}
}

// TestTheScreenIsNeverExceeded draws screens of many sizes, with names of any length.
func TestTheScreenIsNeverExceeded(t *testing.T) {
	v := cluster()
	for i := range 50 {
		n := node(fmt.Sprintf("%s-%d", strings.Repeat("long", i%20), i), nodestate.Ready, 0.1, time.Hour, "1")
		n.Reason = strings.Repeat("why ", i)
		v.Nodes = append(v.Nodes, n)
	}
	v.Nodes[0].Others = []view.Other{{
		Name: "nvidia.com/gpu", Requested: resource.MustParse("1"), Allocatable: resource.MustParse("4"),
	}}
	for i := range 40 {
		v.Waiting = append(v.Waiting, view.Pod{Namespace: "shop", Name: strings.Repeat("pod", i), Created: now,
			Message: strings.Repeat("because ", i)})
	}
	for _, width := range []int{60, 80, 200} {
		for _, height := range []int{1, 2, 5, 10, 24, 100} {
			for _, m := range []live.Model{
				press(t, "down", "down", "down", "up"), press(t, "enter"),
				press(t, "enter").Explained("drains", strings.Repeat(strings.Repeat("word ", 60)+"\n", 60)),
			} {
				for _, problem := range []string{"", "the API server is away"} {
					lines := m.Lines(v, problem, terminal.Style{Width: width}, height)
					if len(lines) > height {
						t.Errorf("%d lines on a screen of %d", len(lines), height)
					}
					for _, line := range lines {
						if n := utf8.RuneCountInString(line); n > width {
							t.Errorf("a line of %d characters on a screen of %d: %s", n, width, line)
						}
					}
				}
			}
		}
	}
}

func TestTheScreenSaysWhatItIs(t *testing.T) {
	text := strings.Join(live.Model{}.Lines(cluster(), "the API server is away", terminal.Style{Width: 150}, 20), "\n")
	for _, part := range []string{
		"NOT CURRENT: the API server is away", "PROBLEM: p3", "and 1 more problems",
		"3 nodes, 0 joining, 1 leaving; $0.6000/h, $438/month; 0 pods pending", "████", "[s state]", "q quit",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
	if lines := (live.Model{}).Lines(nil, "", terminal.Style{Width: 80}, 20); len(lines) != 1 || lines[0] != "reading the cluster…" {
		t.Errorf("before the first view: %q", lines)
	}
}

// selected returns the node with the mark.
func selected(m live.Model, v *view.View) string {
	for _, line := range m.Lines(v, "", terminal.Style{Width: 120}, 30) {
		if rest, marked := strings.CutPrefix(line, "▸ "); marked {
			return strings.Fields(rest)[0]
		}
	}
	return ""
}

// TestTheSelectedRowStaysWithItsNode moves the mark, and lets the cluster change under it.
func TestTheSelectedRowStaysWithItsNode(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want string
	}{
		{nil, "drains"}, {[]string{"down"}, "ready-dear"}, {[]string{"j", "j", "j", "j"}, "ready-old"},
		{[]string{"down", "down", "k"}, "ready-dear"}, {[]string{"up"}, "drains"}, {[]string{"down", "p"}, "ready-dear"},
		{[]string{"a"}, "ready-old"},
	} {
		if got := selected(press(t, test.keys...), cluster()); got != test.want {
			t.Errorf("%q selects %s, want %s", test.keys, got, test.want)
		}
	}
	m, changed := press(t, "down"), cluster()
	changed.Nodes = append(changed.Nodes, node("broken", nodestate.NotReady, 0.1, time.Hour, "1"))
	if got := selected(m, changed); got != "ready-dear" {
		t.Errorf("another node came, and %s is selected", got)
	}
	changed.Nodes = changed.Nodes[:2]
	if got := selected(m, changed); got != "ready-old" {
		t.Errorf("the selected node went, and %s is selected", got)
	}
	changed.Nodes = nil
	if _, ask := m.Key("enter", changed); ask.Explain != "" {
		t.Errorf("without nodes %q is explained", ask.Explain)
	}
}

// TestEnterExplainsARow reads an explanation, scrolls it and goes back.
func TestEnterExplainsARow(t *testing.T) {
	m, ask := press(t, "down").Key("enter", cluster())
	if ask.Explain != "ready-dear" {
		t.Fatalf("enter explains %q", ask.Explain)
	}
	text := func(height int) string {
		return strings.Join(m.Lines(cluster(), "", terminal.Style{Width: 100}, height), "\n")
	}
	if got := text(20); !strings.Contains(got, "explain ready-dear") || !strings.Contains(got, "reading the cluster") ||
		strings.Contains(got, "drains") {
		t.Errorf("before the explanation:\n%s", got)
	}
	if m = m.Explained("another", "words about another"); strings.Contains(text(20), "another") {
		t.Error("an explanation of another node is shown")
	}
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("line %02d", i))
	}
	m = m.Explained("ready-dear", strings.Join(lines, "\n")+"\n")
	for range 3 {
		m, _ = m.Key("down", cluster())
	}
	m, _ = m.Key("up", cluster())
	if got := text(10); strings.Contains(got, "line 01") || !strings.Contains(got, "line 02") ||
		!strings.Contains(got, "3-9 of 30 lines  escape back") {
		t.Errorf("scrolled:\n%s", got)
	}
	m, _ = m.Key("escape", cluster())
	if got := text(20); !strings.Contains(got, "drains") || strings.Contains(got, "line 02") {
		t.Errorf("back:\n%s", got)
	}
	if m = m.Explained("ready-dear", "late"); strings.Contains(text(20), "late") {
		t.Error("an explanation that comes late opens its page again")
	}
}

// TestPodsLabelsAndOtherResourcesAreShown has a GPU, a label and pods that wait.
func TestPodsLabelsAndOtherResourcesAreShown(t *testing.T) {
	v := cluster()
	v.Nodes[0].Labels = map[string]string{"example.com/team": "search"}
	v.Nodes[1].Others = []view.Other{{
		Name: "nvidia.com/gpu", Requested: resource.MustParse("1"), Allocatable: resource.MustParse("4"),
	}}
	for i := range 9 {
		v.Waiting = append(v.Waiting, view.Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), Created: now.Add(-time.Minute),
			Source: "whittle", Message: "no room"})
	}
	m := live.New([]string{"example.com/team"})
	screen := func(width int) string {
		return strings.Join(m.Lines(v, "", terminal.Style{Width: width}, 30), "\n")
	}
	for _, want := range []string{
		"$/MONTH", "  73 ", "GPU", "1 of 4", "TEAM", "search", "PENDING POD", "shop/web-0", "whittle", "no room",
		"and 4 more pending pods",
	} {
		if !strings.Contains(screen(180), want) {
			t.Errorf("lacks %q:\n%s", want, screen(180))
		}
	}
	if narrow := screen(90); !strings.Contains(narrow, "search") || strings.Contains(narrow, "$/MONTH") {
		t.Errorf("a narrow screen has to keep the label that somebody asked for:\n%s", narrow)
	}
	m, _ = m.Key("w", v)
	if strings.Contains(screen(180), "shop/web-0") {
		t.Error("w does not hide the pods")
	}
}
