package report_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/plan"
)

// TestAboutNodeSaysWhenItGoes gives a node every reason to go, one at a time.
func TestAboutNodeSaysWhenItGoes(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		change func(*api.NodeClaim)
		want   string
	}{
		"expiry": {func(c *api.NodeClaim) { c.Spec.ExpireAfter = api.DurationOf(3 * day) },
			"it expires at 2026-03-03T12:00:00Z, in 2 days (expireAfter 72h0m0s)"},
		"leaving": {func(c *api.NodeClaim) {
			c.DeletionTimestamp = &metav1.Time{Time: now.Add(-3 * time.Minute)}
			c.Annotations = map[string]string{api.NodeClaimTerminationTimestampAnnotationKey: "2026-03-01T13:00:00Z"}
			c.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeDisruptionReason, Status: "True", Reason: "Drifted"}}
		}, "it has been leaving for 3 minutes (Drifted)"},
		"drift": {func(c *api.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{{
				Type: api.ConditionTypeDrifted, Status: "True", Reason: "AMIDrift", Message: "new\nimage",
			}}
		}, "Drifted: AMIDrift new image"},
		"departure": {func(c *api.NodeClaim) {
			c.Annotations = map[string]string{
				api.DepartsAtAnnotationKey: "2026-03-01T14:00:00Z", api.DepartsBecauseAnnotationKey: "instance-event-1",
			}
		}, "AWS takes its instance at 2026-03-01T14:00:00Z, in 2 hours (instance-event-1)"},
		"rebalance": {func(c *api.NodeClaim) {
			c.Annotations = map[string]string{api.RebalanceRecommendedAnnotationKey: "2026-03-01T11:59:00Z"}
		}, "EC2 recommended at 2026-03-01T11:59:00Z to replace its spot instance"},
		"nothing": {func(*api.NodeClaim) {}, "nothing is planned"},
	} {
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
			Name: "c", Labels: map[string]string{api.NodePoolLabelKey: "p"}, CreationTimestamp: metav1.Time{Time: now.Add(-day)},
		}}
		claim.Spec.ExpireAfter = api.NillableDuration{}
		test.change(claim)
		s := &consolidation.Input{Cluster: &plan.Snapshot{Nodes: []plan.Node{{NodeClaim: claim}}}, Now: now}
		about := report.AboutNode("c", s.Cluster.NodePools, s, &consolidation.Plan{})
		var text strings.Builder
		if err := about.WriteText(&text, terminal.Style{}); err != nil || !strings.Contains(text.String(), "  "+test.want+"\n") {
			t.Errorf("%s: %v, lacks %q:\n%s", name, err, test.want, text.String())
		}
	}
}

// TestAboutNodeSaysWhatHoldsIt explains a node that never starts, and one that cannot drain.
func TestAboutNodeSaysWhatHoldsIt(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	leaving := func(c *api.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: now.Add(-90 * time.Minute)} }
	protected := func(name, value string) corev1.Pod {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name,
			Annotations: map[string]string{api.DoNotDisruptAnnotationKey: value}}}
		pod.Status.StartTime = &metav1.Time{Time: now.Add(-time.Hour)}
		return pod
	}
	for name, test := range map[string]struct {
		change func(*api.NodeClaim)
		pods   []corev1.Pod
		wants  []string
		not    string
	}{
		"a device that never appears": {func(c *api.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{
				{Type: api.ConditionTypeLaunched, Status: "True", Reason: "Launched"},
				{
					Type: api.ConditionTypeInitialized, Status: "Unknown", Reason: api.ReasonResourceNotRegistered,
					Message: "Resource \"nvidia.com/gpu\" was requested", LastTransitionTime: metav1.Time{Time: now.Add(-3 * time.Hour)},
				},
			}
		}, nil, []string{
			`Initialized is unknown for 3 hours: ResourceNotRegistered: Resource "nvidia.com/gpu" was requested`,
		}, "Launched"},
		"a protected pod": {leaving, []corev1.Pod{protected("train", "true"), protected("free", "10m")}, []string{
			"the drain waits: pod a/train has the annotation karpenter.sh/do-not-disrupt\n", "there is no deadline"}, "a/free has"},
		"protected for a time": {leaving, []corev1.Pod{protected("train", "4h")}, []string{
			"karpenter.sh/do-not-disrupt until 2026-03-01T15:00:00Z"}, ""},
		"a deadline": {func(c *api.NodeClaim) {
			leaving(c)
			c.Annotations = map[string]string{api.NodeClaimTerminationTimestampAnnotationKey: "2026-03-01T13:00:00Z"}
		}, []corev1.Pod{protected("train", "true")}, []string{
			"a/train", "its pods must be gone by 2026-03-01T13:00:00Z",
		}, "no deadline"},
		"nothing holds it": {leaving, nil, nil, "no deadline"},
	} {
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
		test.change(claim)
		s := &consolidation.Input{Cluster: &plan.Snapshot{Nodes: []plan.Node{{NodeClaim: claim, Pods: test.pods}}}, Now: now}
		var text strings.Builder
		about := report.AboutNode("c", s.Cluster.NodePools, s, &consolidation.Plan{})
		if err := about.WriteText(&text, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range test.wants {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: lacks %q:\n%s", name, want, text.String())
			}
		}
		if test.not != "" && strings.Contains(text.String(), test.not) {
			t.Errorf("%s: has %q:\n%s", name, test.not, text.String())
		}
	}
}

func TestAboutNodeSaysWhyItExists(t *testing.T) {
	replicas := int64(3)
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	pool.Spec.Replicas = &replicas
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", Labels: map[string]string{api.NodePoolLabelKey: "p"},
		Annotations: map[string]string{api.NominatedPodsAnnotationKey: "u1,u2", api.ReplacesAnnotationKey: "old",
			api.CommitmentAnnotationKey: "m5=16"}}}
	claim.Status.ProviderID = "aws:///us-east-1a/i-1"
	foreign := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}
	running := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "u2"}}
	s := &consolidation.Input{Cluster: &plan.Snapshot{
		NodePools: []api.NodePool{pool},
		Nodes:     []plan.Node{{NodeClaim: claim, Pods: []corev1.Pod{running}, Paid: 0.5}, {Node: foreign}},
	}}
	for name, parts := range map[string][]string{
		"i-1": {"it replaces old", "it was launched for 2 pods, of which 1 run on it",
			"it was chosen because the commitment m5 pays for it", "commitments pay for 50 % of its instance now",
			`nodepool "p" keeps 3 nodes (spec.replicas)`, "1 pod on it: a/b"},
		"foreign": {"Whittle did not launch it", "Whittle never removes it"},
	} {
		var text strings.Builder
		about := report.AboutNode(name, s.Cluster.NodePools, s, &consolidation.Plan{})
		if err := about.WriteText(&text, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(text.String(), part) {
				t.Errorf("%s lacks %q:\n%s", name, part, text.String())
			}
		}
	}
	if about := report.AboutNode("nobody", s.Cluster.NodePools, s, &consolidation.Plan{}); about != nil {
		t.Errorf("%+v", about)
	}
}
