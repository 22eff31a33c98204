package view

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/hours"
)

func TestStatusNamesHoursThatCannotBeRead(t *testing.T) {
	pool := api.NodePool{}
	pool.Name, pool.Annotations = "web", map[string]string{api.SleepAnnotationKey: "at \x1bnight"}
	pool.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}}
	shown := Of(&Cluster{NodePools: []api.NodePool{pool}}, now)
	const want = "metadata.annotations[whittle.dev/sleep]"
	problems, reasons := strings.Join(shown.Problems, "; "), strings.Join(shown.NodePools[0].Reasons, "; ")
	if !strings.Contains(problems, want) || !strings.Contains(problems, "the pool stays awake") ||
		!strings.Contains(reasons, want) || strings.Contains(problems+reasons, "\x1b") || !shown.NodePools[0].Ready {
		t.Errorf("problems %q, reasons %q", problems, reasons)
	}
}

func TestStatusShowsTheNextChangeOfAPool(t *testing.T) {
	at := time.Date(2026, 3, 10, 20, 0, 0, 0, time.UTC) // a Tuesday, 21:00 in Berlin
	pool := func(name string, pairs ...string) api.NodePool {
		made := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
		for i := 0; i < len(pairs); i += 2 {
			made.Annotations[pairs[i]] = pairs[i+1]
		}
		return made
	}
	const zone, berlin = api.TimeZoneAnnotationKey, "Europe/Berlin"
	cluster := &Cluster{NodePools: []api.NodePool{
		pool("always"),
		pool("batch", zone, berlin, api.SleepAnnotationKey, "Sat,Sun", api.MaintenanceWindowAnnotationKey, "Sun 02:00-04:00"),
		pool("web", zone, berlin, api.SleepAnnotationKey, "Mon-Fri 20:00-07:00"),
	}}
	shown := Of(cluster, at)
	if pool := shown.NodePools[0]; pool.Sleep != nil || pool.Maintenance != nil {
		t.Errorf("a pool without windows: %+v, %+v", pool.Sleep, pool.Maintenance)
	}
	if sleep := shown.NodePools[2].Sleep; sleep == nil || !sleep.Active ||
		!sleep.NextChange.Equal(time.Date(2026, 3, 11, 6, 0, 0, 0, time.UTC)) {
		t.Errorf("web: %+v", sleep)
	}
	var text strings.Builder
	if err := shown.WriteTables(&text, Form{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"batch: it sleeps from Sat 14 Mar 00:00 Europe/Berlin; its maintenance window opens at Sun 15 Mar 02:00 Europe/Berlin",
		"web: it sleeps until Wed 11 Mar 07:00 Europe/Berlin\n",
	} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), strings.TrimSpace(want)) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}
	cluster.NodePools[0].ClusterOrder = &hours.Order{
		Problem: &hours.OrderError{Key: "sleepUntil", Value: "soon", Problem: "is not a time"}}
	if problems := strings.Join(Of(cluster, at).Problems, "; "); !strings.Contains(
		problems, `nothing sleeps by the configmap whittle-system/whittle-control: data.sleepUntil: "soon" is not a time`) {
		t.Errorf("problems %q", problems)
	}
}

// TestPodsOfASleepingPoolAreNoProblem has one pod that waits for a pool that sleeps, and one that waits for
// nobody.
func TestPodsOfASleepingPoolAreNoProblem(t *testing.T) {
	pool := api.NodePool{}
	pool.Name, pool.Annotations = "batch", map[string]string{api.SleepAnnotationKey: "Mon-Sun"}
	waits := func(name, of string) corev1.Pod {
		made := corev1.Pod{}
		made.Name, made.Namespace, made.CreationTimestamp = name, "shop", metav1.NewTime(now.Add(-time.Hour))
		made.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: of}
		return made
	}
	shown := Of(&Cluster{
		NodePools: []api.NodePool{pool}, Pods: []corev1.Pod{waits("night", "batch"), waits("lost", "nobody")},
	}, now)
	problems := strings.Join(shown.Problems, "; ")
	if !strings.Contains(problems, "shop/lost") || strings.Contains(problems, "shop/night") {
		t.Errorf("problems %q", problems)
	}
	if text := shown.VerdictText(); !strings.Contains(text, "1 pod pending for 60m; 1 pod waits for a NodePool that sleeps") {
		t.Errorf("it says %q", text)
	}
}
