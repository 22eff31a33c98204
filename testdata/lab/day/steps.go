package day

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

const (
	class              = "day"
	openPool, fullPool = "open", "full"
	// The class begins with oldImage and has newImage from noon on.
	imageFamily        = "al2023@"
	oldImage, newImage = imageFamily + "v20260923", imageFamily + "v20261028"
	// reclaimAfter is the time from a spot warning to the end. It is a quarter of EC2's: machines boot
	// in a tenth of their time, but a controller's loops take as long as they do on AWS.
	reclaimAfter = 30 * time.Second
)

// act carries out a step and says what it did beyond the step's own text.
func (d *day) act(ctx context.Context, step Step) (string, error) {
	switch step.Kind {
	case Scale:
		return "", d.client.Scale(ctx, namespace, step.Name, step.Count)
	case Rollout:
		return "", d.rollOut(ctx, step.Name)
	case StartJob:
		_, err := d.client.Core.BatchV1().Jobs(namespace).Create(ctx, job(step), metav1.CreateOptions{})
		return "", err
	case Image:
		d.changed = time.Now()
		patch := fmt.Sprintf(`{"spec":{"amiSelectorTerms":[{"alias":%q}]}}`, newImage)
		_, err := d.client.Objects.Resource(api.EC2NodeClassGVR()).Patch(ctx, class, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{})
		return newImage, err
	case Warn:
		return d.warn(step.Draw)
	case Sicken:
		return d.sicken(ctx, step.Draw)
	case Heal:
		return d.heal(ctx)
	}
	return "", fmt.Errorf("step %q is unknown: give it a case in act", step.Kind)
}

// rollOut changes an annotation of a Deployment's template, as `kubectl rollout restart` does.
func (d *day) rollOut(ctx context.Context, name string) error {
	d.rollouts++
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"local.whittle.dev/rollout":%q}}}}}`,
		strconv.Itoa(d.rollouts))
	_, err := d.client.Core.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	return err
}

// job returns the Job of a step. Its workload is the name up to the dash.
func job(step Step) *batchv1.Job {
	pods := int32(step.Count)
	workload, _, _ := strings.Cut(step.Name, "-")
	request := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(step.Processors), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(step.Processors)<<30, resource.BinarySI),
	}
	grace, failures := int64(1), int32(1000)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: step.Name, Namespace: namespace},
		Spec: batchv1.JobSpec{
			// A pod that goes with its node has failed, and runs again.
			Parallelism: &pods, Completions: &pods, BackoffLimit: &failures,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      map[string]string{appLabel: workload},
					Annotations: map[string]string{kubelet.RunFor: step.Runs.String()},
				},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
					NodeSelector: map[string]string{class: openPool},
					Containers: []corev1.Container{{
						Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{Requests: request},
					}},
				},
			},
		},
	}
}

// warn warns a spot instance and reclaims it.
func (d *day) warn(draw uint64) (string, error) {
	spot := slices.DeleteFunc(d.world.EC2.Instances(), func(i ec2.Instance) bool {
		return i.CapacityType != ec2.Spot || i.State != ec2.Running
	})
	if len(spot) == 0 {
		return "nothing: there is no spot instance", nil
	}
	id := spot[draw%uint64(len(spot))].ID
	return id, d.world.Interrupt(id, reclaimAfter)
}

// sicken marks a node as not ready, as its kubelet does while the container runtime hangs.
func (d *day) sicken(ctx context.Context, draw uint64) (string, error) {
	nodes, err := d.client.Nodes(ctx)
	if err != nil {
		return "", err
	}
	nodes = slices.DeleteFunc(nodes, func(node corev1.Node) bool {
		return node.Labels[class] != openPool || node.DeletionTimestamp != nil || node.Spec.Unschedulable || !readyNode(&node)
	})
	if len(nodes) == 0 {
		return "nothing: there is no node that is ready", nil
	}
	d.sick = nodes[draw%uint64(len(nodes))].Name
	return d.sick, d.setReady(ctx, corev1.ConditionFalse)
}

func readyNode(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}

// heal marks the unhealthy node and its pods as ready. The node controller marked the pods as not
// ready, and a kubelet repeats its pods' statuses.
func (d *day) heal(ctx context.Context) (string, error) {
	if d.sick == "" {
		return "nothing: no node was unhealthy", nil
	}
	err := d.setReady(ctx, corev1.ConditionTrue)
	if apierrors.IsNotFound(err) {
		return d.sick + " is gone", nil
	}
	if err != nil {
		return "", err
	}
	pods, err := d.client.Pods(ctx, namespace, "")
	if err != nil {
		return "", err
	}
	for i := range pods {
		if pods[i].Spec.NodeName != d.sick || pods[i].Status.Phase != corev1.PodRunning {
			continue
		}
		patch, err := conditionPatch(string(corev1.PodReady), corev1.ConditionTrue, "KubeletReady")
		if err != nil {
			return "", err
		}
		_, err = d.client.Core.CoreV1().Pods(namespace).Patch(ctx, pods[i].Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("marking pod %q as ready: %w", pods[i].Name, err)
		}
	}
	return d.sick, nil
}

// setReady sets the condition Ready of the unhealthy node.
func (d *day) setReady(ctx context.Context, status corev1.ConditionStatus) error {
	patch, err := conditionPatch(string(corev1.NodeReady), status, "ContainerRuntime")
	if err != nil {
		return err
	}
	_, err = d.client.Core.CoreV1().Nodes().Patch(ctx, d.sick, types.StrategicMergePatchType, patch, metav1.PatchOptions{},
		"status")
	return err
}

// conditionPatch is a patch of one condition of a node's or a pod's status.
func conditionPatch(condition string, status corev1.ConditionStatus, reason string) ([]byte, error) {
	return json.Marshal(map[string]any{"status": map[string]any{"conditions": []map[string]any{{
		"type": condition, "status": status, "reason": reason, "lastTransitionTime": metav1.Now(),
	}}}})
}
