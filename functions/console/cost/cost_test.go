package cost_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/cost"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// bill is a cluster whose nodes the test has priced.
type bill struct {
	objects view.Cluster
	shown   view.View
}

func (b *bill) node(name, pool string, price float64, resources map[corev1.ResourceName]string) *view.Node {
	b.objects.Nodes = append(b.objects.Nodes, corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: list(resources)},
	})
	b.shown.Nodes = append(b.shown.Nodes, view.Node{
		Name: name, NodeClaim: name, NodePool: pool, PricePerHour: price, OnDemandPerHour: 2 * price, State: nodestate.Ready,
	})
	return &b.shown.Nodes[len(b.shown.Nodes)-1]
}

func (b *bill) pod(node, namespace string, resources map[corev1.ResourceName]string) *corev1.Pod {
	b.objects.Pods = append(b.objects.Pods, corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("pod-", len(b.objects.Pods))},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: list(resources)},
		}}},
	})
	return &b.objects.Pods[len(b.objects.Pods)-1]
}

func list(resources map[corev1.ResourceName]string) corev1.ResourceList {
	made := corev1.ResourceList{}
	for name, amount := range resources {
		made[name] = resource.MustParse(amount)
	}
	return made
}

func cpu(cores, memory string) map[corev1.ResourceName]string {
	return map[corev1.ResourceName]string{corev1.ResourceCPU: cores, corev1.ResourceMemory: memory}
}

// TestTheRowsAddUpToTheBill shares random bills. Each sum is that of the nodes, to a millionth of a dollar for each.
func TestTheRowsAddUpToTheBill(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		b, want := &bill{}, 0.0
		for n := range random.IntN(20) {
			name, price := fmt.Sprint("n", n), random.Float64()
			b.node(name, fmt.Sprint("pool-", n%3), price, cpu("4", "16Gi"))
			want += price
			for range random.IntN(30) { // more than the node has, sometimes
				b.pod(name, fmt.Sprint("ns-", random.IntN(5)), cpu(fmt.Sprintf("%dm", random.IntN(700)), "100Mi"))
			}
		}
		for _, by := range []cost.By{{}, {NodePool: true}, {Label: "team"}} {
			report, sum, months := cost.Of(&b.objects, &b.shown, by), 0.0, 0.0
			for _, row := range report.Rows {
				sum, months = sum+row.PerHour, months+row.PerMonth
			}
			if math.Abs(sum-report.PerHour) > 1e-9 || math.Abs(months-report.PerMonth) > 1e-6 ||
				math.Abs(report.PerHour-want) > 1e-6*float64(len(b.shown.Nodes)) {
				t.Errorf("seed %d by %s: rows of $%v/h, a bill of $%v/h, nodes of $%v/h", seed, by, sum, report.PerHour, want)
			}
		}
	}
}

// TestAPodPaysForWhatItRequests has half of a node requested by one namespace, and a fortieth of it by another.
func TestAPodPaysForWhatItRequests(t *testing.T) {
	b := &bill{}
	b.node("n", "p", 1, cpu("4", "16Gi"))
	b.pod("n", "half", cpu("2", "8Gi")).Labels = map[string]string{"team": "a"}
	b.pod("n", "little", cpu("100m", "400Mi"))
	b.pod("gone", "elsewhere", cpu("1", "1Gi"))
	rows := func(by cost.By) map[string]float64 {
		made := map[string]float64{}
		for _, row := range cost.Of(&b.objects, &b.shown, by).Rows {
			made[row.Name] = math.Round(row.PerHour*1000) / 1000
		}
		return made
	}
	for by, want := range map[cost.By]map[string]float64{
		{}:               {"half": 0.5, "little": 0.025, cost.Idle: 0.475},
		{Label: "team"}:  {"a": 0.5, "(none)": 0.025, cost.Idle: 0.475},
		{NodePool: true}: {"p": 1},
	} {
		if got := rows(by); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("by %s it is %v, want %v", by, got, want)
		}
	}
}

// TestAGPUIsMostOfItsNode has a pod with the only GPU, and one with the rest of the node.
func TestAGPUIsMostOfItsNode(t *testing.T) {
	b := &bill{}
	b.node("n", "p", 1, map[corev1.ResourceName]string{
		corev1.ResourceCPU: "4", corev1.ResourceMemory: "16Gi", "nvidia.com/gpu": "1", "vpc.amazonaws.com/efa": "1",
	})
	b.pod("n", "model", map[corev1.ResourceName]string{"nvidia.com/gpu": "1"})
	b.pod("n", "web", cpu("4", "16Gi"))
	report := cost.Of(&b.objects, &b.shown, cost.By{})
	if len(report.Rows) != 2 || report.Rows[0].PerHour != 0.8 || report.Rows[1].PerHour != 0.2 {
		t.Errorf("rows %+v", report.Rows)
	}
}

// TestWasteNamesItsEnd has an idle node, one that somebody keeps, one without a price and a pod that requests nothing.
func TestWasteNamesItsEnd(t *testing.T) {
	b := &bill{}
	b.shown.Time = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	b.node("busy", "p", 1, cpu("4", "16Gi"))
	b.pod("busy", "shop", nil)
	b.node("empty", "p", 0.25, cpu("4", "16Gi"))
	b.node("kept", "p", 0.5, cpu("4", "16Gi")).Marks = []nodestate.Mark{{Word: nodestate.Kept, Text: "kept"}}
	b.node("foreign", "", 0, cpu("4", "16Gi")).NodeClaim = ""
	report := cost.Of(&b.objects, &b.shown, cost.By{})
	var text strings.Builder
	if err := report.WriteText(&text, 1, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"3 nodes: $1.7500/h, which is $1278/month at this rate", "$3.5000/h on demand", "1 node of others",
		"1 row more: -A shows all", "$1.7500/h: no pod requests this room", "whittle explain node empty",
		"whittle explain node kept", "1 pod requests nothing", "set spec.containers[].resources.requests",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
			t.Errorf("lacks %q:\n%s", want, text.String())
		}
	}
	text.Reset()
	if err := report.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	want := "ChargePeriodStart,ChargePeriodEnd,BillingCurrency,ServiceCategory,EffectiveCost,ListCost," +
		"x_By,x_Name,x_Pods,x_IdleCost,BilledCost,x_CommitmentCost,x_MarketCost\n2026-03-01T12:00:00Z,2026-03-01T13:00:00Z,USD,Compute,0.000000,0.000000,namespace,shop,1,0.000000,0.000000,0.000000,0.000000\n" +
		"2026-03-01T12:00:00Z,2026-03-01T13:00:00Z,USD,Compute,1.750000,3.500000,namespace,(idle),0,1.750000,1.750000,0.000000,1.750000\n"
	if text.String() != want {
		t.Errorf("the table is\n%swant\n%s", text.String(), want)
	}
}
