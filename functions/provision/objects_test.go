package provision

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
)

func nodePool(name, class string, change func(spec map[string]any)) *unstructured.Unstructured {
	spec := map[string]any{
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": class},
			"requirements": []any{
				map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"spot", "on-demand"}},
			},
		}},
	}
	if change != nil {
		change(spec)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func nodeClass(name string, change func(spec map[string]any)) *unstructured.Unstructured {
	byTag := []any{map[string]any{"tags": map[string]any{"karpenter.sh/discovery": clusterName}}}
	spec := map[string]any{
		"role":                       "nodes",
		"amiSelectorTerms":           []any{map[string]any{"alias": "al2023@latest"}},
		"subnetSelectorTerms":        byTag,
		"securityGroupSelectorTerms": byTag,
	}
	if change != nil {
		change(spec)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// resources are the kinds that a test makes, with their paths.
func resources() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{
		"NodePool":     {Group: "karpenter.sh", Version: "v1", Resource: "nodepools"},
		"NodeClaim":    {Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"},
		"NodeOverlay":  {Group: "karpenter.sh", Version: "v1alpha1", Resource: "nodeoverlays"},
		"EC2NodeClass": {Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"},
	}
}

func (e *environment) objects(kind string) dynamic.NamespaceableResourceInterface {
	client, err := dynamic.NewForConfig(unlimited())
	e.try(err)
	return client.Resource(resources()[kind])
}

func (e *environment) apply(object *unstructured.Unstructured) {
	e.t.Helper()
	_, err := e.objects(object.GetKind()).Apply(
		e.t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "test", Force: true})
	e.try(err)
}

// clear leaves the cluster as it was found, whatever holds its objects.
func (e *environment) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	zero := int64(0)
	_ = e.core.CoreV1().Pods("default").DeleteCollection(
		ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{})
	_ = e.core.CoreV1().Events("default").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	_ = e.core.CoordinationV1().Leases("whittle-system").DeleteCollection(
		ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	_ = e.core.CoreV1().ConfigMaps("whittle-system").Delete(ctx, "whittle-unavailable-offerings", metav1.DeleteOptions{})
	for kind := range resources() {
		list, err := e.objects(kind).List(ctx, metav1.ListOptions{})
		if err != nil {
			e.t.Error(err)
			continue
		}
		for _, object := range list.Items {
			_, err := e.objects(kind).Patch(
				ctx, object.GetName(), "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{})
			if err == nil {
				err = e.objects(kind).Delete(ctx, object.GetName(), metav1.DeleteOptions{})
			}
			if err != nil && !apierrors.IsNotFound(err) {
				e.t.Error(err)
			}
		}
	}
	e.cleared(ctx)
}

// cleared waits until the lists that the function reads are empty too.
func (e *environment) cleared(ctx context.Context) {
	for {
		pods, first := e.client.UnboundPods(ctx)
		pools, second := e.client.NodePools(ctx)
		classes, third := e.client.NodeClasses(ctx)
		overlays, fourth := e.client.NodeOverlays(ctx)
		claims, fifth := e.client.CachedNodeClaims(ctx)
		if err := errors.Join(first, second, third, fourth, fifth); err != nil {
			e.t.Error(err)
			return
		}
		if len(pods)+len(pools)+len(classes)+len(overlays)+len(claims) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// selecting makes a pod that wants a label of its node.
func selecting(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{key: value} }
}

// forgetTemplates deletes all launch templates behind the function's back.
func (e *environment) forgetTemplates() {
	e.t.Helper()
	client := awsec2.NewFromConfig(e.config)
	listed, err := client.DescribeLaunchTemplates(e.t.Context(), &awsec2.DescribeLaunchTemplatesInput{})
	e.try(err)
	if len(listed.LaunchTemplates) == 0 {
		e.t.Fatal("there is no launch template")
	}
	for _, template := range listed.LaunchTemplates {
		_, err := client.DeleteLaunchTemplate(
			e.t.Context(), &awsec2.DeleteLaunchTemplateInput{LaunchTemplateId: template.LaunchTemplateId})
		e.try(err)
	}
}
