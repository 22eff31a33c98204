package buffer_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/buffer"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/quota"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/virtual"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func number(n int32) *int32 { return &n }

// requesting is a template with one container that requests the amounts.
func requesting(cpu, memory string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{api.DoNotDisruptAnnotationKey: "true"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			},
		}}}},
	}
}

func made(change func(*api.CapacityBufferSpec)) *api.CapacityBuffer {
	b := &api.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "spare", UID: "u", Generation: 3}}
	change(&b.Spec)
	return b
}

func ofTemplate(spec *api.CapacityBufferSpec) {
	spec.PodTemplateRef = &api.PodTemplateRef{Name: "web"}
}

func ofDeployment(spec *api.CapacityBufferSpec) {
	spec.ScalableRef = &api.BufferScalableRef{APIGroup: "apps", Kind: "Deployment", Name: "web"}
}

func TestTheNumberOfPods(t *testing.T) {
	limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2500m"), "example.com/gpu": resource.MustParse("1")}
	for name, test := range map[string]struct {
		change func(*api.CapacityBufferSpec)
		want   int
	}{
		"replicas":                       {func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(4) }, 4},
		"a percentage, rounded up":       {func(s *api.CapacityBufferSpec) { ofDeployment(s); s.Percentage = number(21) }, 3},
		"the greater of both":            {func(s *api.CapacityBufferSpec) { ofDeployment(s); s.Percentage, s.Replicas = number(50), number(2) }, 5},
		"limits alone":                   {func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Limits = limits }, 5},
		"limits that allow fewer":        {func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas, s.Limits = number(9), limits }, 5},
		"limits that allow more":         {func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas, s.Limits = number(1), limits }, 1},
		"a percentage of a template":     {func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas, s.Percentage = number(1), number(900) }, 1},
		"nothing":                        {ofDeployment, 0},
		"more than a buffer may ask for": {func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(1 << 30) }, 1000},
	} {
		source := &buffer.Source{Template: requesting("500m", "1Gi"), Replicas: 10}
		if got := buffer.Resolve(made(test.change), source, nil); len(got.Pods) != test.want {
			t.Errorf("%s: %d pods, want %d", name, len(got.Pods), test.want)
		}
	}
}

// TestABufferOfAnotherStrategyIsLeftAlone holds that a strategy of another controller is not carried out.
func TestABufferOfAnotherStrategyIsLeftAlone(t *testing.T) {
	for strategy, want := range map[string]bool{"": true, api.ActiveCapacityStrategy: true, "example.com/other": false} {
		b := made(func(s *api.CapacityBufferSpec) { ofTemplate(s); s.ProvisioningStrategy = &strategy })
		if got := buffer.IsOurs(b); got != want {
			t.Errorf("the strategy %q is ours: %t", strategy, got)
		}
	}
	if !buffer.IsOurs(made(ofTemplate)) {
		t.Error("a buffer without a strategy is not ours")
	}
}

// TestBrokenBuffersNameTheField holds that each has no pods, and conditions that name the field.
func TestBrokenBuffersNameTheField(t *testing.T) {
	for field, test := range map[string]struct {
		change func(*api.CapacityBufferSpec)
		absent bool
		reason string
	}{
		`spec.podTemplateRef: the PodTemplate "web" does not exist`: {func(s *api.CapacityBufferSpec) {
			ofTemplate(s)
			s.Replicas = number(1)
		}, true, "PodTemplateNotFound"},
		`spec.scalableRef: the Deployment "web" does not exist`: {ofDeployment, true, "ScalableRefNotFound"},
		"spec.percentage needs spec.scalableRef": {
			func(s *api.CapacityBufferSpec) { s.Percentage = number(10) }, true, "ResolutionFailed"},
		"neither spec.podTemplateRef nor spec.scalableRef": {
			func(s *api.CapacityBufferSpec) { s.Replicas = number(10) }, true, "ResolutionFailed"},
		"are both set": {func(s *api.CapacityBufferSpec) { ofTemplate(s); ofDeployment(s) }, false, "ResolutionFailed"},
		"spec.podTemplateRef needs spec.replicas or spec.limits": {ofTemplate, false, "ResolutionFailed"},
		"spec.scalableRef names a Job": {func(s *api.CapacityBufferSpec) {
			s.ScalableRef = &api.BufferScalableRef{APIGroup: "batch", Kind: "Job", Name: "web"}
		}, false, "ResolutionFailed"},
	} {
		var source *buffer.Source
		if !test.absent {
			source = &buffer.Source{Template: requesting("1", "1Gi"), Replicas: 1}
		}
		broken := buffer.Resolve(made(test.change), source, nil)
		status, changed := broken.Status(virtual.Outcome{}, now)
		ready := api.GetCondition(status.Conditions, "ReadyForProvisioning")
		provisioning := api.GetCondition(status.Conditions, "Provisioning")
		if len(broken.Pods) > 0 || !changed || ready == nil || ready.Status != metav1.ConditionFalse ||
			ready.Reason != test.reason || !strings.Contains(ready.Message, field) || ready.ObservedGeneration != 3 ||
			provisioning == nil || provisioning.Reason != "NotReadyForProvisioning" {
			t.Errorf("%s: %d pods, %+v, %+v", field, len(broken.Pods), ready, provisioning)
		}
	}
}

// TestAVirtualPod holds what makes it differ from the pods that its template makes.
func TestABufferThatCannotBeReadNamesTheField(t *testing.T) {
	object := made(ofTemplate)
	object.Unreadable = map[string]string{"spec.limits.cpu": "odd"}
	broken := buffer.Resolve(object, &buffer.Source{Template: requesting("1", "1Gi"), Replicas: 1}, nil)
	status, _ := broken.Status(virtual.Outcome{}, now)
	ready := api.GetCondition(status.Conditions, api.ConditionReadyForProvisioning)
	if len(broken.Pods) > 0 || ready == nil || ready.Status != metav1.ConditionFalse ||
		!strings.Contains(ready.Message, "spec.limits.cpu cannot be read (odd)") {
		t.Errorf("%d pods, %+v", len(broken.Pods), ready)
	}
}

func TestAVirtualPod(t *testing.T) {
	template := requesting("1", "1Gi")
	template.Spec.NodeName = "elsewhere"
	template.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	template.Spec.Containers = append(template.Spec.Containers,
		corev1.Container{Name: "limited", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
		}}, corev1.Container{Name: "bare"})
	ranges := []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: corev1.LimitRangeSpec{
		Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
			DefaultRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}}},
	}}}
	b := buffer.Resolve(made(func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(2) }),
		&buffer.Source{Template: template}, ranges)
	pod := &b.Pods[1]
	cpu := scheduling.PodRequests(pod)[corev1.ResourceCPU]
	switch {
	case pod.Namespace != "shop" || pod.Name != "capacity-buffer-spare-2" || !scheduling.IsVirtual(pod):
		t.Errorf("its name is %s/%s, and its UID %s", pod.Namespace, pod.Name, pod.UID)
	case pod.Labels["app"] != "web" || pod.Annotations[api.DoNotDisruptAnnotationKey] != "":
		t.Errorf("labels %v, annotations %v", pod.Labels, pod.Annotations)
	case pod.Spec.NodeName != "" || len(pod.Spec.Volumes) != 1 || pod.Spec.Volumes[0].Name != "tmp":
		t.Errorf("node %q, volumes %v", pod.Spec.NodeName, pod.Spec.Volumes)
	case !scheduling.IsProvisionable(pod) || *pod.Spec.Priority >= 0:
		t.Errorf("it waits: %t, its priority is %d", scheduling.IsProvisionable(pod), *pod.Spec.Priority)
	case cpu.MilliValue() != 3100:
		t.Errorf("it requests %s cores, want 3100m", cpu.String())
	}
}

// TestThePlanSpeaksOfRealPodsOnly holds that virtual pods leave a plan, and what their buffer says
// then.
func TestThePlanSpeaksOfRealPodsOnly(t *testing.T) {
	source := &buffer.Source{Template: requesting("1", "1Gi"), Generation: 7}
	b := buffer.Resolve(made(func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(2) }), source, nil)
	first, second := plan.RefOf(&b.Pods[0]), plan.RefOf(&b.Pods[1])
	real := plan.PodRef{Namespace: "shop", Name: "web-1", UID: "1"}
	decided := &plan.Plan{
		NodeClaims:  []plan.PlannedNodeClaim{{Pods: []plan.PodRef{second, real}}},
		Nominations: []plan.Nomination{{Pod: first, NodeName: "a"}, {Pod: real, NodeName: "a"}},
	}
	outcome := virtual.Take(decided)
	if len(decided.Nominations) != 1 || len(decided.NodeClaims[0].Pods) != 1 || len(outcome.Known) != 2 {
		t.Errorf("the plan is %+v, with %d virtual pods", decided, len(outcome.Known))
	}
	says := func(o virtual.Outcome, status metav1.ConditionStatus, reason, message string) {
		t.Helper()
		written, changed := b.Status(o, now)
		got := api.GetCondition(written.Conditions, "Provisioning")
		if got == nil || got.Status != status || got.Reason != reason || !strings.Contains(got.Message, message) || !changed {
			t.Errorf("it says %+v, new: %t", got, changed)
		}
		if *written.Replicas != 2 || *written.PodTemplateGeneration != 7 || written.PodTemplateRef.Name != "web" {
			t.Errorf("the status is %+v", written)
		}
		b.Object.Status = written
	}
	says(outcome, metav1.ConditionFalse, "RequiresNewCapacity", "room for 1 of 2 pods, and new nodes are launched")
	if _, changed := b.Status(virtual.Outcome{}, now); changed {
		t.Error("a plan without the buffer's pods changes its status")
	}
	says(virtual.Take(&plan.Plan{Unplaced: []plan.Unplaced{
		{Pod: first, Reasons: []plan.Reason{{NodePool: "default", Message: "the limit is reached"}}}, {Pod: second},
	}}), metav1.ConditionFalse, "RequiresNewCapacity", `room for 0 of 2 pods: nodepool "default": the limit is reached`)
	says(virtual.Take(&plan.Plan{Nominations: []plan.Nomination{{Pod: first}, {Pod: second}}}),
		metav1.ConditionTrue, "FitsExistingCapacity", "room for 2 pods")
	if !buffer.IsObserved(b.Object) {
		t.Error("its status is not about it")
	}
}

// TestOnlyRoomOnNodesIsBound holds that pods are bound to nodes that have joined, and to no others.
func TestOnlyRoomOnNodesIsBound(t *testing.T) {
	b := buffer.Resolve(made(func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(3) }),
		&buffer.Source{Template: requesting("1", "1Gi")}, nil)
	bound := virtual.Bind(&plan.Plan{Nominations: []plan.Nomination{
		{Pod: plan.RefOf(&b.Pods[0]), NodeName: "a"}, {Pod: plan.RefOf(&b.Pods[1]), NodeClaimName: "in flight"},
	}}, b.Pods)
	if len(bound) != 1 || bound[0].Spec.NodeName != "a" || !scheduling.IsReschedulable(&bound[0]) || b.Pods[0].Spec.NodeName != "" {
		t.Errorf("bound are %+v", bound)
	}
}

// TestTheOldestBuffersComeFirst has three buffers of a thousand pods, and a bound of two thousand.
func TestTheOldestBuffersComeFirst(t *testing.T) {
	var all []buffer.Buffer
	for range 3 {
		all = append(all, buffer.Resolve(made(func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(1000) }),
			&buffer.Source{Template: requesting("1", "1Gi")}, nil))
	}
	buffer.Bound(all, 2000)
	if got := len(buffer.Pods(all)); got != 2000 || !strings.Contains(all[2].Problem(), "more than 2000 pods") ||
		all[1].Problem() != "" {
		t.Errorf("%d pods, and the last buffer says %q", got, all[2].Problem())
	}
}

// TestHeadroomIsAPartOfNodes has a pod that takes a half of the node's memory and a quarter of its
// cores, one on a node of others, and one without a place.
func TestHeadroomIsAPartOfNodes(t *testing.T) {
	b := buffer.Resolve(made(func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(3) }),
		&buffer.Source{Template: requesting("1", "4Gi")}, nil)
	outcome := virtual.Take(&plan.Plan{Nominations: []plan.Nomination{
		{Pod: plan.RefOf(&b.Pods[0]), NodeName: "a"}, {Pod: plan.RefOf(&b.Pods[1]), NodeName: "others"},
	}})
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim"}}
	claim.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	node.Status.Allocatable = claim.Status.Allocatable
	placed, price := buffer.Headroom(outcome, []buffer.Buffer{b}, []plan.Node{{NodeClaim: claim, Node: node}},
		func(*api.NodeClaim) (float64, bool) { return 0.2, true })
	if placed != 2 || price != 0.1 {
		t.Errorf("%d pods for $%g/h, want 2 for $0.1/h", placed, price)
	}
}

// TestAQuotaBoundsABuffer gives a buffer of three pods a quota of two, and of none.
func TestAQuotaBoundsABuffer(t *testing.T) {
	source := &buffer.Source{Template: requesting("1", "1Gi"), Replicas: 1}
	for cpu, want := range map[string]int{"5": 3, "2500m": 2, "900m": 0} {
		b := buffer.Resolve(made(func(s *api.CapacityBufferSpec) { ofTemplate(s); s.Replicas = number(3) }), source, nil)
		if len(b.Pods) != 3 {
			t.Fatalf("%d pods: %s", len(b.Pods), b.Problem())
		}
		of := corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{
			Hard: corev1.ResourceList{"requests.cpu": resource.MustParse(cpu)}}}
		of.Namespace, of.Name = b.Pods[0].Namespace, "team"
		buffers := []buffer.Buffer{b}
		buffer.Within(buffers, quota.New([]corev1.ResourceQuota{of}))
		status, _ := buffers[0].Status(virtual.Outcome{}, time.Now())
		ready := api.GetCondition(status.Conditions, api.ConditionReadyForProvisioning)
		if len(buffers[0].Pods) != want || want < 3 != strings.Contains(ready.Message, `ResourceQuota "team" has room for`) ||
			(want == 0) != (buffers[0].Problem() != "") {
			t.Errorf("cpu %s: %d pods, want %d: %s", cpu, len(buffers[0].Pods), want, ready.Message)
		}
	}
}
