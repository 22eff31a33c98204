package lifecycle

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
)

const budgetsPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

// labelled gives a pod the label app.
func labelled(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{"app": app} }
}

// budget makes a disruption budget for the pods with the label app.
func budget(t *testing.T, name, app string, unavailable int32) {
	t.Helper()
	most := intstr.FromInt32(unavailable)
	functiontest.Create(t, server, budgetsPath, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	})
}

func isGone(t *testing.T, pod string) bool {
	return functiontest.Get[corev1.Pod](t, server, functiontest.PodsPath+"/"+pod) == nil
}

// join brings a node through its registration.
func (l *life) join(t *testing.T, name string, change ...func(*api.NodeClaim)) {
	t.Helper()
	l.ec2.launch("i-"+name, map[string]string{api.NodeClaimTagKey: name})
	server.Claim(t, name, "i-"+name, change...)
	server.Node(t, "node-"+name, "i-"+name)
	l.until(t, "node-"+name, func() bool { return isReady(t, name) })
}

func TestADrainHonoursADisruptionBudget(t *testing.T) {
	l := newLife(t)
	l.join(t, "budget")
	server.Pod(t, "guarded", "node-budget", labelled("guarded"))
	server.Pod(t, "free", "node-budget")
	budget(t, "guarded", "guarded", 0)
	server.Delete(t, api.NodeClaimsPath+"/budget")

	l.until(t, "node-budget", func() bool {
		return isGone(t, "free") &&
			server.Reasons(t, "node-budget")["FailedDraining"]
	})
	var written bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&written, nil)))
	for range 10 {
		if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
			t.Fatal(err)
		}
		l.clock.ahead += time.Minute
	}
	slog.SetDefault(before)
	if held := `msg="a pod holds up the drain" Node=node-budget Pod=default/guarded error=`; !strings.Contains(
		written.String(), held) {
		t.Errorf("the log lacks %s:\n%s", held, written.String())
	}
	if isGone(t, "guarded") || !slices.Contains(l.ec2.running(), "i-budget") {
		t.Fatal("the pod or its instance ended against the budget")
	}
	if claim := readClaim(t, "budget"); api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeDrained) {
		t.Error("the claim says that it is drained")
	}

	server.Delete(t, budgetsPath+"/guarded")
	l.until(t, "node-budget", func() bool { return readClaim(t, "budget") == nil })
	if !isGone(t, "guarded") || len(l.ec2.running()) != 0 {
		t.Error("the pod or its instance is still there")
	}
}

func TestAPodWithTwoBudgetsStallsTheDrainAndFailsNothing(t *testing.T) {
	l := newLife(t)
	l.join(t, "twice")
	server.Pod(t, "twice", "node-twice", labelled("twice"))
	budget(t, "one", "twice", 1)
	budget(t, "two", "twice", 1)
	server.Delete(t, api.NodeClaimsPath+"/twice")
	l.until(t, "node-twice", func() bool {
		if _, err := l.handle(t.Context(), wakes(t, l.tick())); err != nil {
			t.Fatal(err)
		}
		return server.Reasons(t, "node-twice")["FailedDraining"]
	})
	if isGone(t, "twice") {
		t.Error("the pod was evicted")
	}
	server.Delete(t, budgetsPath+"/one")
	server.Delete(t, budgetsPath+"/two")
	l.until(t, "node-twice", func() bool { return readClaim(t, "twice") == nil })
}

func TestTheGracePeriodEndsEveryProtection(t *testing.T) {
	l := newLife(t)
	l.join(t, "grace",
		func(c *api.NodeClaim) { c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: 10 * time.Minute} })
	server.Pod(t, "protected", "node-grace", func(p *corev1.Pod) {
		p.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
	})
	server.Pod(t, "guarded-grace", "node-grace", labelled("guarded-grace"))
	budget(t, "grace", "guarded-grace", 0)
	t.Cleanup(func() { server.Delete(t, budgetsPath+"/grace") })
	server.Delete(t, api.NodeClaimsPath+"/grace")
	l.until(t, "node-grace", func() bool {
		return readClaim(t, "grace").Annotations[api.NodeClaimTerminationTimestampAnnotationKey] != "" &&
			server.Reasons(t, "node-grace")["FailedDraining"]
	})
	if isGone(t, "protected") || isGone(t, "guarded-grace") {
		t.Fatal("a protected pod ended before its time")
	}
	l.clock.ahead += 9*time.Minute + 30*time.Second
	l.until(t, "node-grace", func() bool { return readClaim(t, "grace") == nil })
	if !isGone(t, "protected") || !isGone(t, "guarded-grace") || len(l.ec2.running()) != 0 {
		t.Error("a pod or the instance is still there")
	}
	if reasons := server.Reasons(t, "protected"); !reasons["Disrupted"] || reasons["Evicted"] {
		t.Errorf("events about the protected pod: %v", reasons)
	}
}
