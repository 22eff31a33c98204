package report

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

func pods(names ...string) []corev1.Pod {
	var all []corev1.Pod
	for _, name := range names {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		requests := corev1.ResourceList{"cpu": amounts("900m", "1", "1")["cpu"]}
		pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests}}}
		all = append(all, pod)
	}
	return all
}

func explainText(t *testing.T, e *Explanation) string {
	t.Helper()
	if e == nil {
		t.Fatal("no explanation")
	}
	var out bytes.Buffer
	if err := e.WriteText(&out, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestExplainNewNode checks the pod's node, its neighbours, and the steps that narrowed the types.
// seen is a view with the pods.
func seen(pods []corev1.Pod, s *plan.Snapshot) *sight.View {
	return &sight.View{Objects: &snapshot.Objects{Pods: pods}, Snapshot: s}
}

func TestExplainNewNode(t *testing.T) {
	s, p := example()
	s.Pods = pods("a", "b")
	a := &s.Pods[0]
	a.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "us-east-1a"}
	a.Spec.Tolerations = []corev1.Toleration{{
		Key: "team", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	}}
	a.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		TopologyKey: corev1.LabelTopologyZone, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}}
	a.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}
	a.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "b"}},
	}}
	claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-a"}
	a.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}}
	a.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	s.NodePools = []api.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	golden(t, "explain-new.txt", explainText(t, Explain("default", "a", seen(nil, s), p)))
}

func TestExplainTheRest(t *testing.T) {
	s, p := example()
	s.Pods = pods("e", "f", "x", "w1")
	bound := pods("e")
	bound[0].Spec.NodeName = "n9"
	golden(t, "explain-existing.txt", explainText(t, Explain("default", "e", seen(bound, s), p)))
	golden(t, "explain-in-flight.txt", explainText(t, Explain("default", "f", seen(nil, s), p)))
	golden(t, "explain-no-place.txt", explainText(t, Explain("default", "w1", seen(nil, s), p)))
	if e := Explain("default", "nobody", seen(pods("somebody"), s), p); e != nil {
		t.Errorf("a pod that is not there: %+v", e)
	}
}

// claimed are the volumes of a pod with one claim.
func claimed(name string) []corev1.Volume {
	return []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}}}
}

func TestExplainWhyAPodWaitsForNoNode(t *testing.T) {
	now := metav1.Now()
	yes := true
	for want, change := range map[string]func(*corev1.Pod){
		`needs no node: it runs on node "n1".`: func(p *corev1.Pod) { p.Spec.NodeName = "n1" },
		`needs no node: it is on node "n1", where its container "web" waits: ImagePullBackOff (no such image).`: func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.Phase = "n1", corev1.PodPending
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
			}}}
		},
		`waits for the PersistentVolumeClaim "data", which does not exist`: func(p *corev1.Pod) {
			p.UID, p.Status.NominatedNodeName, p.Spec.Volumes = "u", "n2", claimed("data")
		},
		`no node has the CSI driver ebs.csi.aws.com of its StorageClass "gp3"`: func(p *corev1.Pod) {
			p.UID, p.Status.NominatedNodeName, p.Spec.Volumes = "u", "n2", claimed("unbound")
		},
		`the driver efs.csi.aws.com of its StorageClass "shared" has not made it yet`: func(p *corev1.Pod) {
			p.UID, p.Status.NominatedNodeName, p.Spec.Volumes = "u", "n2", claimed("slow")
		},
		`it waits for the volume of the PersistentVolumeClaim "not read"`: func(p *corev1.Pod) {
			p.UID, p.Status.NominatedNodeName, p.Spec.Volumes = "u", "n2", claimed("not read")
		},
		"it has ended (Failed)": func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"it is being deleted":   func(p *corev1.Pod) { p.DeletionTimestamp = &now },
		"belongs to the DaemonSet agent": func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: &yes}}
		},
		"mirror of a static pod": func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		},
		`scheduling gate "wait" holds it back`: func(p *corev1.Pod) {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}}
		},
		`has nominated it for node "n2"`:                         func(p *corev1.Pod) { p.Status.NominatedNodeName = "n2" },
		"the scheduler has not reported it as unschedulable yet": func(p *corev1.Pod) { p.UID = "u" },
	} {
		all := pods("a")
		change(&all[0])
		view := seen(all, &plan.Snapshot{Unread: plan.Details{Volumes: strings.Contains(want, "not read")}})
		unbound := func(name, class string) corev1.PersistentVolumeClaim {
			return corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
				Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
			}
		}
		view.Snapshot.PersistentVolumeClaims = []corev1.PersistentVolumeClaim{unbound("unbound", "gp3"),
			unbound("slow", "shared")}
		view.Snapshot.StorageClasses = []storagev1.StorageClass{
			{ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: "ebs.csi.aws.com"},
			{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Provisioner: "efs.csi.aws.com"},
		}
		view.Snapshot.CSINodes = []storagev1.CSINode{{
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "efs.csi.aws.com"}}},
		}}
		text := explainText(t, Explain("default", "a", view, &plan.Plan{}))
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

// TestPoolProblems uses the real planner.
func TestPoolProblems(t *testing.T) {
	s, _ := example()
	fixed := int64(3)
	pool := func(name, operator, value string) api.NodePool {
		p := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
			{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOperator(operator), Values: []string{value}},
		}
		s.InstanceTypes[name] = s.InstanceTypes["default"]
		return p
	}
	static := pool("static", "In", "nothing")
	static.Spec.Replicas = &fixed
	tainted := pool("tainted", "In", "m6a.large")
	tainted.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
	s.NodePools = []api.NodePool{pool("good", "In", "m6a.large"), pool("empty", "In", "m7g.large"), static, tainted}
	problems := PoolProblems(s)
	if len(problems) != 1 || problems[0].NodePool != "empty" ||
		!strings.Contains(problems[0].Problem, corev1.LabelInstanceTypeStable) {
		t.Errorf("problems are %+v", problems)
	}
}
