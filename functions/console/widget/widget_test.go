package widget

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/status"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

const endpoint = "arn:aws:lambda:us-east-1:123456789012:function:whittle-prod-console"

func render(t *testing.T, shown *view.View, options Options) string {
	t.Helper()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Render(shown, options)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plain returns the visible text, without markup and styles.
func plain(text string) string {
	text = regexp.MustCompile(`(?s)<style>.*?</style>|<cwdb-action.*?</cwdb-action>`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`</?(span|b|i|small)[^>]*>`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}

func small() *view.View {
	quantity := resource.MustParse
	return &view.View{
		Time: now, Instances: 1, PricePerHour: 0.0971, Savings: catalog.SavingsAgainst(0.29, 0.0971),
		Catalog: &view.Catalog{Time: now.Add(-time.Minute), InstanceTypes: 884},
		NodePools: []view.NodePool{
			{
				Name: "default", NodeClass: "al2023", Nodes: 1, CPU: quantity("8"), Memory: quantity("16Gi"), Ready: true,
				PricePerHour: 0.0971,
			},
			{Name: "gpu", Reasons: []string{`NodeClassNotFound: "gpu" & more`}},
		},
		Nodes: []view.Node{
			{
				NodeClaim: "default-5bq9m", NodePool: "default", Name: "ip-10-0-1-4.ec2.internal",
				ProviderID: "aws:///us-east-1a/i-1", InstanceType: "c7g.2xlarge", CapacityType: "spot",
				Zone: "us-east-1a", Created: now.Add(-3 * time.Hour), State: nodestate.Draining, Reason: "2 pods are waiting",
				PricePerHour: 0.0971, Pods: 7,
				Requested:   view.Resources{CPU: quantity("1500m"), Memory: quantity("3584Mi")},
				Allocatable: view.Resources{CPU: quantity("6"), Memory: quantity("14Gi")},
			},
			{
				Name: "ip-10-0-9-9.ec2.internal", InstanceType: "m7g.large", Created: now.Add(-59 * 24 * time.Hour),
				State: nodestate.Ready,
			},
		},
		Waiting: []view.Pod{
			{
				Namespace: "batch", Name: "one", Created: now.Add(-90 * time.Second), Source: "whittle",
				Message: "requires cpu 4000",
			},
			{
				Namespace: "batch", Name: "two", Created: now.Add(-80 * time.Second), Source: "whittle",
				Message: "requires cpu 4000",
			},
			{Namespace: "web", Name: "three", Created: now.Add(-5 * time.Second)},
			{
				Namespace: "batch", Name: "four", Created: now.Add(-4 * time.Second), Source: "whittle",
				Message: "requires cpu 4000",
			},
		},
		Plan: &status.Plan{
			Time: now.Add(-50 * time.Second), Pods: 9, Existing: 4, Unplaced: 1, PricePerHour: 0.15, LowerBoundPerHour: 0.12,
			More: 3,
			Nodes: []status.Nodes{
				{
					NodePool: "default", InstanceType: "c7g.large", CapacityType: "spot", Zone: "us-east-1b", Count: 2, Pods: 4,
					PricePerHour: 0.05,
				},
			},
		},
	}
}

func TestWhatIsShown(t *testing.T) {
	text := plain(render(t, small(), Options{Cluster: "prod"}))
	for _, want := range []string{
		"prod as of 12:00:00 UTC",
		"Price of nodes $0.0971 /h 67 % ($0.1929/h) below on-demand",
		"Nodes 2 1 ready 1 spot, 1 unmanaged",
		"CPU requested 25 % 1.5 of 6 cores", "Memory requested 25 % 3.5Gi of 14Gi",
		"Pending pods 4 the oldest for 90s",
		"Last plan $0.1500 /h 5 new nodes",
		"3 90s batch/one batch/two and 1 more whittle requires cpu 4000", "1 5s web/three no event yet",
		"ready default al2023 1 8 16Gi 0.0971", `not ready gpu 0 0 0 NodeClassNotFound: "gpu" & more`,
		"50s ago: 9 pods, 5 new nodes, 4 on existing nodes, 1 without a place",
		"2 c7g.large spot us-east-1b default 4 0.0500", "and 3 more nodes",
		"draining default-5bq9m ip-10-0-1-4 c7g.2xlarge spot us-east-1a 3h 0.0971 7 1.5/6.0 3.5/14.0 2 pods are waiting",
		"ready ip-10-0-9-9 m7g.large 59d 0", "Catalogue: 884 instance types, 60s old",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

func TestStandingBackIsSaidFirst(t *testing.T) {
	shown := small()
	shown.Standby = "kube-system/karpenter-7d9"
	if text := plain(render(t, shown, Options{Cluster: "prod"})); !strings.HasPrefix(text, "prod as of 12:00:00 UTC "+
		"Standby: Karpenter acts in this cluster (kube-system/karpenter-7d9). Scale") {
		t.Errorf("got:\n%s", text)
	}
}

func TestAnIgnoredLeaseIsShown(t *testing.T) {
	shown := small()
	shown.IgnoredLeases = []string{"the Lease tenant/karpenter-leader-election does not count"}
	if text := plain(render(t, shown, Options{Cluster: "prod"})); !strings.Contains(text,
		"Ignored: the Lease tenant/karpenter-leader-election does not count. If it is Karpenter's, set") {
		t.Errorf("got:\n%s", text)
	}
}

func TestProblemsAreAboveTheFigures(t *testing.T) {
	shown := small()
	shown.Verdict = view.Verdict{Acting: view.Silent, Why: "the last tick was 12m ago"}
	shown.IgnoredLeases = []string{"the Lease t/karpenter-leader-election does not count"}
	shown.Problems = []string{
		"2 nodes are not ready: a, b", "p2", shown.IgnoredLeases[0] + ": if it is", shown.CatalogText(), "p3", "p4", "p5", "p6",
	}
	text := plain(render(t, shown, Options{Cluster: "prod"}))
	_, after, _ := strings.Cut(text, "Silent: the last tick was 12m ago.")
	if want := " 2 nodes are not ready: a, b p2 p3 p4 and 2 more: bin/whittle status has all Price of nodes"; !strings.HasPrefix(
		after, want) {
		t.Errorf("lacks %q:\n%s", want, text)
	}
}

func TestAZonalShiftIsShown(t *testing.T) {
	shown := small()
	shown.ShiftedZones = []view.ShiftedZone{{
		ID: "use1-az1", Name: "us-east-1a", Until: time.Date(2026, 3, 1, 14, 5, 0, 0, time.UTC),
	}}
	if text := plain(render(t, shown, Options{Cluster: "prod"})); !strings.Contains(text,
		"Zonal shift: zone us-east-1a (use1-az1) until 2026-03-01 14:05 UTC: no node is launched or ended there.") {
		t.Errorf("got:\n%s", text)
	}
}

func TestAFreezeIsShown(t *testing.T) {
	shown := small()
	shown.Freezes = []view.Freeze{{Message: "the cluster is frozen by alice until somebody thaws it; it holds disruption"}}
	if text := plain(render(t, shown, Options{Cluster: "prod"})); !strings.Contains(text,
		"Frozen: the cluster is frozen by alice until somebody thaws it; it holds disruption.") {
		t.Errorf("got:\n%s", text)
	}
}

func TestOnePool(t *testing.T) {
	text := plain(render(t, small(), Options{Cluster: "prod", NodePool: "gpu"}))
	for _, want := range []string{"Price of nodes $0.0000", "Nodes 0", "batch/one", "not ready"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "default-5bq9m") {
		t.Errorf("has another pool's node:\n%s", text)
	}
	if text := plain(render(t, small(), Options{Cluster: "prod", NodePool: "none"})); !strings.Contains(
		text, "There is no NodePool none.",
	) {
		t.Errorf("an unknown pool is not named:\n%s", text)
	}
}

// TestButtons reads the buttons as CloudWatch does: the element before an action, and the event as
// the action's content.
func TestButtons(t *testing.T) {
	text := render(t, small(), Options{Cluster: "prod", NodePool: "gpu", Endpoint: endpoint})
	got := map[string]string{}
	for _, match := range regexp.MustCompile(
		`<a class="choice([^"]*)"[^>]*>([^<]*)</a><cwdb-action action="call" display="widget" `+
			`endpoint="([^"]*)">([^<]*)</cwdb-action>`,
	).FindAllStringSubmatch(text, -1) {
		var event map[string]string
		if err := json.Unmarshal([]byte(html.UnescapeString(match[4])), &event); err != nil ||
			html.UnescapeString(match[3]) != endpoint {
			t.Errorf("%q: %v", match[0], err)
		}
		got[match[2]+match[1]] = event["nodePool"]
	}
	want := map[string]string{"all pools": "", "default": "default", "gpu chosen": "gpu", "refresh": "gpu"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("buttons %v, want %v", got, want)
	}
	if text := render(t, small(), Options{Cluster: "prod"}); strings.Contains(text, "<cwdb-action") ||
		strings.Contains(text, `role="button"`) {
		t.Error("there are buttons that call nothing")
	}
}

func TestNothingRunsAndNothingIsLoaded(t *testing.T) {
	evil := `"><script>alert(1)</script><img src=x onerror=alert(1)>` + "\x00</style>"
	shown := small()
	shown.NodePools[0].Name, shown.NodePools[1].Reasons = evil, []string{evil}
	for i := range shown.Nodes {
		node := &shown.Nodes[i]
		node.NodeClaim, node.NodePool, node.Name, node.InstanceType = evil, evil, evil, evil
		node.CapacityType, node.Zone, node.Reason = evil, evil, evil
	}
	shown.Waiting[0] = view.Pod{Namespace: evil, Name: evil, Source: evil, Message: evil}
	shown.Plan.Nodes[0] = status.Nodes{NodePool: evil, InstanceType: evil, CapacityType: evil, Zone: evil}
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	failure, err := w.Failure(errors.New(evil), Options{Cluster: evil})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		render(t, shown, Options{Cluster: evil, NodePool: evil, Endpoint: evil}),
		render(t, shown, Options{Cluster: evil, Theme: evil}), failure,
	} {
		for _, forbidden := range []string{
			"<script", "<img", "<iframe", "<use", "javascript:", "http://", "https://", "@import", "url(",
		} {
			if strings.Contains(text, forbidden) {
				t.Errorf("has %q", forbidden)
			}
		}
		if strings.Count(text, "</style>") != 1 {
			t.Error("the styles are ended early")
		}
	}
}

func TestThemes(t *testing.T) {
	for theme, class := range map[string]string{
		"light": "whittle light", "dark": "whittle dark", "": "whittle auto", "sepia": "whittle auto",
	} {
		if text := render(t, small(), Options{Theme: theme}); !strings.Contains(text, `<div class="`+class+`">`) {
			t.Errorf("theme %q is not the class %q", theme, class)
		}
	}
	// The browser's dark preference and the chosen dark theme look the same.
	var colors []string
	for _, match := range regexp.MustCompile(`\.whittle\.(?:dark|auto) (\{[^}]*\})`).FindAllStringSubmatch(styles, -1) {
		colors = append(colors, match[1])
	}
	if len(colors) != 2 || colors[0] != colors[1] {
		t.Errorf("two kinds of dark:\n%s", strings.Join(colors, "\n"))
	}
}

// TestALargeClusterFits checks that the widget fits a function's answer of six megabytes of JSON,
// and that problems come first.
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
func TestALargeClusterFits(t *testing.T) {
	shown := &view.View{Time: now}
	for i := range 5000 {
		node := view.Node{
			NodeClaim: fmt.Sprintf("claim-%d", i), State: nodestate.Ready, Reason: strings.Repeat("reason ", 140),
			Allocatable: view.Resources{CPU: resource.MustParse("4")},
		}
		if i >= 4900 {
			node.State = nodestate.NotReady
		}
		shown.Nodes = append(shown.Nodes, node)
	}
	for i := range 20000 {
		shown.Waiting = append(
			shown.Waiting,
			view.Pod{Namespace: "default", Name: fmt.Sprintf("pod-%d", i), Message: fmt.Sprint(i) + strings.Repeat("why ", 250)},
		)
	}
	text := render(t, shown, Options{Cluster: "prod"})
	encoded, err := json.Marshal(text)
	if err != nil || len(encoded) > 1<<20 {
		t.Errorf("%d bytes, %v", len(encoded), err)
	}
	read := plain(text)
	for _, want := range []string{
		"claim-149 ", "claim-4900", "claim-4999", "and 4750 more nodes, all of them ready",
		"and 19975 more pods for other reasons",
	} {
		if !strings.Contains(read, want) {
			t.Errorf("lacks %q", want)
		}
	}
	if strings.Contains(read, "claim-150 ") {
		t.Error("ready nodes take the room of those that are not")
	}
	// If more nodes have problems than fit, the sentence must not say that the others are ready.
	for i := range shown.Nodes {
		shown.Nodes[i].State = nodestate.NotReady
	}
	if read := plain(render(t, shown, Options{Cluster: "prod"})); !strings.Contains(read, "and 4750 more nodes:") {
		t.Error("nodes that are left out are said to be ready")
	}
}

func TestAFailureIsAllThatIsShown(t *testing.T) {
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Failure(errors.New("no way to the cluster"), Options{Cluster: "prod", Endpoint: endpoint})
	if read := plain(text); err != nil || read != "prod The cluster cannot be shown. no way to the cluster" {
		t.Errorf("%q, %v", read, err)
	}
}
