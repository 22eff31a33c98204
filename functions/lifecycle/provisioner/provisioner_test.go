package provisioner_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/lifecycle/provisioner"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/api/legacy/legacytest"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var object T
	if err := yaml.UnmarshalStrict([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// cluster keeps what is written.
type cluster struct{ provisioner.Seen }

// pass works on the Provisioner once, as lifecycle does, and returns what was to be done.
func (c *cluster) pass(t *testing.T) provisioner.Outcome {
	t.Helper()
	p := &c.Provisioners[0]
	outcome := provisioner.Next(p, c.Seen, now)
	if outcome.Class != nil {
		class := *outcome.Class.DeepCopy()
		class.ResourceVersion = "7"
		class.Default() // as the API server does
		c.Classes = []api.EC2NodeClass{class}
	}
	if outcome.Pool != nil {
		pool := *outcome.Pool.DeepCopy()
		if pool.Spec.Template.Labels[api.ProvisionerNameLabelKey] != "" {
			t.Error("the template has a label that the API server refuses")
		}
		pool.ResourceVersion = "7"
		pool.Default()
		c.Pools = []api.NodePool{pool}
	}
	merge(t, outcome.Status, p)
	return outcome
}

// merge applies a status patch.
func merge(t *testing.T, patch map[string]any, to any) {
	t.Helper()
	if patch == nil {
		return
	}
	text, err := json.Marshal(map[string]any{"status": patch["status"]})
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func newCluster(t *testing.T, text string) *cluster {
	t.Helper()
	c := &cluster{}
	c.Settings = legacy.Settings{ClusterName: "prod", KubernetesVersion: "1.36"}
	c.Provisioners = []legacy.Provisioner{parse[legacy.Provisioner](t, text)}
	return c
}

const inline = "{metadata: {name: a, uid: u, labels: {app.kubernetes.io/instance: argo}}, " +
	"spec: {ttlSecondsAfterEmpty: 30, ttlSecondsUntilExpired: 3600, provider: {instanceProfile: nodes}}}"

func conditionOf(p *legacy.Provisioner, conditionType string) metav1.Condition {
	if condition := api.GetCondition(p.Status.Conditions, conditionType); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func TestAProvisionerGetsItsObjectsOnce(t *testing.T) {
	c := newCluster(t, inline)
	first := c.pass(t)
	if first.Class == nil || first.Pool == nil {
		t.Fatalf("the first pass writes %v and %v", first.Class, first.Pool)
	}
	for _, made := range []metav1.ObjectMeta{first.Class.ObjectMeta, first.Pool.ObjectMeta} {
		if made.Name != "a" || len(made.OwnerReferences) != 1 || made.OwnerReferences[0].UID != "u" ||
			made.Labels[api.ProvisionerNameLabelKey] != "a" || made.Labels["app.kubernetes.io/instance"] != "" {
			t.Errorf("the object is %+v", made)
		}
	}
	if first.Pool.Annotations[api.ExpireWithinBudgetsAnnotationKey] != "true" {
		t.Errorf("the pool's annotations are %v", first.Pool.Annotations)
	}
	c.pass(t) // the status of the pool is there now
	if again := c.pass(t); again.Class != nil || again.Pool != nil || again.Status != nil {
		t.Errorf("a pass without a change writes %v, %v and %v", again.Class, again.Pool, again.Status)
	}
	c.Provisioners[0].Spec.Limits = &legacy.Limits{Resources: map2("cpu", "8")}
	changed := c.pass(t)
	if changed.Class != nil || changed.Pool == nil || changed.Pool.ResourceVersion != "7" ||
		changed.Pool.Spec.Limits["cpu"] != resource.MustParse("8") {
		t.Errorf("a change of the limits writes %v and %v", changed.Class, changed.Pool)
	}
}

func map2(name, amount string) map[corev1.ResourceName]resource.Quantity {
	return map[corev1.ResourceName]resource.Quantity{corev1.ResourceName(name): resource.MustParse(amount)}
}

// TestRandomProvisionersSettle checks that what was written is never written again.
func TestRandomProvisionersSettle(t *testing.T) {
	for seed := range uint64(200) {
		old := legacytest.Generate(seed)
		for i := range old.Provisioners {
			c := &cluster{}
			c.Settings.Role = "nodes"
			c.Provisioners, c.Templates = old.Provisioners[i:i+1], old.Templates
			c.Provisioners[0].UID = "u"
			c.pass(t)
			c.pass(t)
			if again := c.pass(t); again.Class != nil || again.Pool != nil || again.Status != nil {
				t.Fatalf("seed %d, %d: a pass without a change writes %v, %v and %v", seed, i, again.Class, again.Pool,
					again.Status)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	c := newCluster(t, inline)
	c.pass(t)
	c.Pools[0].Status.Resources = map2("cpu", "4")
	c.Pools[0].Status.Resources[api.ResourceNodes] = resource.MustParse("2")
	c.Pools[0].Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}}
	c.Claims = []api.NodeClaim{{ObjectMeta: metav1.ObjectMeta{
		Name: "a-1", CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{api.NodePoolLabelKey: "a"},
	}}}
	c.pass(t)
	status := c.Provisioners[0].Status
	if cpu := status.Resources["cpu"]; len(status.Resources) != 1 || cpu.String() != "4" ||
		status.LastScaleTime == nil || !status.LastScaleTime.Time.Equal(now) ||
		conditionOf(&c.Provisioners[0], api.ConditionTypeActive).Status != metav1.ConditionTrue {
		t.Errorf("the status is %+v", status)
	}
	// AL2, the default, does not exist in the cluster any more.
	supported := conditionOf(&c.Provisioners[0], api.ConditionTypeSupported)
	if supported.Status != metav1.ConditionFalse || supported.Reason != api.ReasonFieldNotSupported ||
		!strings.Contains(supported.Message, "spec.provider.amiFamily") {
		t.Errorf("the condition is %+v", supported)
	}
}

// TestTheSettingsNameTheRole covers a template without a profile, whose class follows the stack's
// settings.
func TestTheSettingsNameTheRole(t *testing.T) {
	c := newCluster(t, "{metadata: {name: a, uid: u}, spec: {providerRef: {name: t}}}")
	c.Templates = []legacy.AWSNodeTemplate{
		parse[legacy.AWSNodeTemplate](t, "{metadata: {name: t, uid: v}, spec: {amiFamily: Bottlerocket}}"),
	}
	// A function without the variables refuses the template, and makes no class that cannot launch.
	if outcome := c.pass(t); outcome.Class != nil || !strings.Contains(
		conditionOf(&c.Provisioners[0], api.ConditionTypeActive).Message, "spec.instanceProfile: is missing") {
		t.Errorf("without a role it writes %v, and says %+v", outcome.Class, c.Provisioners[0].Status.Conditions)
	}
	c.Settings.Role = "nodes"
	if outcome := c.pass(t); outcome.Class == nil || outcome.Class.Spec.Role != "nodes" || outcome.Pool == nil {
		t.Fatalf("with a role it writes %+v and %+v", outcome.Class, outcome.Pool)
	}
	supported := conditionOf(&c.Provisioners[0], api.ConditionTypeSupported)
	template := provisioner.OfTemplate(&c.Templates[0], c.Seen, now)
	if supported.Status != metav1.ConditionTrue || len(template.Events) > 0 {
		t.Errorf("the condition is %+v, and the events of the template are %v", supported, template.Events)
	}
	c.Settings.InstanceProfile = "default"
	if outcome := c.pass(t); outcome.Class == nil || outcome.Class.ResourceVersion != "7" ||
		outcome.Class.Spec.Role != "" || outcome.Class.Spec.InstanceProfile == nil ||
		*outcome.Class.Spec.InstanceProfile != "default" {
		t.Errorf("with a default profile it writes %+v", outcome.Class)
	}
}

// TestNothingOfOthersIsTouched covers a pool or class of the name that somebody else made.
func TestNothingOfOthersIsTouched(t *testing.T) {
	for _, kind := range []string{api.NodePoolKind, api.EC2NodeClassKind} {
		c := newCluster(t, inline)
		if kind == api.NodePoolKind {
			c.Pools = []api.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
		} else {
			c.Classes = []api.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
		}
		outcome := c.pass(t)
		active := conditionOf(&c.Provisioners[0], api.ConditionTypeActive)
		if outcome.Class != nil || outcome.Pool != nil || active.Reason != api.ReasonNameTaken ||
			!strings.Contains(active.Message, kind) {
			t.Errorf("%s: writes %v and %v, and says %+v", kind, outcome.Class, outcome.Pool, active)
		}
	}
}

// TestABlockedProvisionerKeepsItsObjects covers a template that is changed to what no longer exists.
func TestABlockedProvisionerKeepsItsObjects(t *testing.T) {
	c := newCluster(t, "{metadata: {name: a, uid: u}, spec: {providerRef: {name: t}}}")
	c.Templates = []legacy.AWSNodeTemplate{
		parse[legacy.AWSNodeTemplate](t, "{metadata: {name: t, uid: v}, spec: {launchTemplate: mine}}"),
	}
	outcome := c.pass(t)
	active := conditionOf(&c.Provisioners[0], api.ConditionTypeActive)
	if outcome.Pool != nil || outcome.Class != nil || active.Status != metav1.ConditionFalse ||
		!strings.Contains(active.Message, `AWSNodeTemplate "t": spec.launchTemplate`) {
		t.Errorf("writes %v and %v, and says %+v", outcome.Class, outcome.Pool, active)
	}
	ofTemplate := provisioner.OfTemplate(&c.Templates[0], c.Seen, now)
	merge(t, ofTemplate.Status, &c.Templates[0])
	said := api.GetCondition(c.Templates[0].Status.Conditions, api.ConditionTypeSupported)
	if said == nil || said.Reason != api.ReasonNotConverted || len(ofTemplate.Events) != 1 ||
		!strings.Contains(ofTemplate.Events[0].Message, "spec.launchTemplate") {
		t.Errorf("the template says %+v with the events %v", said, ofTemplate.Events)
	}
}

// TestATemplateShowsWhatItSelects checks its status, and that the same status is not written again.
func TestATemplateShowsWhatItSelects(t *testing.T) {
	c := newCluster(t, "{metadata: {name: a, uid: u}, spec: {providerRef: {name: t}}}")
	c.Templates = []legacy.AWSNodeTemplate{
		parse[legacy.AWSNodeTemplate](t, "{metadata: {name: t}, spec: {instanceProfile: n, amiFamily: Bottlerocket}}"),
	}
	c.pass(t)
	c.Classes[0].Status.Subnets = []api.Subnet{{ID: "subnet-2", Zone: "b"}, {ID: "subnet-1", Zone: "a"}}
	merge(t, provisioner.OfTemplate(&c.Templates[0], c.Seen, now).Status, &c.Templates[0])
	want := []legacy.Subnet{{ID: "subnet-1", Zone: "a"}, {ID: "subnet-2", Zone: "b"}}
	if got := c.Templates[0].Status.Subnets; !slices.Equal(got, want) {
		t.Errorf("subnets are %v, want %v", got, want)
	}
	if again := provisioner.OfTemplate(&c.Templates[0], c.Seen, now); again.Status != nil || len(again.Events) != 0 {
		t.Errorf("without a change it writes %v with %v", again.Status, again.Events)
	}
}

func TestADeletedProvisionerIsLeftAlone(t *testing.T) {
	c := newCluster(t, inline)
	deleted := metav1.NewTime(now)
	c.Provisioners[0].DeletionTimestamp = &deleted
	if outcome := provisioner.Next(&c.Provisioners[0], c.Seen, now); outcome.Pool != nil || outcome.Status != nil {
		t.Errorf("writes %+v", outcome)
	}
}
