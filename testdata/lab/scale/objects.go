package scale

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	// images is the number of images in a node's status: the kubelet's default maximum.
	images = 50
	// applications is the number of different workloads.
	applications = 200
	// podMilliCPU and podMegabytes are a pod's requests. Twenty pods fill four processors.
	podMilliCPU, podMegabytes = 190, 250
)

// since is when the cluster's pods were made.
func since() metav1.Time { return metav1.NewTime(time.Now().Add(-6 * time.Hour).Truncate(time.Second)) }

// digest is a name with the length of an image's digest.
func digest(n int) string { return fmt.Sprintf("%064x", uint64(n+1)*0x9e3779b97f4a7c15) }

// Images returns the images of a node's status, as a kubelet reports them: 15 to 20 KB of JSON.
func Images() []corev1.ContainerImage {
	made := make([]corev1.ContainerImage, images)
	for i := range made {
		repository := fmt.Sprintf("123456789012.dkr.ecr.us-east-1.amazonaws.com/platform/team-%02d/service-%03d", i%10, i)
		made[i] = corev1.ContainerImage{
			Names: []string{
				repository + "@sha256:" + digest(i), repository + ":v1." + fmt.Sprint(i) + ".0-20260901-" + digest(i)[52:],
			},
			SizeBytes: int64(50_000_000 + i*7_919_000),
		}
	}
	return made
}

// Pod returns the nth pod of the cluster, on a node (4 KB of JSON).
func Pod(n int, node string) *corev1.Pod {
	application, at := n%applications, metav1.NewTime(since().Add(time.Duration(n%10_000)*time.Second))
	name := fmt.Sprintf("service-%03d", application)
	set := fmt.Sprintf("%s-%010x", name, uint32(application+1)*2654435761)
	yes := true
	labels := map[string]string{
		"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": fmt.Sprintf("product-%02d", application%20),
		"app.kubernetes.io/managed-by": "Helm", "pod-template-hash": set[len(name)+1:],
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%05x", set, n), GenerateName: set + "-", Namespace: fmt.Sprintf("team-%02d", application%50),
			UID: types.UID(fmt.Sprintf("7b1d0000-0000-4000-8000-%012x", n)), ResourceVersion: "1", Generation: 1,
			CreationTimestamp: at, Labels: labels,
			Annotations: map[string]string{
				"checksum/config": digest(application), "prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"kubectl.kubernetes.io/restartedAt": "2026-09-01T10:00:00Z",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, Controller: &yes, BlockOwnerDeletion: &yes,
				UID: types.UID(fmt.Sprintf("6a000000-0000-4000-8000-%012x", application)),
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
					FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(podSpecFields)}},
				{Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
					FieldsType: "FieldsV1", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte(podStatusFields)}},
			},
		},
		Spec:   podSpec(name, node, labels),
		Status: podStatus(n, name, node, at),
	}
}

func podSpec(name, node string, labels map[string]string) corev1.PodSpec {
	yes, no, grace, expires := true, false, int64(30), int64(3607)
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"),
				Scheme: corev1.URISchemeHTTP}},
			TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	tolerate := func(key string) corev1.Toleration {
		seconds := int64(300)
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: &seconds}
	}
	return corev1.PodSpec{
		NodeName: node, RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
		DNSPolicy: corev1.DNSClusterFirst, ServiceAccountName: name, SchedulerName: corev1.DefaultSchedulerName,
		Priority: new(int32), EnableServiceLinks: &no, SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes},
		Containers: []corev1.Container{{
			Name: name, Image: "123456789012.dkr.ecr.us-east-1.amazonaws.com/platform/" + name + ":v1.42.0",
			ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"serve", "--listen=:8080", "--log-format=json"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
			Env:   environment(name), Resources: corev1.ResourceRequirements{Requests: requests()},
			LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
			VolumeMounts: []corev1.VolumeMount{
				{Name: "config", MountPath: "/etc/" + name, ReadOnly: true},
				{Name: "kube-api-access-x7k2p", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
			},
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}},
		Volumes: []corev1.Volume{
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
			{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: &expires, Path: "token"}},
					{ConfigMap: &corev1.ConfigMapProjection{
						LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
				}}}},
		},
		Tolerations: []corev1.Toleration{
			tolerate("node.kubernetes.io/not-ready"), tolerate("node.kubernetes.io/unreachable"),
		},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"app.kubernetes.io/name": labels["app.kubernetes.io/name"]}},
		}},
	}
}

func requests() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(podMilliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(podMegabytes<<20, resource.BinarySI),
	}
}

func environment(name string) []corev1.EnvVar {
	made := []corev1.EnvVar{{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}}}
	for _, variable := range []string{"DATABASE_URL", "CACHE_URL", "QUEUE_URL", "TRACE_ENDPOINT"} {
		made = append(made, corev1.EnvVar{Name: variable,
			Value: "https://" + strings.ToLower(strings.ReplaceAll(variable, "_", "-")) + "." + name + ".svc.cluster.local:443"})
	}
	return made
}

func podStatus(n int, name, node string, at metav1.Time) corev1.PodStatus {
	yes := true
	var conditions []corev1.PodCondition
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		conditions = append(conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: at})
	}
	address := fmt.Sprintf("100.64.%d.%d", n>>8&255, n&255)
	return corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: conditions, HostIP: "10.0.0.1", PodIP: address,
		PodIPs: []corev1.PodIP{{IP: address}}, StartTime: &at, QOSClass: corev1.PodQOSBurstable,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: name, Ready: true, Started: &yes, State: corev1.ContainerState{
				Running: &corev1.ContainerStateRunning{StartedAt: at}},
			Image:       "123456789012.dkr.ecr.us-east-1.amazonaws.com/platform/" + name + ":v1.42.0",
			ImageID:     "123456789012.dkr.ecr.us-east-1.amazonaws.com/platform/" + name + "@sha256:" + digest(n%applications),
			ContainerID: "containerd://" + digest(n),
			// Kubelets report them since Kubernetes 1.33.
			AllocatedResources: requests(), Resources: &corev1.ResourceRequirements{Requests: requests()},
		}},
	}
}

const podSpecFields = `` +
	`{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/port":{},"f:prometheu` +
	`s.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:app.kuberne` +
	`tes.io/part-of":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"6a000000-0000` +
	`-4000-8000-000000000000\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"service-000\"}":{".":{},"f` +
	`:args":{},"f:env":{".":{},"k:{\"name\":\"DATABASE_URL\"}":{".":{},"f:name":{},"f:value":{}}},"f:imag` +
	`e":{},"f:imagePullPolicy":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\` +
	`"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{}}},"f:dnsPolicy":{},"f:enableServiceLinks":{` +
	`},"f:restartPolicy":{},"f:schedulerName":{},"f:volumes":{".":{}}}}`

const podStatusFields = `` +
	`{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:stat` +
	`us":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:status":{},"f:type":{}}},"f:containerStatuse` +
	`s":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\"ip\":\"100.64.0.1\"}":{".":{}` +
	`,"f:ip":{}}},"f:startTime":{}}}`
