package lean

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// marshaler is an object in Protocol Buffers.
type marshaler interface{ Marshal() ([]byte, error) }

// encoded is an API server's answer with a list.
func encoded(t testing.TB, kind string, list marshaler) []byte {
	t.Helper()
	raw, err := list.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	body, err := envelope.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), body...)
}

// kept is a pod with every part that functions read.
func kept(name, node string) corev1.Pod {
	at, yes, grace := metav1.NewTime(time.Unix(1_700_000_000, 0)), true, int64(30)
	quantities := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("250m"), "vpc.amazonaws.com/efa": resource.MustParse("1"),
	}
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "team", UID: types.UID("uid of " + name), ResourceVersion: "7", Generation: 3,
			CreationTimestamp: at, DeletionTimestamp: &at, DeletionGracePeriodSeconds: &grace, Finalizers: []string{"hold"},
			Labels: map[string]string{"app": "shop"},
			Annotations: map[string]string{
				"karpenter.sh/do-not-disrupt": "true", "whittle.dev/move-by-restart": "true",
				"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
				"controller.kubernetes.io/pod-deletion-cost":     "5", corev1.MirrorPodAnnotationKey: "mirror",
			},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "shop", UID: "set", Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			NodeName: node, SchedulerName: "default-scheduler", RestartPolicy: corev1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{"disk": "fast"}, HostNetwork: true,
			Priority: new(int32), PriorityClassName: "high", Overhead: quantities,
			Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}},
			Tolerations:               []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone"}},
			SchedulingGates:           []corev1.PodSchedulingGate{{Name: "wait"}},
			ResourceClaims:            []corev1.PodResourceClaim{{Name: "gpu"}},
			Resources:                 &corev1.ResourceRequirements{Requests: quantities},
			Containers: []corev1.Container{{
				Name: "main", Image: "shop:1", Ports: []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}},
				Resources: corev1.ResourceRequirements{Requests: quantities, Limits: quantities},
			}},
			InitContainers: []corev1.Container{{Name: "side", RestartPolicy: &always}},
			Volumes: []corev1.Volume{
				{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "fresh", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
				{Name: "disk", VolumeSource: corev1.VolumeSource{
					AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}}},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Reason: "Evicted", NominatedNodeName: "next", StartTime: &at,
			QOSClass: corev1.PodQOSBurstable, Resize: "Deferred", AllocatedResources: quantities,
			Resources: &corev1.ResourceRequirements{Requests: quantities},
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node",
					LastTransitionTime: at},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodResizePending, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", AllocatedResources: quantities, Resources: &corev1.ResourceRequirements{Requests: quantities},
				RestartCount: 4,
				State:        corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{FinishedAt: at}}}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "side"}},
		},
	}
}

// laden adds what functions do not read.
func laden(pod corev1.Pod) corev1.Pod {
	pod = *pod.DeepCopy()
	pod.GenerateName = "shop-"
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{}}`)}}}
	pod.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	for _, container := range []*corev1.Container{&pod.Spec.Containers[0], &pod.Spec.InitContainers[0]} {
		container.Command, container.Args, container.WorkingDir = []string{"run"}, []string{"fast"}, "/"
		container.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: "secret"}}
		container.VolumeMounts = []corev1.VolumeMount{{Name: "token-x7k2p", MountPath: "/token"}}
		container.LivenessProbe, container.ReadinessProbe = &corev1.Probe{}, &corev1.Probe{}
		container.StartupProbe = &corev1.Probe{}
		container.SecurityContext, container.Lifecycle = &corev1.SecurityContext{}, &corev1.Lifecycle{}
	}
	pod.Spec.SecurityContext, pod.Spec.Hostname = &corev1.PodSecurityContext{}, pod.Name
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: "token-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
		corev1.Volume{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}})
	pod.Status.Message, pod.Status.HostIP, pod.Status.PodIP = "long", "10.0.0.1", "10.0.0.2"
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.2"}}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodInitialized})
	pod.Status.ContainerStatuses[0].Image, pod.Status.ContainerStatuses[0].ContainerID = "shop:1", "containerd://1"
	pod.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
	pod.Status.ContainerStatuses[0].State.Waiting.Message = "back-off 5m0s"
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	last.ExitCode, last.Reason, last.Message, last.ContainerID = 1, "Error", "panic", "containerd://0"
	return pod
}

func TestPodsKeepWhatFunctionsRead(t *testing.T) {
	want := []corev1.Pod{kept("one", "node-1"), kept("two", "node-2")}
	page := &corev1.PodList{
		ListMeta: metav1.ListMeta{Continue: "more"}, Items: []corev1.Pod{laden(want[0]), laden(want[1])},
	}
	got, meta, err := NewPodDecoder().Page(encoded(t, "PodList", page))
	if err != nil || meta.Continue != "more" || len(got) != 2 {
		t.Fatalf("%d pods, continue %q, %v", len(got), meta.Continue, err)
	}
	for i := range want {
		if !equality.Semantic.DeepEqual(got[i], want[i]) {
			t.Errorf("pod %d differs, spec: %t, status: %t", i, !equality.Semantic.DeepEqual(got[i].Spec, want[i].Spec),
				!equality.Semantic.DeepEqual(got[i].Status, want[i].Status))
		}
	}
	if &got[0].Spec.Containers[0] != &got[1].Spec.Containers[0] {
		t.Error("two pods of a workload do not share their containers")
	}
}

func TestPodsThatDifferDoNotShare(t *testing.T) {
	one, two := kept("one", "node-1"), kept("two", "node-2")
	two.Labels = map[string]string{"app": "stock"}
	two.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	two.Status.ContainerStatuses = nil
	got, _, err := NewPodDecoder().Page(encoded(t, "PodList", &corev1.PodList{Items: []corev1.Pod{one, two}}))
	if err != nil || !equality.Semantic.DeepEqual(got, []corev1.Pod{one, two}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestNodesKeepWhatFunctionsRead(t *testing.T) {
	want := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "node-1", Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"a": "b"},
		},
		Spec: corev1.NodeSpec{
			ProviderID: "aws:///a/i-1", Taints: []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			Capacity:    corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
			NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: "v1.36.0"},
		},
	}
	laden := *want.DeepCopy()
	laden.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	laden.Status.Images = []corev1.ContainerImage{{Names: []string{"busybox"}}}
	got, meta, err := Nodes(encoded(t, "NodeList", &corev1.NodeList{Items: []corev1.Node{laden}}))
	if err != nil || meta.Continue != "" || len(got) != 1 || !equality.Semantic.DeepEqual(got[0], want) {
		t.Errorf("%+v, %+v, %v", got, meta, err)
	}
}

func TestIdentitiesOfAnyKind(t *testing.T) {
	page := &metav1.PartialObjectMetadataList{
		ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: "more"},
		Items: []metav1.PartialObjectMetadata{
			{ObjectMeta: laden(kept("one", "node-1")).ObjectMeta}, {ObjectMeta: metav1.ObjectMeta{Name: "two", ResourceVersion: "8"}},
		},
	}
	var got []string
	meta, err := Identities(encoded(t, "PartialObjectMetadataList", page), func(namespace, name, version []byte) {
		got = append(got, fmt.Sprintf("%s/%s@%s", namespace, name, version))
	})
	if err != nil || meta.ResourceVersion != "9" || meta.Continue != "more" || !slices.Equal(got, []string{"team/one@7", "/two@8"}) {
		t.Errorf("%q, %+v, %v", got, meta, err)
	}
	if _, err := Identities([]byte(`{"kind":"PartialObjectMetadataList"}`), nil); err == nil {
		t.Error("JSON is decoded as Protocol Buffers")
	}
}

func TestATruncatedAnswerIsAnError(t *testing.T) {
	whole := encoded(t, "PodList", &corev1.PodList{Items: []corev1.Pod{laden(kept("one", "node-1"))}})
	for end := range len(whole) - 5 { // the envelope ends with two empty fields
		found, _, err := NewPodDecoder().Page(whole[:end])
		if err == nil && len(found) > 0 {
			t.Fatalf("%d of %d bytes are a list of %d pods", end, len(whole), len(found))
		}
	}
	if _, _, err := NewPodDecoder().Page([]byte(`{"kind":"PodList"}`)); err == nil {
		t.Error("JSON is decoded as Protocol Buffers")
	}
}

func TestManyDifferentPodsAreNotAllRemembered(t *testing.T) {
	var list corev1.PodList
	for i := range mostShared + 10 {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pod": fmt.Sprint(i)}}}
		list.Items = append(list.Items, pod)
	}
	decoder := NewPodDecoder()
	got, _, err := decoder.Page(encoded(t, "PodList", &list))
	if err != nil || len(decoder.metas) > mostShared || got[mostShared+5].Labels["pod"] != fmt.Sprint(mostShared+5) {
		t.Errorf("%d remembered, %v", len(decoder.metas), err)
	}
}

func FuzzLists(f *testing.F) {
	f.Add(encoded(f, "PodList", &corev1.PodList{Items: []corev1.Pod{laden(kept("one", "node-1"))}}))
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _, _ = NewPodDecoder().Page(body)
		_, _, _ = Nodes(body)
		_, _ = Identities(body, func(_, _, _ []byte) {})
	})
}
