package crash

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// workload is a number of equal pods. A pod that ends is replaced.
type workload struct {
	name  string
	count int
	cpu   string
	grace int64 // seconds that a pod may take to end
	shape func(*corev1.Pod)
	made  int
}

// pods adds a workload.
func (s *stage) pods(name string, count int, cpu string) *workload {
	made := &workload{name: name, count: count, cpu: cpu, grace: 1}
	s.workloads = append(s.workloads, made)
	return made
}

// first creates the workload's first pod and returns it.
func (s *stage) first(l *workload) *corev1.Pod {
	if s.err != nil {
		return &corev1.Pod{}
	}
	l.made++
	pod := l.pod()
	pod.Name = fmt.Sprintf("%s-%d", l.name, l.made)
	stored, err := s.world.core.CoreV1().Pods(metav1.NamespaceDefault).Create(s.ctx, pod, metav1.CreateOptions{})
	if !s.try(err) {
		return &corev1.Pod{}
	}
	return stored
}

// expecting launches a claim whose node has not joined, for all pods of the workload. The pods are those of the
// default scheduler, and have a controller.
func (s *stage) expecting(name string, l *workload) {
	controller := true
	l.shape = func(pod *corev1.Pod) {
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		// Kubernetes' garbage collector deletes pods whose owner is missing, unless it does not know the owner's kind.
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "played.whittle.dev/v1", Kind: "Workload", Name: l.name, UID: "4b0a1d5c-9c55-4b6c-8f6e-3a8f2a5b1c11",
			Controller: &controller,
		}}
	}
	var planned []string
	for range l.count {
		planned = append(planned, string(s.first(l).UID))
	}
	s.launched(name, func(claim *api.NodeClaim) {
		claim.Annotations[api.NominatedPodsAnnotationKey] = strings.Join(planned, ",")
	})
}

// replace creates the missing pods and reports whether any was missing. A pod that is being deleted
// counts as missing.
func (l *workload) replace(ctx context.Context, w *World, pods []corev1.Pod) (missing bool, err error) {
	present := 0
	for i := range pods {
		if pods[i].Labels["app"] == l.name && pods[i].DeletionTimestamp == nil {
			present++
		}
	}
	for ; present < l.count; present++ {
		l.made++
		missing = true
		pod := l.pod()
		pod.Name = fmt.Sprintf("%s-%d", l.name, l.made)
		if _, err := w.core.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return missing, err
		}
	}
	return missing, nil
}

// pod returns one of the workload's pods, without a name.
func (l *workload) pod() *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": l.name}}}
	// The trial simulates this scheduler.
	pod.Spec.SchedulerName, pod.Spec.TerminationGracePeriodSeconds = "played", &l.grace
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(l.cpu)},
	}}}
	if l.shape != nil {
		l.shape(pod)
	}
	return pod
}

// storage is the StorageClass of the scenarios' volumes.
const storage = "disks"

// volumeClaim creates a claim for a volume, which is bound to the volume where one is named.
func (s *stage) volumeClaim(name, volume string) {
	if s.err != nil {
		return
	}
	s.world.claimed = true
	class := storage
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec.AccessModes, claim.Spec.StorageClassName = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, &class
	claim.Spec.VolumeName = volume
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	_, err := s.world.core.CoreV1().PersistentVolumeClaims(metav1.NamespaceDefault).Create(s.ctx, claim,
		metav1.CreateOptions{})
	s.try(err)
}

// attach records that a volume is attached to the node of an instance.
func (s *stage) attach(volume string, instance *ec2.Instance) {
	if s.err != nil {
		return
	}
	s.world.claimed = true
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "attached-" + volume}}
	attachment.Spec = storagev1.VolumeAttachmentSpec{
		Attacher: "ebs.csi.aws.com", NodeName: instance.PrivateDNSName,
		Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
	}
	_, err := s.world.core.StorageV1().VolumeAttachments().Create(s.ctx, attachment, metav1.CreateOptions{})
	s.try(err)
}

// mounting shapes pods that mount a claim.
func mounting(claim string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
}

// apart shapes pods that mount a claim and keep away from pods of all namespaces that do not exist.
func apart(claim string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		mounting(claim)(pod)
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey:       corev1.LabelHostname,
				LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nobody"}},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
			}},
		}}
	}
}

// budget creates a PodDisruptionBudget with a minimum of healthy pods.
func (s *stage) budget(workload string, least int) {
	if s.err != nil {
		return
	}
	s.guarded = true
	minimum := intstr.FromInt32(int32(least))
	_, err := s.world.core.PolicyV1().PodDisruptionBudgets(metav1.NamespaceDefault).Create(s.ctx,
		&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: workload},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: &minimum, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": workload}},
			},
		}, metav1.CreateOptions{})
	s.try(err)
}

// shrink deletes pods of a workload.
func (s *stage) shrink(name string, count int) {
	for _, of := range s.workloads {
		for ; s.err == nil && of.name == name && of.count > count; of.count-- {
			zero := int64(0)
			s.try(s.world.core.CoreV1().Pods(metav1.NamespaceDefault).Delete(s.ctx, fmt.Sprintf("%s-%d", name, of.count),
				metav1.DeleteOptions{GracePeriodSeconds: &zero}))
		}
	}
}

// deployment creates a Deployment of one pod that may be moved by a restart, and grants the right
// to do so.
func (s *stage) deployment(name, cpu string) {
	if s.err != nil {
		return
	}
	s.deployed, s.world.deployed = true, true
	_, err := s.world.core.RbacV1().RoleBindings(metav1.NamespaceDefault).Create(s.ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "whittle-restart"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "whittle:restart"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "whittle:disrupt"}},
	}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) && !s.try(err) {
		return
	}
	of := &workload{name: name, cpu: cpu, grace: 1}
	pod := of.pod()
	one, none := int32(1), intstr.FromInt32(0)
	made := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Spec = appsv1.DeploymentSpec{
		Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		Strategy: appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &none},
		},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels: pod.Labels, Annotations: map[string]string{disruption.MoveByRestartAnnotationKey: "true"},
			},
			Spec: pod.Spec,
		},
	}
	_, err = s.world.core.AppsV1().Deployments(metav1.NamespaceDefault).Create(s.ctx, made, metav1.CreateOptions{})
	s.try(err)
}

// rollingOut says what Kubernetes' controllers have yet to do for a Deployment; empty for nothing.
func (s *state) rollingOut(deployment *appsv1.Deployment) string {
	isReadyNow := 0
	for i := range s.pods {
		if pod := &s.pods[i]; pod.Labels["app"] == deployment.Name && pod.DeletionTimestamp == nil && isReady(pod) {
			isReadyNow++
		}
	}
	status := &deployment.Status
	if status.ObservedGeneration != deployment.Generation || status.UpdatedReplicas == 0 ||
		int(status.ReadyReplicas) != isReadyNow || isReadyNow > 1 {
		return fmt.Sprintf("deployment %s has %d pods that are ready, and says %+v", deployment.Name, isReadyNow, *status)
	}
	return ""
}
