package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/functions/console/starter"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/shared/version"
)

// startedPage is the page whose outputs and pictures this file makes, relative to root.
const startedPage = "infra/getting-started.md"

// pictureWidth is the number of characters in a line of a picture.
const pictureWidth = 132

var pictureStyle = terminal.Style{Width: pictureWidth, Color: true}

// TestTheFirstStepsShowWhatTheCommandsPrint makes each output of the page "Getting started" by the code of
// the command, from an example account and cluster. With -update it writes them.
func TestTheFirstStepsShowWhatTheCommandsPrint(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(startedPage)))
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	manifest := firstPool.Manifest()
	text = withBlock(t, startedPage, text, "first pool", "FirstSteps", "```yaml\n"+manifest+"```\n")
	for name, picture := range pictures(t, manifest) {
		file := "infra/getting-started/" + name + ".svg"
		agrees(t, file, svg(picture.title, picture.text))
		if !strings.Contains(text, "](getting-started/"+name+".svg)") {
			t.Errorf("%s does not show %s", startedPage, file)
		}
	}
	agrees(t, startedPage, text)
	written, err := filepath.Glob(filepath.Join(root, "infra", "getting-started", "*"))
	if err != nil || len(written) != len(pictures(t, manifest)) {
		t.Errorf("%v, and the folder has %d files: remove those that no step makes", err, len(written))
	}
}

// withBlock puts a text between the comments of a name, which say the test that writes it.
func withBlock(t *testing.T, path, page, name, test, block string) string {
	t.Helper()
	by := fmt.Sprintf(": written by `go test ./functions/console/whittle -run %s -update` -->\n", test)
	before, rest, found := strings.Cut(page, "<!-- "+name+by)
	_, after, ended := strings.Cut(rest, "<!-- end of "+name+" -->")
	if !found || !ended {
		t.Fatalf("%s has no place for %q", path, name)
	}
	return before + "<!-- " + name + by + block + "<!-- end of " + name + " -->" + after
}

// agrees compares a file below root with its text, or writes it with -update.
func agrees(t *testing.T, path, want string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(path))
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the commands print: run "+
			"go test ./functions/console/whittle -run 'FirstSteps|Tasks' -update", path)
	}
}

// picture is what a command prints.
type picture struct{ title, text string }

// firstPool is what `whittle init` reads of the example.
var firstPool = starter.Facts{
	Cluster: "prod", Pool: "default", Role: "Whittle-prod-prodNodeRole-1A2B3C", Tagged: true,
	Zones: []string{"us-east-1a", "us-east-1b", "us-east-1c"}, Image: "al2023@v20261120",
	ImageParameter: "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/release_version",
}

// startedAt is when the stack was deployed.
var startedAt = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func pictures(t *testing.T, manifest string) map[string]picture {
	t.Helper()
	started := start(t, manifest)
	const statusTitle = "bin/whittle status"
	return map[string]picture{
		"plan":        {planned30, withoutTime(firstPlan(t))},
		"check-first": {"bin/whittle check -cluster prod", findings(t, accountAtFirst())},
		"check-ready": {"bin/whittle check -cluster prod", findings(t, accountReady())},
		"no-pool":     {statusTitle, started.status(t, 50*time.Second, false, nodestate.Launching)},
		"launched":    {statusTitle, started.status(t, 2*time.Minute, true, nodestate.Launched)},
		"ready":       {statusTitle, started.status(t, 3*time.Minute, true, nodestate.Ready)},
	}
}

const planned30 = "bin/whittle plan -f testdata/manifests/quickstart.yaml -f testdata/manifests/web.yaml"

// firstPlan runs the command that the title names.
func firstPlan(t *testing.T) string {
	t.Helper()
	arguments := strings.Fields(strings.TrimPrefix(planned30, "bin/whittle "))
	for i := range arguments {
		if strings.HasSuffix(arguments[i], ".yaml") {
			arguments[i] = filepath.Join(root, arguments[i])
		}
	}
	text, problems, err := runPlan(t, "", arguments...)
	if err != nil || problems != "" {
		t.Fatalf("%v, %s", err, problems)
	}
	return text
}

// withoutTime leaves out how long the planner took, which differs.
func withoutTime(text string) string {
	return regexp.MustCompile(`planned in .*\n`).ReplaceAllString(text, "")
}

// accountAtFirst is an account with a cluster and nothing else.
func accountAtFirst() *check.Facts {
	f := &check.Facts{Options: check.Options{ClusterName: "prod", AuthenticationMode: "API"}}
	f.Identity.Value = "arn:aws:iam::123456789012:user/deployer"
	f.Cluster.Value = check.Cluster{
		Status: "ACTIVE", Version: "1.36", AuthenticationMode: "API_AND_CONFIG_MAP", PublicCIDRs: []string{"0.0.0.0/0"},
	}
	f.Concurrency.Value = 1000
	f.Quotas.Value = map[string]float64{check.OnDemandQuota: 64, check.SpotQuota: 64}
	f.Kube.Value = check.Kube{Definitions: map[string]string{}, CNI: "aws-node"}
	return f
}

// accountReady is the same account once it is prepared.
func accountReady() *check.Facts {
	f := accountAtFirst()
	f.Bootstrap.Value, f.SpotRole.Value = 30, true
	f.Subnets.Value = []check.Subnet{
		{ID: "subnet-0a1b2c3d", Zone: "us-east-1a", Free: 8180}, {ID: "subnet-4e5f6a7b", Zone: "us-east-1b", Free: 8180},
		{ID: "subnet-8c9d0e1f", Zone: "us-east-1c", Free: 8180},
	}
	f.Groups.Value = []string{"sg-4e5f6a7b"}
	return f
}

func findings(t *testing.T, facts *check.Facts) string {
	t.Helper()
	var out bytes.Buffer
	if err := check.Write(&out, check.Findings(facts), pictureWidth); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// nodeNames are the names of the example's claims, each with that of its node. CoreDNS prefers two nodes.
var nodeNames = [][2]string{
	{"default-7xk2p", "ip-10-0-32-4.ec2.internal"}, {"default-m4rzd", "ip-10-0-64-9.ec2.internal"},
}

// started is the example cluster: a first pool, the two pods of CoreDNS, and the nodes that the planner
// chooses for them.
type started struct {
	pool  api.NodePool
	class api.EC2NodeClass
	made  *planned
}

func start(t *testing.T, manifest string) *started {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pool.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-f", file, "-f", filepath.Join(root, "testdata/manifests/coredns.yaml")}
	flags, err := parsePlanFlags("plan", noWords, arguments, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s := &started{}
	now := func() time.Time { return startedAt }
	if s.made, err = flags.plan(t.Context(), now, strings.NewReader(""), io.Discard); err != nil {
		t.Fatal(err)
	}
	if made := s.made.plan.NodeClaims; len(made) != len(nodeNames) || len(made[0].Pods) != 1 {
		t.Fatalf("the plan has %d nodes", len(made))
	}
	pool, class, _ := strings.Cut(manifest, "\n---\n")
	for text, into := range map[string]any{pool: &s.pool, class: &s.class} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, condition := range []string{api.ConditionReady, "ValidationSucceeded", "NodeClassReady"} {
		is := metav1.Condition{Type: condition, Status: metav1.ConditionTrue}
		api.SetCondition(&s.pool.Status.Conditions, is, startedAt)
	}
	return s
}

// status is what `whittle status` prints a while after the deployment. Without a pool there is no claim.
func (s *started) status(t *testing.T, after time.Duration, pool bool, state nodestate.Word) string {
	t.Helper()
	now := startedAt.Add(after)
	facts, err := builtin.Catalog(startedAt)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &view.Cluster{Catalog: facts, Status: status.Contents{Deployment: &status.Deployment{
		Tick: now.Add(-20 * time.Second), Version: version.Version,
	}}}
	cluster.Pods = slices.Clone(s.made.view.Snapshot.Pods)
	for i := range cluster.Pods {
		cluster.Pods[i].CreationTimestamp = metav1.NewTime(startedAt.Add(-time.Minute))
	}
	if pool {
		cluster.NodePools, cluster.NodeClasses = []api.NodePool{s.pool}, []api.EC2NodeClass{s.class}
		for i := range s.made.plan.NodeClaims {
			s.addNode(cluster, i, now, state == nodestate.Ready)
		}
		s.addPlan(cluster)
	}
	var out bytes.Buffer
	shown := view.Of(cluster, now)
	for _, node := range shown.Nodes {
		if node.State != state {
			t.Fatalf("the node is %+v", node)
		}
	}
	if err := shown.WriteTables(&out, view.Form{Most: mostNodes, Style: pictureStyle}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// addNode adds a planned claim, and with ready its node with the pods.
func (s *started) addNode(cluster *view.Cluster, of int, now time.Time, ready bool) {
	planned := &s.made.plan.NodeClaims[of]
	bought, names := planned.Offerings[0], nodeNames[of]
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: names[0], CreationTimestamp: metav1.NewTime(startedAt.Add(100 * time.Second)),
		Labels: map[string]string{
			api.NodePoolLabelKey: s.pool.Name, api.CapacityTypeLabelKey: bought.CapacityType,
			corev1.LabelInstanceTypeStable: bought.InstanceType, corev1.LabelTopologyZone: bought.Zone,
		},
	}, Spec: planned.NodeClaim.Spec}
	claim.Status.ProviderID = api.ProviderID(bought.Zone, fmt.Sprintf("i-0a1b2c3d4e5f6071%d", of))
	for _, of := range s.made.view.Snapshot.InstanceTypes[s.pool.Name] {
		if of.Name == bought.InstanceType {
			claim.Status.Capacity, claim.Status.Allocatable = of.Capacity, of.Allocatable
		}
	}
	is := func(conditions ...string) {
		for _, condition := range conditions {
			api.SetCondition(&claim.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue}, now)
		}
	}
	is(api.ConditionTypeLaunched)
	if ready {
		is(api.ConditionTypeRegistered, api.ConditionTypeInitialized)
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: names[1]}}
		node.Spec.ProviderID = claim.Status.ProviderID
		node.Status.Allocatable = claim.Status.Allocatable
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		cluster.Nodes = append(cluster.Nodes, node)
		claim.Status.NodeName = node.Name
	}
	cluster.NodeClaims = append(cluster.NodeClaims, claim)
	for i := range cluster.Pods {
		pod := &cluster.Pods[i]
		if !slices.Contains(planned.Pods, plan.RefOf(pod)) {
			continue
		}
		if ready {
			pod.Spec.NodeName, pod.Status.Phase = claim.Status.NodeName, corev1.PodRunning
			continue
		}
		cluster.Events = append(cluster.Events, corev1.Event{
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Reason:         "Nominated", Message: "Pod should schedule on: nodeclaim/" + claim.Name,
			Type: corev1.EventTypeNormal, Source: corev1.EventSource{Component: "whittle"},
			LastTimestamp: metav1.NewTime(now.Add(-15 * time.Second)),
		})
	}
}

// addPlan adds the plan that the claims come from.
func (s *started) addPlan(cluster *view.Cluster) {
	made := s.made.plan
	last := &status.Plan{
		Time: cluster.NodeClaims[0].CreationTimestamp.Time, Pods: len(cluster.Pods), PricePerHour: made.PricePerHour,
		LowerBoundPerHour: made.LowerBoundPerHour,
	}
	for i := range made.NodeClaims {
		bought := made.NodeClaims[i].Offerings[0]
		last.Nodes = append(last.Nodes, status.Nodes{
			NodePool: s.pool.Name, InstanceType: bought.InstanceType, CapacityType: bought.CapacityType, Zone: bought.Zone,
			Count: 1, PricePerHour: made.NodeClaims[i].PricePerHour,
		})
		last.ExtrasPerHour += made.NodeClaims[i].ExtrasPerHour
	}
	cluster.Status.Plan = last
}

// The measures of a picture in pixels. A character has the same width in each font, because each piece of a
// line says how long it is.
const (
	characterWidth = 7.2
	lineHeight     = 17
	margin         = 14
	fontSize       = 12
)

// colors are those of a dark terminal, by the number of an escape sequence.
var colors = map[string]string{
	"0": "#d4d4d4", "1": "#ffffff", "2": "#8a8a8a", "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341",
}

var escape = regexp.MustCompile("\x1b\\[([0-9]+)m")

// svg draws the output of a command below its prompt.
func svg(command, output string) string {
	lines := append([]string{"\x1b[2m$\x1b[0m \x1b[1m" + command + "\x1b[0m"},
		strings.Split(strings.TrimRight(output, "\n"), "\n")...)
	longest := 0
	for _, line := range lines {
		longest = max(longest, utf8.RuneCountInString(escape.ReplaceAllString(line, "")))
	}
	var text strings.Builder
	width, height := float64(longest)*characterWidth+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&text, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" `, width, height)
	fmt.Fprintf(&text, "viewBox=\"0 0 %.0f %d\" role=\"img\">\n", width, height)
	fmt.Fprintf(&text, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"#1e1e1e\"/>\n",
		html.EscapeString(command))
	fmt.Fprintf(&text, "<g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" "+
		"font-size=\"%d\" xml:space=\"preserve\">\n", fontSize)
	for i, line := range lines {
		text.WriteString(drawn(line, margin+fontSize+i*lineHeight))
	}
	text.WriteString("</g>\n</svg>\n")
	return text.String()
}

// wordGroups are pieces of a line that two spaces part, so that columns stand below each other.
var wordGroups = regexp.MustCompile(`\S+(?: \S+)*`)

// drawn is a line of a picture: its words in their colours, each at the place of its first character.
func drawn(line string, y int) string {
	var text strings.Builder
	color, at := "0", 0
	write := func(piece string) {
		for _, found := range wordGroups.FindAllStringIndex(piece, -1) {
			word := piece[found[0]:found[1]]
			x := margin + float64(at+utf8.RuneCountInString(piece[:found[0]]))*characterWidth
			fmt.Fprintf(&text, "<text x=\"%.1f\" y=\"%d\" fill=\"%s\" textLength=\"%.1f\">%s</text>\n", x, y, colors[color],
				float64(utf8.RuneCountInString(word))*characterWidth, html.EscapeString(word))
		}
		at += utf8.RuneCountInString(piece)
	}
	for line != "" {
		next := escape.FindStringSubmatchIndex(line)
		if next == nil {
			write(line)
			break
		}
		write(line[:next[0]])
		color, line = line[next[2]:next[3]], line[next[1]:]
	}
	return text.String()
}

func TestAPictureKeepsColumnsAndColours(t *testing.T) {
	got := svg("a < b", "\x1b[1mNAME\x1b[0m  \x1b[32mok\x1b[0m\nx     two words\n")
	for _, part := range []string{
		"<title>a &lt; b</title>", `fill="#ffffff" textLength="28.8">NAME</text>`,
		`fill="#7ee787" textLength="14.4">ok</text>`,
		`<text x="57.2" y="60" fill="#d4d4d4" textLength="64.8">two words</text>`, `height="79"`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("lacks %q:\n%s", part, got)
		}
	}
}
