package schedulertest

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Snapshot returns the planner's snapshot of the scenario. It is the same in every run.
//
// The snapshot differs from that of a control plane in one way. There the scheduler has bound the
// pods that existing nodes have room for. Here all pods of the scenario wait.
func (s *Scenario) Snapshot(t testing.TB) *plan.Snapshot {
	t.Helper()
	types := s.instanceTypes(t)
	made := snapshot.Assemble(
		s.objects(t),
		func(*api.NodePool) []catalog.InstanceType { return types }, nil,
		catalogtest.Now,
	)
	made.PreferencePolicy = plan.PreferencePolicy(s.PreferencePolicy)
	return made
}

// objects returns the objects of the scenario as a control plane would store them: with UIDs, and
// with what admission and controllers add to them that matters to the planner.
func (s *Scenario) objects(t testing.TB) *snapshot.Objects {
	t.Helper()
	o := &snapshot.Objects{
		NodePools:      s.NodePools,
		NodeClasses:    []api.EC2NodeClass{*nodeClass()},
		StorageClasses: s.StorageClasses,
		Namespaces:     s.labelledNamespaces(),
	}
	for i := range s.DaemonSets {
		set := s.DaemonSets[i].object()
		set.UID = uidOf("daemonset", set)
		o.DaemonSets = append(o.DaemonSets, *set)
	}
	s.addVolumes(o)
	s.addNodes(t, o)
	for i := range s.Pods {
		for _, pod := range s.Pods[i].expand() {
			s.admit(pod)
			pod.Status.Conditions = []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
			}
			addEphemeralClaims(o, pod)
			o.Pods = append(o.Pods, *pod)
		}
	}
	return o
}

// labelledNamespaces returns the namespaces with the label that the API server gives them.
func (s *Scenario) labelledNamespaces() []corev1.Namespace {
	made := []corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}}
	for i := range s.Namespaces {
		made = append(made, *s.Namespaces[i].DeepCopy())
	}
	for i := range made {
		if made[i].Labels == nil {
			made[i].Labels = map[string]string{}
		}
		made[i].Labels[corev1.LabelMetadataName] = made[i].Name
	}
	return made
}

// addVolumes adds the claims, and the volumes of bound claims.
func (s *Scenario) addVolumes(o *snapshot.Objects) {
	for i := range s.Volumes {
		group := &s.Volumes[i]
		for _, claim := range group.claims() {
			claim.UID = uidOf("claim", claim)
			claim.Status.Phase = corev1.ClaimPending
			if group.bound() {
				claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
				claim.Status.Phase = corev1.ClaimBound
				volume := group.volume(claim)
				volume.Status.Phase = corev1.VolumeBound
				o.PersistentVolumes = append(o.PersistentVolumes, *volume)
			}
			o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, *claim)
		}
	}
}

// addNodes adds the existing nodes with their pods, and with a pod of each DaemonSet that runs
// there.
func (s *Scenario) addNodes(t testing.TB, o *snapshot.Objects) {
	t.Helper()
	o.Nodes = []corev1.Node{*bystander()}
	for i := range s.Nodes {
		node := s.Nodes[i].object()
		node.UID = uidOf("node", node)
		o.Nodes = append(o.Nodes, *node)
		if limits := s.Nodes[i].AttachLimits; len(limits) > 0 {
			o.CSINodes = append(o.CSINodes, *csiNode(node, limits))
		}
		var running []*corev1.Pod
		for j := range s.Nodes[i].Pods {
			running = append(running, s.Nodes[i].Pods[j].expand()...)
		}
		daemons, err := daemonsOf(node, o.DaemonSets)
		if err != nil {
			t.Fatal(err)
		}
		for j := range daemons {
			running = append(running, daemonPod(&daemons[j], node))
		}
		for _, pod := range running {
			s.admit(pod)
			pod.Spec.NodeName = node.Name
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
			o.Pods = append(o.Pods, *pod)
		}
	}
}

// daemonPod returns the DaemonSet's pod for a node.
func daemonPod(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace,
			Name:      set.Name + "-" + node.Name,
			Labels:    set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet")),
			},
		},
		Spec: *set.Spec.Template.Spec.DeepCopy(),
	}
}

// admit gives a pod its UID and what the API server adds. A container requests its limits where it
// has no requests. The RuntimeClass adds its overhead, node selector and tolerations.
func (s *Scenario) admit(pod *corev1.Pod) {
	pod.UID = uidOf("pod", pod)
	pod.Status.Phase = corev1.PodPending
	spec := &pod.Spec
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			requests := maps.Clone(resources.Limits)
			if requests == nil {
				continue
			}
			maps.Copy(requests, resources.Requests)
			resources.Requests = requests
		}
	}
	if spec.RuntimeClassName == nil {
		return
	}
	i := slices.IndexFunc(s.RuntimeClasses, func(c nodev1.RuntimeClass) bool { return c.Name == *spec.RuntimeClassName })
	class := &s.RuntimeClasses[i]
	if class.Overhead != nil {
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling != nil {
		if spec.NodeSelector == nil {
			spec.NodeSelector = map[string]string{}
		}
		maps.Copy(spec.NodeSelector, class.Scheduling.NodeSelector)
		spec.Tolerations = append(spec.Tolerations, class.Scheduling.Tolerations...)
	}
}

// addEphemeralClaims adds the claims that a controller makes for the pod's ephemeral volumes.
func addEphemeralClaims(o *snapshot.Objects, pod *corev1.Pod) {
	for i := range pod.Spec.Volumes {
		ephemeral := pod.Spec.Volumes[i].Ephemeral
		if ephemeral == nil {
			continue
		}
		claim := corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace,
				Name:      pod.Name + "-" + pod.Spec.Volumes[i].Name,
				OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod")),
				},
			},
			Spec: ephemeral.VolumeClaimTemplate.Spec,
		}
		claim.UID = uidOf("claim", &claim)
		claim.Status.Phase = corev1.ClaimPending
		o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, claim)
	}
}

// uidOf returns the UID of an object, which depends on its name alone.
func uidOf(kind string, object metav1.Object) types.UID {
	return types.UID(kind + "/" + object.GetNamespace() + "/" + object.GetName())
}
