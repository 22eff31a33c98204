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
			node("ready-old", nodestate.Ready, 0.1, 48*time.Hour, "500m"), node("drains", nodestate.Draining, 0.2, time.Hour, "1"),
			node("ready-dear", nodestate.Ready, 0.3, time.Minute, "1500m"),
		},
	}
}

// press applies keys, one after the other.
func press(t *testing.T, keys ...string) live.Model {
	t.Helper()
	var m live.Model
	for _, key := range keys {
		var quit bool
		if m, quit = m.Key(key); quit {
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
				if strings.HasPrefix(line, name) {
					names = append(names, name)
				}
			}
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%q: %s, want %s\n%s", test.keys, got, test.want, strings.Join(lines, "\n"))
		}
	}
	for _, keys := range [][]string{{"q"}, {"ctrl-c"}, {"/", "ctrl-c"}} {
		var m live.Model
		quit := false
		for _, key := range keys {
			m, quit = m.Key(key)
		}
		if !quit {
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
	for _, width := range []int{60, 80, 200} {
		for _, height := range []int{1, 2, 5, 10, 24, 100} {
			m := press(t, "down", "down", "down", "up")
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

func TestTheScreenSaysWhatItIs(t *testing.T) {
	text := strings.Join(live.Model{}.Lines(cluster(), "the API server is away", terminal.Style{Width: 150}, 20), "\n")
	for _, part := range []string{
		"NOT CURRENT: the API server is away", "PROBLEM: p3", "and 1 more problems",
		"3 nodes, 0 joining, 1 leaving; $0.6000/h; 0 pods pending", "████", "[s state]", "q quit",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("lacks %q:\n%s", part, text)
		}
	}
	if lines := (live.Model{}).Lines(nil, "", terminal.Style{Width: 80}, 20); len(lines) != 1 || lines[0] != "reading the cluster…" {
		t.Errorf("before the first view: %q", lines)
	}
}
