package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/api"
)

// pollEvery is the interval at which conditions are checked.
const pollEvery = 100 * time.Millisecond

// Client does in a cluster what a person does with kubectl.
type Client struct {
	Core    kubernetes.Interface
	Objects dynamic.Interface
}

// NewClient connects with the configuration.
func NewClient(config *rest.Config) (*Client, error) {
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	return &Client{Core: core, Objects: objects}, err
}

// Manifest reads a manifest and replaces each ${NAME} by a variable.
func Manifest(file string, variables map[string]string) (string, error) {
	content, err := os.ReadFile(file)
	return os.Expand(string(content), func(name string) string { return variables[name] }), err
}

// Apply writes each object of a manifest as `kubectl apply --server-side` does. It replaces each
// ${NAME} by a variable.
func (c *Client) Apply(ctx context.Context, file string, variables map[string]string) error {
	text, err := Manifest(file, variables)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		var object unstructured.Unstructured
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		_, err = c.Objects.Resource(resourceOf(&object)).Namespace(object.GetNamespace()).
			Apply(ctx, object.GetName(), &object, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		if err != nil {
			return fmt.Errorf("%s: applying %s %q: %w", file, object.GetKind(), object.GetName(), err)
		}
	}
}

// resourceOf is the resource of a kind. Two rules form the plurals of the scenarios' kinds.
func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	kind := object.GroupVersionKind()
	plural := strings.ToLower(kind.Kind) + "s"
	if strings.HasSuffix(kind.Kind, "ss") {
		plural = strings.ToLower(kind.Kind) + "es"
	}
	return kind.GroupVersion().WithResource(plural)
}

// Scale sets the replicas of a Deployment.
func (c *Client) Scale(ctx context.Context, namespace, name string, replicas int) error {
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	_, err := c.Core.AppsV1().Deployments(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	return err
}

// Pods lists the pods of a label selector in a namespace ("" for all).
func (c *Client) Pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := c.Core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Nodes lists the nodes.
func (c *Client) Nodes(ctx context.Context) ([]corev1.Node, error) {
	list, err := c.Core.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// NodeClaims lists the node claims.
func (c *Client) NodeClaims(ctx context.Context) ([]api.NodeClaim, error) {
	return list[api.NodeClaim](ctx, c, nodeClaims())
}

// list lists objects of the cluster.
func list[T any](ctx context.Context, c *Client, resource schema.GroupVersionResource) ([]T, error) {
	listed, err := c.Objects.Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	objects := make([]T, len(listed.Items))
	for i := range listed.Items {
		if objects[i], err = decoded[T](&listed.Items[i]); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

func decoded[T any](object *unstructured.Unstructured) (T, error) {
	var typed T
	encoded, err := object.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(encoded, &typed)
	}
	return typed, err
}

func nodeClaims() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
}

// Until waits for a condition. The text names it in the error.
func Until(ctx context.Context, limit time.Duration, what string,
	condition func(context.Context) (done bool, state string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	last := "nothing was seen"
	for {
		done, state, err := condition(ctx)
		if err == nil && done {
			return nil
		}
		if err == nil {
			last = state
		} else if ctx.Err() == nil {
			last = err.Error()
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %s", limit, what, last)
		}
	}
}

// Running reports whether count pods of the selector run, all on existing nodes.
func (c *Client) Running(namespace, selector string, count int) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		pods, err := c.Pods(ctx, namespace, selector)
		if err != nil {
			return false, "", err
		}
		running, others := 0, map[string]int{}
		for i := range pods {
			switch {
			case pods[i].DeletionTimestamp != nil:
				others["ending"]++
			case pods[i].Status.Phase == corev1.PodRunning && ready(&pods[i]):
				running++
			default:
				others[string(pods[i].Status.Phase)]++
			}
		}
		return running == count && len(others) == 0, fmt.Sprintf("%d running, others %v", running, others), nil
	}
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
