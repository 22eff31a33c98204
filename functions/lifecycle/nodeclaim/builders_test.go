package nodeclaim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const providerID = "aws:///us-east-1a/i-1"

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// claim was created a minute ago, and its instance launched ten seconds later.
func claim(change ...func(*api.NodeClaim)) *api.NodeClaim {
	made := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "default-abc", UID: "claim-uid", ResourceVersion: "7", CreationTimestamp: ago(time.Minute),
		Finalizers: []string{api.TerminationFinalizer},
		Labels: map[string]string{api.NodePoolLabelKey: "default", corev1.LabelInstanceTypeStable: "m5.large",
			api.LabelInstanceID: "i-1"},
		Annotations: map[string]string{api.AttemptAnnotationKey: "1", api.NodePoolHashAnnotationKey: "h"},
	}}
	made.Spec.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	made.Spec.StartupTaints = []corev1.Taint{{Key: "cni", Effect: corev1.TaintEffectNoSchedule}}
	made.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{"r1"}},
		{Key: "colour", Operator: corev1.NodeSelectorOpIn, Values: []string{"red", "blue"}},
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"planned-name"}},
	}
	made.Status.ProviderID = providerID
	with(api.ConditionTypeLaunched, metav1.ConditionTrue, 50*time.Second)(made)
	for _, f := range change {
		f(made)
	}
	return made
}

// with gives the claim a condition that changed some time ago.
func with(kind string, status metav1.ConditionStatus, since time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		api.RemoveCondition(&c.Status.Conditions, kind)
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: kind,
			LastTransitionTime: ago(since)})
	}
}

func age(d time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) { c.CreationTimestamp = ago(d) }
}

// classed gives the claim its EC2NodeClass.
func classed(c *api.NodeClaim) {
	c.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
}

func unlaunched(c *api.NodeClaim) { c.Status = api.NodeClaimStatus{} }

func registered(c *api.NodeClaim) {
	with(api.ConditionTypeRegistered, metav1.ConditionTrue, 20*time.Second)(c)
	c.Status.NodeName = "node-1"
}

func initialized(c *api.NodeClaim) {
	registered(c)
	with(api.ConditionTypeInitialized, metav1.ConditionTrue, 10*time.Second)(c)
	with(api.ConditionReady, metav1.ConditionTrue, 10*time.Second)(c)
	with(api.ConditionTypeConsistentStateFound, metav1.ConditionTrue, 10*time.Second)(c)
}

// tagged marks the claim's instance as tagged.
func tagged(c *api.NodeClaim) {
	c.Annotations[api.AnnotationInstanceTagged], c.Annotations[api.AnnotationClusterNameTagged] = "true", "true"
}

func deleted(since time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) { at := ago(since); c.DeletionTimestamp = &at }
}

func grace(d time.Duration) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) { c.Spec.TerminationGracePeriod = &metav1.Duration{Duration: d} }
}

func departs(ahead time.Duration, because string) func(*api.NodeClaim) {
	return func(c *api.NodeClaim) {
		c.Annotations[disruption.DepartsAtAnnotationKey] = now.Add(ahead).Format(time.RFC3339)
		c.Annotations[disruption.DepartsBecauseAnnotationKey] = because
	}
}

// node has joined with the taint that it registers with.
func node(change ...func(*corev1.Node)) *corev1.Node {
	made := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "node-uid", ResourceVersion: "3",
		Labels: map[string]string{"own": "label"}}}
	made.Spec.ProviderID = providerID
	made.Spec.Taints = []corev1.Taint{api.UnregisteredNoExecuteTaint()}
	made.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	made.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1900m")}
	for _, f := range change {
		f(made)
	}
	return made
}

func ready(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
}

// joined has been registered.
func joined(n *corev1.Node) {
	ready(n)
	n.Labels[api.NodeRegisteredLabelKey] = "true"
	n.Labels[api.NodePoolLabelKey] = "default"
	n.Finalizers = []string{api.TerminationFinalizer}
	n.Spec.Taints = nil
}

func marked(n *corev1.Node) {
	n.Labels[api.LabelExcludeFromLoadBalancers] = api.ExcludeFromLoadBalancersValue
	n.Spec.Taints = append(n.Spec.Taints, api.DisruptedNoScheduleTaint())
}

func notReadyNode(n *corev1.Node) { n.Status.Conditions = nil }

func nodeDeleted(n *corev1.Node) { at := ago(time.Second); n.DeletionTimestamp = &at }

func nodeTaint(taint corev1.Taint) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint) }
}

func instance(state string) Instance {
	return Instance{ID: "i-1", Zone: "us-east-1a", State: state, LaunchTime: now.Add(-50 * time.Second),
		Tags: map[string]string{api.NodeClaimTagKey: "default-abc", api.EKSClusterNameTagKey: "prod",
			api.NodePoolTagKey: "default", api.ClusterTagKey("prod"): api.ClusterTagOwned}}
}

// absent is a view whose instance EC2, asked by its id, does not know.
func absent(v View) View {
	v.InstancesListed, v.Instances, v.Absent = true, nil, true
	return v
}

// stripped is an instance without the tag.
func stripped(i Instance, key string) Instance {
	delete(i.Tags, key)
	return i
}

func named(i Instance) Instance { i.Tags[api.NameTagKey] = "node-1"; return i }

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "pod"}}
	made.Spec.NodeName, made.Status.Phase = "node-1", corev1.PodRunning
	for _, f := range change {
		f(made)
	}
	return made
}

func ownedBy(kind string) func(*corev1.Pod) {
	yes := true
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "owner", Controller: &yes}}
	}
}

func critical(p *corev1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" }

func protected(p *corev1.Pod) {
	p.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
}

func endingSince(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { at := ago(d); p.DeletionTimestamp = &at }
}

func tolerant(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func podGrace(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// actions lists the steps, one a line, without events and log lines.
func actions(steps []Step) string {
	var lines []string
	for _, step := range steps {
		switch step := step.(type) {
		case PatchNode:
			lines = append(lines, "patch node "+keys(step.Patch))
		case PatchClaim:
			lines = append(lines, "patch claim "+keys(step.Patch))
		case PatchClaimStatus:
			lines = append(lines, "patch status")
		case DeleteClaim:
			lines = append(lines, "delete claim")
		case DeleteNode:
			lines = append(lines, "delete node")
		case Evict:
			lines = append(lines, "evict "+step.Pod.Name)
		case DeletePod:
			lines = append(lines, fmt.Sprintf("delete pod %s %ds", step.Pod.Name, step.GraceSeconds))
		case RequireHalted:
			lines = append(lines, "require halted "+step.InstanceID)
		case Terminate:
			lines = append(lines, "terminate "+step.InstanceID)
		case Reboot:
			lines = append(lines, "reboot "+step.InstanceID)
		case Tag:
			lines = append(lines, "tag "+strings.Join(slices.Sorted(maps.Keys(step.Tags)), ","))
		}
	}
	return strings.Join(lines, "\n")
}

// keys lists the fields of a patch.
func keys(patch map[string]any) string {
	var list []string
	for key, value := range patch {
		for inner := range value.(map[string]any) {
			if inner != "resourceVersion" {
				list = append(list, key+"."+inner)
			}
		}
	}
	slices.Sort(list)
	short := strings.NewReplacer("metadata.", "", "spec.", "")
	return short.Replace(strings.Join(list, ","))
}

// events lists the kinds and reasons of the events.
func events(steps []Step) string {
	var list []string
	for _, step := range steps {
		if record, ok := step.(Record); ok {
			list = append(list, record.About.Kind+" "+record.Reason)
		}
	}
	return strings.Join(list, ",")
}

// condition is the status and reason of a condition that a step writes.
func condition(steps []Step, kind string) string {
	for _, step := range steps {
		patch, ok := step.(PatchClaimStatus)
		if !ok {
			continue
		}
		conditions, _ := patch.Patch["status"].(map[string]any)["conditions"].([]metav1.Condition)
		if found := api.GetCondition(conditions, kind); found != nil {
			return string(found.Status) + " " + found.Reason
		}
	}
	return ""
}
