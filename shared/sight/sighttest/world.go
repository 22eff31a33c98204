// Package sighttest makes random clusters in an API server, and asks the command line about them. Tests
// compare its answers with what functions decide about the same cluster.
//
// Its place: it is test support, for the tests of functions that plan.
package sighttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
)

// World is a random cluster in an API server. The pool and the class named default are the caller's.
type World struct {
	random *rand.Rand
	client *http.Client
	url    string
	made   []string // paths of objects, to be deleted
	seed   uint64   // is part of the names of volumes, which end slowly

	// Zones and Types are those that the caller's catalogue has.
	Zones, Types []string
	// Waiting are the names of the pods that wait, in the namespace default.
	Waiting []string
}

// New returns a world without objects. The configuration is that of an administrator. Equal seeds make
// equal worlds.
func New(config *rest.Config, seed uint64, zones, types []string) (*World, error) {
	client, err := rest.HTTPClientFor(config)
	return &World{
		random: rand.New(rand.NewPCG(seed, seed)), client: client, url: config.Host, seed: seed,
		Zones: zones, Types: types,
	}, err
}

// Create makes the cluster: a second pool, nodes with pods, volumes, namespaces, disruption budgets, and
// pods that wait.
func (w *World) Create(ctx context.Context) error {
	for _, step := range []func(context.Context) error{w.pool, w.volumes, w.namespaces, w.nodes, w.waiting} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes everything that the world has made, the last first.
func (w *World) Delete(ctx context.Context) {
	for i := len(w.made) - 1; i >= 0; i-- {
		none := map[string]any{"metadata": map[string]any{"finalizers": nil}}
		_ = w.send(ctx, http.MethodPatch, w.made[i], none)
		_ = w.send(ctx, http.MethodDelete, w.made[i], map[string]any{
			"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
		})
	}
	w.made = nil
}

// Export returns a List of the world's objects and of further ones, as manifests. Paths are those of the
// further objects.
func (w *World) Export(ctx context.Context, paths ...string) ([]byte, error) {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	var items []any
	for _, path := range append(paths, w.made...) {
		var object map[string]any
		if err := w.get(ctx, path, &object); err != nil {
			return nil, err
		}
		items = append(items, object)
	}
	list["items"] = items
	return json.Marshal(list)
}

func (w *World) get(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, nil)
	if err != nil {
		return err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// create creates an object, and then its status where it has one.
func (w *World) create(ctx context.Context, collection, name string, object, status any) error {
	if err := w.send(ctx, http.MethodPost, collection, object); err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	path := collection + "/" + name
	w.made = append(w.made, path)
	if status == nil {
		return nil
	}
	return w.send(ctx, http.MethodPatch, path+"/status", map[string]any{"status": status})
}

func (w *World) send(ctx context.Context, method, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s", method, path, text)
	}
	return nil
}

func (w *World) zone() string { return w.Zones[w.random.IntN(len(w.Zones))] }

// in reports one time in a number.
func (w *World) in(number int) bool { return w.random.IntN(number) == 0 }

// pool makes a second pool with limits, a weight and disruption settings of its own.
func (w *World) pool(ctx context.Context) error {
	made := &api.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "batch", Annotations: map[string]string{settings.SettleTimeAnnotationKey: "0s"}},
	}
	made.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default",
	}
	made.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{{
		Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn,
		Values: [][]string{{"on-demand"}, {"spot", "on-demand"}}[w.random.IntN(2)],
	}}
	made.Spec.Weight = new(int32(1 + w.random.IntN(20)))
	cores := resource.NewQuantity(int64(4+w.random.IntN(40)), resource.DecimalSI)
	made.Spec.Limits = api.Limits{corev1.ResourceCPU: *cores}
	made.Spec.Disruption.ConsolidationPolicy = []api.ConsolidationPolicy{
		api.ConsolidationPolicyWhenEmpty, api.ConsolidationPolicyWhenEmptyOrUnderutilized,
	}[w.random.IntN(2)]
	made.Spec.Disruption.Budgets = []api.Budget{{Nodes: []string{"100%", "1", "0"}[w.random.IntN(3)]}}
	made.Default()
	return w.create(ctx, api.NodePoolsPath, made.Name, made, nil)
}

// volumesOf is how many claims of volumes there are for each state: bound in a zone, and waiting for a pod.
const volumesOf = 4

// claim is the name of a claim of a volume.
func (w *World) claim(number int) string { return fmt.Sprintf("data-%d-%d", w.seed, number) }

// volumes makes a storage class, volumes with their claims, and claims without a volume.
func (w *World) volumes(ctx context.Context) error {
	const collection = "/api/v1/namespaces/default/persistentvolumeclaims"
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "ebs"}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &late,
	}
	if err := w.create(ctx, "/apis/storage.k8s.io/v1/storageclasses", "ebs", class, nil); err != nil {
		return err
	}
	room := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	for i := range 2 * volumesOf {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: w.claim(i)}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.StorageClassName, claim.Spec.Resources.Requests = &class.Name, room
		if i >= volumesOf {
			if err := w.create(ctx, collection, claim.Name, claim, nil); err != nil {
				return err
			}
			continue
		}
		claim.Spec.VolumeName = claim.Name
		volume := w.volume(claim, room)
		if err := w.create(ctx, "/api/v1/persistentvolumes", volume.Name, volume, nil); err != nil {
			return err
		}
		if err := w.create(ctx, collection, claim.Name, claim, map[string]any{"phase": corev1.ClaimBound}); err != nil {
			return err
		}
	}
	return nil
}

// volume is the claim's volume in one of the zones.
func (w *World) volume(claim *corev1.PersistentVolumeClaim, room corev1.ResourceList) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Name}}
	volume.Spec.AccessModes, volume.Spec.Capacity = claim.Spec.AccessModes, room
	volume.Spec.StorageClassName = *claim.Spec.StorageClassName
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: claim.Name}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: claim.Name}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{w.Zones[0]},
		}}}},
	}}
	return volume
}

// namespaces makes a namespace with a label, and a disruption budget.
func (w *World) namespaces(ctx context.Context) error {
	team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"team": "a"}}}
	if err := w.send(ctx, http.MethodPost, "/api/v1/namespaces", team); err != nil && w.Waiting != nil {
		return err // a namespace ends slowly, so that worlds share it
	}
	most := intstr.FromInt32(int32(w.random.IntN(3)))
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	budget.Spec.MaxUnavailable = &most
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return w.create(ctx, "/apis/policy/v1/namespaces/default/poddisruptionbudgets", "web", budget, nil)
}

// nodes makes initialized nodes with their claims and pods.
func (w *World) nodes(ctx context.Context) error {
	for i := range 3 + w.random.IntN(4) {
		name, pool := fmt.Sprint("node-", i), []string{"default", "batch"}[w.random.IntN(2)]
		labels := map[string]string{
			api.NodePoolLabelKey: pool, corev1.LabelInstanceTypeStable: w.Types[w.random.IntN(len(w.Types))],
			corev1.LabelTopologyZone: w.zone(), corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			api.CapacityTypeLabelKey:   api.CapacityTypeOnDemand,
			api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true", corev1.LabelHostname: name,
		}
		if err := w.node(ctx, name, labels); err != nil {
			return err
		}
		for j := range 1 + w.random.IntN(3) {
			if err := w.pod(ctx, fmt.Sprintf("runs-%d-%d", i, j), name); err != nil {
				return err
			}
		}
	}
	return nil
}

// node makes a node of four cores and its claim.
func (w *World) node(ctx context.Context, name string, labels map[string]string) error {
	id := api.ProviderID(labels[corev1.LabelTopologyZone], "i-"+name)
	supply := map[string]string{"cpu": "4", "memory": "16Gi", "pods": "29"}
	claim := &api.NodeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{Name: "claim-" + name, Labels: labels, Finalizers: []string{api.TerminationFinalizer}},
	}
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	var conditions []metav1.Condition
	for _, of := range []string{
		api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized, api.ConditionTypeConsolidatable,
	} {
		conditions = append(conditions, metav1.Condition{
			Type: of, Status: metav1.ConditionTrue, Reason: of, LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
		})
	}
	if err := w.create(ctx, api.NodeClaimsPath, claim.Name, claim, map[string]any{
		"providerID": id, "nodeName": name, "capacity": supply, "allocatable": supply, "conditions": conditions,
	}); err != nil {
		return err
	}
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	made.Spec.ProviderID = id
	if err := w.create(ctx, "/api/v1/nodes", name, made, map[string]any{
		"capacity": supply, "allocatable": supply, "conditions": []map[string]any{{
			"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": metav1.Now(),
			"lastTransitionTime": metav1.NewTime(time.Now().Add(-time.Hour)),
		}},
	}); err != nil {
		return err
	}
	return w.send(ctx, http.MethodPatch, "/api/v1/nodes/"+name, map[string]any{"spec": map[string]any{"taints": nil}})
}

// waiting makes pods that the scheduler found no node for.
func (w *World) waiting(ctx context.Context) error {
	for i := range 4 + w.random.IntN(10) {
		name := fmt.Sprint("waits-", i)
		w.Waiting = append(w.Waiting, name)
		if err := w.pod(ctx, name, ""); err != nil {
			return err
		}
	}
	return nil
}

// pod makes a pod that runs on the node, or waits without one. Its scheduler does not exist, so that
// nothing else moves it.
func (w *World) pod(ctx context.Context, name, node string) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"app": []string{"web", "db", "batch"}[w.random.IntN(3)]},
	}}
	pod.Spec.SchedulerName, pod.Spec.NodeName = "none", node
	cores := int64(100 + w.random.IntN(900))
	if node == "" {
		cores *= 3 // pods that wait need more than the nodes have
	}
	pod.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(cores, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(1+w.random.IntN(2000))<<20, resource.BinarySI),
		}},
	}}
	w.constrain(pod)
	status := map[string]any{"phase": "Running", "startTime": metav1.NewTime(time.Now().Add(-time.Hour))}
	if node == "" {
		status = map[string]any{"phase": "Pending", "conditions": []map[string]any{{
			"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
			"lastTransitionTime": metav1.NewTime(time.Now().Add(-time.Hour)),
		}}}
	}
	return w.create(ctx, "/api/v1/namespaces/default/pods", name, pod, status)
}

// Gang is the name of the PodGroup of some of the pods that wait. The kind is the caller's.
const Gang = "gang"

// constrain gives some pods a volume, an affinity, a spread, a PodGroup, or more than any node has.
func (w *World) constrain(pod *corev1.Pod) {
	same := &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod.Labels["app"]}}
	switch w.random.IntN(8) {
	case 0, 1:
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: w.claim(w.random.IntN(2*volumesOf + 1)), // the last does not exist
			},
		}}}
	case 2:
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: same, TopologyKey: corev1.LabelHostname,
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
			}},
		}}
	case 3:
		otherwise := corev1.DoNotSchedule
		if w.in(2) {
			otherwise = corev1.ScheduleAnyway
		}
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, LabelSelector: same, WhenUnsatisfiable: otherwise,
		}}
	case 4:
		pod.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
	case 5:
		if pod.Spec.NodeName == "" && w.in(2) {
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("500")
		}
	case 6:
		if pod.Spec.NodeName == "" {
			pod.Labels[api.PodGroupLabelKey] = Gang
		}
	}
}
