package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/status"
)

var update = flag.Bool("update", false, "write what the views are now as what is wanted")

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// TestViews compares the views of the clusters in testdata with the tables and JSON beside them.
func TestViews(t *testing.T) {
	for _, name := range []string{"busy", "empty"} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join("testdata", name)
			objects := load(t, directory)
			compare(t, directory, objects)
			// The API server's order must not matter.
			slices.Reverse(objects.NodePools)
			slices.Reverse(objects.NodeClaims)
			slices.Reverse(objects.Nodes)
			slices.Reverse(objects.Pods)
			slices.Reverse(objects.Events)
			compare(t, directory, objects)
		})
	}
}

func compare(t *testing.T, directory string, objects *Cluster) {
	t.Helper()
	shown := Of(objects, now)
	var tables bytes.Buffer
	if err := shown.WriteTables(&tables, Form{}); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(directory, "tables.txt"), trimLines(tables.String()))
	golden(t, filepath.Join(directory, "view.json"), string(encoded)+"\n")
}

// trimLines removes spaces at line ends, as editors do.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func TestVerdict(t *testing.T) {
	told := &status.Deployment{Tick: now.Add(-40 * time.Second), Version: "1.0.0"}
	old := &status.Deployment{Tick: now.Add(-12 * time.Minute), Version: "1.0.0"}
	var waits corev1.Pod
	waits.Namespace, waits.Name, waits.CreationTimestamp = "shop", "web", metav1.NewTime(now.Add(-11*time.Minute))
	leads := cluster.Leadership{Leader: &cluster.Leader{Identity: "karpenter-1", Namespace: "kube-system"}}
	for _, test := range []struct {
		name    string
		objects Cluster
		acting  Acting
		begins  string
		problem string // in the list; empty for none but the catalogue's
	}{
		{"it acts", Cluster{Status: status.Contents{Deployment: told}}, Acts, "ACTING; last tick 40s ago; version 1.0.0; no pod pending\n", ""},
		{"a pod waits", Cluster{Status: status.Contents{Deployment: told}, Pods: []corev1.Pod{waits}}, Acts,
			"ACTING; last tick 40s ago; version 1.0.0; 1 pod pending for 11m\n",
			"a pod has waited for more than 10 minutes: shop/web"},
		{"Karpenter leads", Cluster{Status: status.Contents{Deployment: told}, Karpenter: leads}, Standby, "STANDBY: Karpenter acts", ""},
		{"the ticks have ended", Cluster{Status: status.Contents{Deployment: old}}, Silent, "SILENT: the last tick was 12m ago", ""},
		{"it never ticked", Cluster{}, Silent, "SILENT: no tick was told", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			shown := Of(&test.objects, now)
			var tables bytes.Buffer
			if err := shown.WriteTables(&tables, Form{}); err != nil {
				t.Fatal(err)
			}
			if shown.Verdict.Acting != test.acting || !strings.HasPrefix(trimLines(tables.String()), test.begins) {
				t.Errorf("%+v\n%s", shown.Verdict, tables.String())
			}
			others := slices.DeleteFunc(slices.Clone(shown.Problems), func(problem string) bool {
				return problem == shown.CatalogText()
			})
			if want := test.problem; want == "" && len(others) > 0 || want != "" && !slices.Contains(others, want) {
				t.Errorf("problems %q, want %q", others, want)
			}
		})
	}
}

func TestTheMostImportantNodesAreShown(t *testing.T) {
	v := &View{Time: now, Nodes: []Node{
		{NodeClaim: "cheap", State: nodestate.Ready, PricePerHour: 1},
		{NodeClaim: "dear", State: nodestate.Ready, PricePerHour: 2},
		{NodeClaim: "gone", State: nodestate.NotReady}, {NodeClaim: "boots", State: nodestate.Launched},
	}}
	var tables bytes.Buffer
	if err := v.WriteTables(&tables, Form{Most: 3}); err != nil {
		t.Fatal(err)
	}
	text := tables.String()
	gone, boots, dear := strings.Index(text, "gone"), strings.Index(text, "boots"), strings.Index(text, "dear")
	if gone < 0 || boots < gone || dear < boots || strings.Contains(text, "cheap") ||
		!strings.Contains(text, "and 1 more: -A shows all") {
		t.Errorf("\n%s", text)
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s\nwant\n%s", file, got, want)
	}
}

// load reads the objects of a cluster, and its catalogue if there is one.
func load(t *testing.T, directory string) *Cluster {
	t.Helper()
	file, err := os.Open(filepath.Join(directory, "objects.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	objects := &Cluster{}
	decoder := yaml.NewYAMLToJSONDecoder(file)
	for {
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && len(raw) > 0 {
			err = objects.add(raw)
		}
		if err != nil {
			t.Fatalf("%s: %v", file.Name(), err)
		}
	}
	loadJSON(t, filepath.Join(directory, "catalog.json"), &objects.Catalog)
	loadJSON(t, filepath.Join(directory, "plan.json"), &objects.Status.Plan)
	return objects
}

// loadJSON reads a file if it exists.
func loadJSON(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func (o *Cluster) add(raw json.RawMessage) error {
	var kind struct{ Kind string }
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "NodePool":
		return appendTo(&o.NodePools, raw)
	case "EC2NodeClass":
		return appendTo(&o.NodeClasses, raw)
	case "NodeClaim":
		return appendTo(&o.NodeClaims, raw)
	case "Node":
		return appendTo(&o.Nodes, raw)
	case "Pod":
		return appendTo(&o.Pods, raw)
	case "Event":
		return appendTo(&o.Events, raw)
	}
	return fmt.Errorf("an object of kind %q has no place in a view", kind.Kind)
}

func appendTo[T any](list *[]T, raw json.RawMessage) error {
	var object T
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&object); err != nil {
		return err
	}
	*list = append(*list, object)
	return nil
}

func TestTablesShowTheFirstPodsOfMany(t *testing.T) {
	objects := &Cluster{}
	for i := range maximumPods + 7 {
		pod := corev1.Pod{}
		pod.Namespace, pod.Name = "default", fmt.Sprintf("pod-%03d", i)
		objects.Pods = append(objects.Pods, pod)
	}
	var tables bytes.Buffer
	if err := Of(objects, now).WriteTables(&tables, Form{}); err != nil {
		t.Fatal(err)
	}
	text := tables.String()
	if !strings.Contains(text, "pod-049") || strings.Contains(text, "pod-050") || !strings.Contains(text, "and 7 more") {
		t.Errorf("want pods 0 to 49 and a line that 7 more wait; got\n%s", text)
	}
}

func TestAnOldCatalogueIsNamed(t *testing.T) {
	for _, test := range []struct {
		read, spot time.Duration // before now
		want       string
	}{
		{30 * time.Minute, 30 * time.Minute, "Catalogue: 1 instance types, 30m old"},
		{
			3 * time.Hour, 3 * time.Hour,
			"Catalogue: 1 instance types, 3h old; catalog reads EC2 each hour: see its log",
		},
		{
			30 * time.Minute, 5 * time.Hour,
			"Catalogue: 1 instance types, 30m old; spot prices 5h old: see the log of the catalog function",
		},
	} {
		snapshot := &catalog.Catalog{
			Time: now.Add(-test.read), SpotPriceTime: now.Add(-test.spot), InstanceTypes: make([]catalog.InstanceTypeInfo, 1),
		}
		if got := Of(&Cluster{Catalog: snapshot}, now).CatalogText(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestConditionsSpeakForThemselves(t *testing.T) {
	for _, test := range []struct{ reason, message, want string }{
		{"LaunchFailed", "no such\n role", "LaunchFailed: no such role"},
		{"LaunchFailed", "", "Launched: LaunchFailed"},
		{"Launched", "", "Launched is false"},
		{"", "no such role", "Launched is false: no such role"},
	} {
		claim := api.NodeClaim{}
		claim.Status.Conditions = []metav1.Condition{
			{Type: api.ConditionTypeLaunched, Status: metav1.ConditionFalse, Reason: test.reason, Message: test.message},
		}
		if got := Of(&Cluster{NodeClaims: []api.NodeClaim{claim}}, now).Nodes[0]; got.Reason != test.want ||
			got.State != nodestate.Launching {
			t.Errorf(
				"reason %q, message %q: %s, %q, want launching, %q", test.reason, test.message, got.State, got.Reason, test.want,
			)
		}
	}
}

func TestAPoolIsSummedUpByItself(t *testing.T) {
	whole := Of(load(t, filepath.Join("testdata", "busy")), now)
	one := whole.Of("general")
	if len(one.NodePools) != 1 || one.NodePools[0].PricePerHour != one.PricePerHour || one.Instances != whole.Instances ||
		len(one.Nodes) != len(whole.Nodes)-1 {
		t.Errorf(
			"pool general has %+v, %d nodes, %v $ an hour; all have %d nodes", one.NodePools, len(one.Nodes), one.PricePerHour,
			len(whole.Nodes),
		)
	}
	if none := whole.Of("gpu"); len(none.Nodes) != 0 || none.Instances != 0 || none.PricePerHour != 0 ||
		none.Savings.PerHour != 0 || len(none.Waiting) != len(whole.Waiting) {
		t.Errorf("pool gpu has %+v", none)
	}
	if len(whole.NodePools) != 3 {
		t.Errorf("the whole view has lost pools: %+v", whole.NodePools)
	}
}

func TestSavingsLeaveOutWhatHasNoPrice(t *testing.T) {
	known := &catalog.Catalog{
		InstanceTypes: []catalog.InstanceTypeInfo{
			{InstanceType: "m7g.large", OnDemandPrice: 0.08, SpotPrices: map[string]float64{"us-east-1a": 0.02}},
		},
	}
	objects := &Cluster{Catalog: known}
	for name, labels := range map[string]map[string]string{
		"spot":     {api.CapacityTypeLabelKey: api.CapacityTypeSpot, corev1.LabelTopologyZone: "us-east-1a"},
		"demand":   {api.CapacityTypeLabelKey: api.CapacityTypeOnDemand},
		"reserved": {api.CapacityTypeLabelKey: api.CapacityTypeReserved},
		"unpriced": {api.CapacityTypeLabelKey: api.CapacityTypeSpot, corev1.LabelTopologyZone: "us-east-1b"},
	} {
		claim := api.NodeClaim{}
		claim.Name, claim.Labels = name, labels
		claim.Labels[corev1.LabelInstanceTypeStable] = "m7g.large"
		claim.Status.ProviderID = "aws:///us-east-1a/" + name
		objects.NodeClaims = append(objects.NodeClaims, claim)
	}
	shown := Of(objects, now)
	if shown.Unpriced != 1 ||
		fmt.Sprintf(
			"%.4f %.4f %.4f", shown.PricePerHour, shown.Savings.PerHour, shown.Savings.Fraction,
		) != "0.1800 0.0600 0.2500" {
		t.Errorf(
			"%v $ an hour, %d unpriced, savings %+v; want 0.18, 1, and 0.06 of 0.24 saved", shown.PricePerHour, shown.Unpriced,
			shown.Savings,
		)
	}
}

func TestTextOfOthersIsPlain(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}}
	objects := &Cluster{
		Pods: []corev1.Pod{pod},
		Events: []corev1.Event{{
			InvolvedObject: corev1.ObjectReference{UID: "1"}, ReportingController: "tenant\x1b[8m",
			Message: "waits\x1b[2J\u009b31m for\r\x1b]0;title\a nothing\u202e",
		}},
	}
	shown := Of(objects, now).Waiting[0]
	if want := "waits[2J31m for ]0;title nothing"; shown.Message != want || shown.Source != "tenant[8m" {
		t.Errorf("source %q, message %q, want %q", shown.Source, shown.Message, want)
	}
}

func TestHeadroomIsShown(t *testing.T) {
	for want, headroom := range map[string]*status.Headroom{
		"; headroom $0.4200/h\n":                 {Buffers: 1, Pods: 3, Placed: 3, PricePerHour: 0.42},
		"; headroom $0.1000/h for 1 of 3 pods\n": {Buffers: 1, Pods: 3, Placed: 1, PricePerHour: 0.1},
	} {
		told := &status.Deployment{Tick: now, Headroom: headroom}
		var tables bytes.Buffer
		if err := Of(&Cluster{Status: status.Contents{Deployment: told}}, now).WriteTables(&tables, Form{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(tables.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, tables.String())
		}
	}
}
