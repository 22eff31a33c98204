package manifests

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// workload is an object whose controller creates pods.
type workload struct {
	// owner is the pods' controller reference.
	owner    metav1.OwnerReference
	meta     *metav1.ObjectMeta
	replicas int
	template *corev1.PodTemplateSpec
	// prepare changes the new pod with that number; nil changes nothing.
	prepare func(pod *corev1.Pod, number int)
	// numbered says that a pod's number is its name, as in a StatefulSet.
	numbered bool
	first    int
}

// expand creates the missing pods of workloads. Their names are the controller's with a number from
// zero.
func (r *reader) expand() {
	taken := map[string]bool{}
	existing := r.existing(taken)
	for _, w := range r.workloads() {
		have := existing[ownerKey(w.meta.Namespace, w.owner.Kind, w.owner.Name)]
		template := w.pod()
		for number := w.first; w.numbered && number-w.first < w.replicas || !w.numbered && have < w.replicas; number++ {
			name := w.meta.Name + "-" + strconv.Itoa(number)
			if taken[w.meta.Namespace+"/"+name] {
				continue
			}
			pod := template
			pod.Name = name
			if w.prepare != nil {
				w.prepare(&pod, number)
			}
			taken[w.meta.Namespace+"/"+name] = true
			r.manifests.Pods = append(r.manifests.Pods, pod)
			have++
		}
	}
}

// existing counts the pods of each controller, and adds their names to taken. Ended and ending pods
// do not count: their controller replaces them, or needed them once.
func (r *reader) existing(taken map[string]bool) map[string]int {
	// A Deployment's pods belong to its ReplicaSets.
	deployments := map[string]string{}
	for i := range r.replicaSets {
		set := &r.replicaSets[i]
		if owner := metav1.GetControllerOf(set); owner != nil && owner.Kind == "Deployment" {
			deployments[set.Namespace+"/"+set.Name] = owner.Name
		}
	}
	counts := map[string]int{}
	for i := range r.manifests.Pods {
		pod := &r.manifests.Pods[i]
		taken[pod.Namespace+"/"+pod.Name] = true
		owner := metav1.GetControllerOf(pod)
		if owner == nil || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed ||
			pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		kind, name := owner.Kind, owner.Name
		if kind == "ReplicaSet" {
			if deployment, ok := deployments[pod.Namespace+"/"+name]; ok {
				kind, name = "Deployment", deployment
			} else if hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
				if deployment, ok := strings.CutSuffix(name, "-"+hash); ok {
					kind, name = "Deployment", deployment
				}
			}
		}
		counts[ownerKey(pod.Namespace, kind, name)]++
	}
	// A Deployment's pods name its ReplicaSet, whatever that is called.
	for i := range r.deployments {
		d := &r.deployments[i]
		counts[ownerKey(d.Namespace, "ReplicaSet", d.Name)] += counts[ownerKey(d.Namespace, "Deployment", d.Name)]
	}
	return counts
}

func ownerKey(namespace, kind, name string) string { return kind + " " + namespace + "/" + name }

// workloads returns the workloads of the files.
func (r *reader) workloads() []workload {
	var all []workload
	// Those with fixed pod names come first.
	for i := range r.statefulSets {
		s := &r.statefulSets[i]
		w := workload{
			owner: controller("apps/v1", "StatefulSet", &s.ObjectMeta), meta: &s.ObjectMeta, replicas: replicas(s.Spec.Replicas),
			template: &s.Spec.Template, numbered: true,
			prepare: func(pod *corev1.Pod, number int) { r.prepareStateful(s, pod, number) },
		}
		if s.Spec.Ordinals != nil {
			w.first = int(s.Spec.Ordinals.Start)
		}
		all = append(all, w)
	}
	deployed := map[string]bool{}
	for i := range r.deployments {
		d := &r.deployments[i]
		deployed[d.Namespace+"/"+d.Name] = true
		all = append(
			all,
			workload{
				owner: controller("apps/v1", "ReplicaSet", &d.ObjectMeta), meta: &d.ObjectMeta, replicas: replicas(d.Spec.Replicas),
				template: &d.Spec.Template,
			},
		)
	}
	for i := range r.replicaSets {
		s := &r.replicaSets[i]
		if owner := metav1.GetControllerOf(s); owner != nil && owner.Kind == "Deployment" &&
			deployed[s.Namespace+"/"+owner.Name] {
			continue // the Deployment says how many
		}
		all = append(
			all,
			workload{
				owner: controller("apps/v1", "ReplicaSet", &s.ObjectMeta), meta: &s.ObjectMeta, replicas: replicas(s.Spec.Replicas),
				template: &s.Spec.Template,
			},
		)
	}
	for i := range r.controllers {
		c := &r.controllers[i]
		all = append(all, workload{
			owner: controller("v1", "ReplicationController", &c.ObjectMeta), meta: &c.ObjectMeta,
			replicas: replicas(c.Spec.Replicas), template: c.Spec.Template,
		})
	}
	for i := range r.jobs {
		j := &r.jobs[i]
		all = append(
			all,
			workload{
				owner: controller("batch/v1", "Job", &j.ObjectMeta), meta: &j.ObjectMeta, replicas: parallel(j),
				template: &j.Spec.Template,
			},
		)
	}
	return all
}

func replicas(count *int32) int {
	if count == nil {
		return 1
	}
	return int(*count)
}

// parallel returns how many pods of a Job run at a time.
func parallel(j *batchv1.Job) int {
	if j.Spec.Suspend != nil && *j.Spec.Suspend || j.Status.CompletionTime != nil {
		return 0
	}
	count := replicas(j.Spec.Parallelism)
	if j.Spec.Completions != nil {
		count = min(count, max(int(*j.Spec.Completions)-int(j.Status.Succeeded), 0))
	}
	return count
}

func controller(apiVersion, kind string, meta *metav1.ObjectMeta) metav1.OwnerReference {
	yes := true
	uid := meta.UID
	if uid == "" {
		uid = StableUID(kind, meta.Namespace, meta.Name)
	}
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: meta.Name, UID: uid, Controller: &yes, BlockOwnerDeletion: &yes,
	}
}

// pod returns the common part of the workload's pods. They share its memory.
func (w *workload) pod() corev1.Pod {
	pod := corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.meta.Namespace, Labels: w.template.Labels, Annotations: w.template.Annotations,
			OwnerReferences: []metav1.OwnerReference{w.owner},
		},
		Spec:   *w.template.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	defaultPod(&pod)
	return pod
}

// prepareStateful sets the own labels and volumes of a StatefulSet's pod. It creates missing claims
// from the set's templates.
func (r *reader) prepareStateful(s *appsv1.StatefulSet, pod *corev1.Pod, number int) {
	pod.Labels = maps.Clone(pod.Labels)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel] = pod.Name
	pod.Labels[appsv1.PodIndexLabel] = strconv.Itoa(number)
	var volumes []corev1.Volume
	templates := map[string]bool{}
	for i := range s.Spec.VolumeClaimTemplates {
		claim := s.Spec.VolumeClaimTemplates[i].DeepCopy()
		templates[claim.Name] = true
		name := claim.Name + "-" + pod.Name
		volumes = append(volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
		claim.Name, claim.Namespace = name, s.Namespace
		key := keyOf(*claim, claim.Namespace, name)
		if _, ok := r.seen[key]; !ok {
			r.seen[key] = seen{}
			claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
			r.manifests.PersistentVolumeClaims = append(r.manifests.PersistentVolumeClaims, *claim)
		}
	}
	// A claim template replaces a volume of the same name.
	for _, volume := range pod.Spec.Volumes {
		if !templates[volume.Name] {
			volumes = append(volumes, volume)
		}
	}
	pod.Spec.Volumes = volumes
}

// StableUID returns a UID for an object without one: always the same, in the API server's form.
func StableUID(kind, namespace, name string) types.UID {
	sum := sha256.Sum256([]byte(kind + " " + namespace + "/" + name))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}
