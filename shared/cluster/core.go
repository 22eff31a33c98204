package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/cluster/lean"
)

const podsPath = "/api/v1/pods"

// UnboundPods lists the pending pods without a node.
func (c *Client) UnboundPods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.list(ctx, podsPath, &list, "fieldSelector", "spec.nodeName=,status.phase=Pending")
	return list.Items, err
}

// Pods lists every pod of the cluster, with what functions read of it: see package lean. The pods
// share memory, so that nobody may change one in place.
func (c *Client) Pods(ctx context.Context) ([]corev1.Pod, error) { return read(ctx, c, podKind(c)) }

func podKind(c *Client) kind[corev1.Pod] {
	return kind[corev1.Pod]{
		path: podsPath, accept: protobufOrJSON, slot: func(cache *Cache) *slot[corev1.Pod] { return &cache.pods },
		identity: func(pod *corev1.Pod) *metav1.ObjectMeta { return &pod.ObjectMeta },
		size:     func(pod *corev1.Pod, _ int) int { return int(unsafe.Sizeof(*pod)) + pod.Size() },
		decoder: func() decoding[corev1.Pod] {
			decoder := lean.NewPodDecoder()
			asJSON := builtIn(c, &corev1.PodList{}, func(page *corev1.PodList) []corev1.Pod { return page.Items })
			return func(body []byte) ([]corev1.Pod, metav1.ListMeta, error) {
				if lean.IsProtobuf(body) {
					return decoder.Page(body)
				}
				return asJSON(body)
			}
		},
	}
}

// PodsVersion returns the present resourceVersion of the cluster's pods, for PodsOnNode.
func (c *Client) PodsVersion(ctx context.Context) (string, error) {
	var list corev1.PodList
	err := c.list(ctx, podsPath, &list, "resourceVersion", "", "limit", "1")
	return list.ResourceVersion, err
}

// PodsOnNode lists the pods that are bound to the node, as they were at the version or later. An
// empty version means now. A drain that misses a pod would terminate the instance under it. For
// many nodes a version of PodsVersion saves time. A list without a version waits up to 100 ms until
// the watch cache is up to date.
func (c *Client) PodsOnNode(ctx context.Context, node, version string) ([]corev1.Pod, error) {
	parameters := []string{"fieldSelector", "spec.nodeName=" + node, "resourceVersion", version}
	if version != "" {
		parameters = append(parameters, "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	var list corev1.PodList
	err := c.list(ctx, podsPath, &list, parameters...)
	return list.Items, err
}

// PodsSelected lists the pods of a namespace that a label selector matches.
func (c *Client) PodsSelected(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.list(ctx, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods", &list, "labelSelector", selector)
	return list.Items, err
}

// Nodes lists every node, without managedFields and images, which are most of its size. It does not
// use the watch cache: the instance of a node that is not listed would be terminated without a
// drain. Nodes may share memory with those of later calls, so that nobody may change a node's maps,
// slices and pointers in place.
func (c *Client) Nodes(ctx context.Context) ([]corev1.Node, error) { return read(ctx, c, nodeKind(c)) }

func nodeKind(c *Client) kind[corev1.Node] {
	return kind[corev1.Node]{
		path: "/api/v1/nodes", accept: protobufOrJSON, slot: func(cache *Cache) *slot[corev1.Node] { return &cache.nodes },
		identity: func(node *corev1.Node) *metav1.ObjectMeta { return &node.ObjectMeta },
		size:     func(node *corev1.Node, _ int) int { return int(unsafe.Sizeof(*node)) + 3*node.Size() },
		again: &cutting[corev1.Node]{
			read: func(cache *Cache) *map[string]*readObject[corev1.Node] { return &cache.nodesRead },
			cut: func(body []byte) (meta metav1.ListMeta, items [][]byte, ok bool) {
				meta, err := lean.Items(body, func(item []byte) { items = append(items, item) })
				return meta, items, err == nil
			},
			decode: lean.Node,
		},
		decoder: func() decoding[corev1.Node] {
			asJSON := builtIn(c, &corev1.NodeList{}, func(page *corev1.NodeList) []corev1.Node {
				for i := range page.Items {
					page.Items[i].Status.Images = nil
				}
				return page.Items
			})
			return func(body []byte) ([]corev1.Node, metav1.ListMeta, error) {
				if lean.IsProtobuf(body) {
					return lean.Nodes(body)
				}
				return asJSON(body)
			}
		},
	}
}

// Node reads one node. It returns IsGone when there is none. A cached node may be a moment old; a
// patch with its resourceVersion then returns a conflict.
func (c *Client) Node(ctx context.Context, name string, cached bool) (*corev1.Node, error) {
	request := c.rest.Get().AbsPath("/api/v1/nodes/" + url.PathEscape(name))
	if cached && !c.consistent {
		request = request.Param(versionParameter, cachedVersion)
	}
	node := &corev1.Node{}
	if err := request.Do(ctx).Into(node); err != nil {
		return nil, fmt.Errorf("reading node %q: %w", name, err)
	}
	return node, nil
}

// NodeNow reads one node as it is now, by the right to list nodes. It returns IsGone when there is none.
func (c *Client) NodeNow(ctx context.Context, name string) (*corev1.Node, error) {
	var list corev1.NodeList
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	if err := c.list(ctx, "/api/v1/nodes", &list, "fieldSelector", selector, versionParameter, ""); err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return &list.Items[0], nil
}

// Namespaces lists every namespace.
func (c *Client) Namespaces(ctx context.Context) ([]corev1.Namespace, error) {
	var list corev1.NamespaceList
	err := c.list(ctx, "/api/v1/namespaces", &list)
	return list.Items, err
}

// DaemonSets lists every daemon set.
func (c *Client) DaemonSets(ctx context.Context) ([]appsv1.DaemonSet, error) {
	var list appsv1.DaemonSetList
	err := c.list(ctx, "/apis/apps/v1/daemonsets", &list)
	return list.Items, err
}

// LimitRanges lists the defaults of every namespace for the resources of containers.
func (c *Client) LimitRanges(ctx context.Context) ([]corev1.LimitRange, error) {
	var list corev1.LimitRangeList
	err := c.list(ctx, "/api/v1/limitranges", &list)
	return list.Items, err
}

// ResourceQuotas lists the quotas of every namespace.
func (c *Client) ResourceQuotas(ctx context.Context) ([]corev1.ResourceQuota, error) {
	var list corev1.ResourceQuotaList
	err := c.list(ctx, "/api/v1/resourcequotas", &list)
	return list.Items, err
}

// PodDisruptionBudgets lists every disruption budget.
func (c *Client) PodDisruptionBudgets(ctx context.Context) ([]policyv1.PodDisruptionBudget, error) {
	var list policyv1.PodDisruptionBudgetList
	err := c.list(ctx, "/apis/policy/v1/poddisruptionbudgets", &list)
	return list.Items, err
}

// VolumeAttachments lists the attachments of volumes to nodes.
func (c *Client) VolumeAttachments(ctx context.Context) ([]storagev1.VolumeAttachment, error) {
	var list storagev1.VolumeAttachmentList
	err := c.list(ctx, "/apis/storage.k8s.io/v1/volumeattachments", &list)
	return list.Items, err
}

// ClusterDNS returns the address of the kube-dns service, or "" when the cluster has none.
func (c *Client) ClusterDNS(ctx context.Context) (string, error) {
	var service corev1.Service
	err := c.rest.Get().AbsPath("/api/v1/namespaces/kube-system/services/kube-dns").Do(ctx).Into(&service)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading service kube-system/kube-dns: %w", err)
	}
	return service.Spec.ClusterIP, nil
}

// PatchNode merges the patch into the node. It returns IsGone when there is no such node, and
// IsConflict when the patch carries a resourceVersion and the node has changed since.
func (c *Client) PatchNode(ctx context.Context, name string, patch map[string]any) error {
	_, err := c.PatchNodeVersion(ctx, name, patch)
	return err
}

// PatchNodeVersion is PatchNode, and returns the node's resourceVersion afterwards.
func (c *Client) PatchNodeVersion(ctx context.Context, name string, patch map[string]any) (string, error) {
	var stored metav1.PartialObjectMetadata
	err := c.writeJSON(ctx, http.MethodPatch, "/api/v1/nodes/"+url.PathEscape(name), patch, &stored)
	return stored.ResourceVersion, err
}

// DeleteNode deletes the node, whose finalizers may hold it. It succeeds for a node that has gone.
func (c *Client) DeleteNode(ctx context.Context, name string, uid types.UID) error {
	return c.delete(ctx, "/api/v1/nodes/"+url.PathEscape(name), uid, nil)
}

// DeletePod deletes the pod with the grace period in seconds (nil: the pod's own), whatever its
// disruption budgets allow. It succeeds for a pod that has gone.
func (c *Client) DeletePod(ctx context.Context, pod *corev1.Pod, graceSeconds *int64) error {
	return c.delete(ctx, podPath(pod), pod.UID, graceSeconds)
}

// AnnotatePod writes annotations of the pod, and removes those that are nil. It returns IsConflict
// when the pod has changed since it was read, and IsGone when it has gone.
func (c *Client) AnnotatePod(ctx context.Context, pod *corev1.Pod, annotations map[string]any) error {
	return c.writeJSON(ctx, http.MethodPatch, podPath(pod), map[string]any{
		"metadata": map[string]any{"resourceVersion": pod.ResourceVersion, "annotations": annotations},
	}, nil)
}

// Evict evicts the pod under its disruption budgets. It succeeds for a pod that has gone, or that
// was replaced by one of the same name. It returns IsEvictionRefused when a budget forbids it now, or
// is not computed yet. That is an answer: the call does not wait for the time at which the API server
// would like the next one.
func (c *Client) Evict(ctx context.Context, pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	}
	path := podPath(pod) + "/eviction"
	request, err := c.writing(http.MethodPost, path, eviction)
	if err == nil {
		err = send(ctx, request.MaxRetries(0), path, nil)
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Nominate tells the scheduler which node to try first for the pod (status.nominatedNodeName). It
// returns IsConflict when the pod has changed since it was read, or another pod has its name, and
// IsGone when there is no such pod.
func (c *Client) Nominate(ctx context.Context, pod *corev1.Pod, node string) error {
	return c.writeJSON(ctx, http.MethodPatch, podPath(pod)+"/status", map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   map[string]any{"nominatedNodeName": node},
	}, nil)
}

// Bind gives the pod its node, as kube-scheduler does. It returns a conflict (IsConflict) when the pod has changed
// since it was read, which it has where it has a node.
// https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/binding-v1/
func (c *Client) Bind(ctx context.Context, pod *corev1.Pod, node string) error {
	return c.writeJSON(ctx, http.MethodPost, podPath(pod)+"/binding", corev1.Binding{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
		Target: corev1.ObjectReference{Kind: "Node", Name: node},
	}, nil)
}

func podPath(pod *corev1.Pod) string {
	return "/api/v1/namespaces/" + url.PathEscape(pod.Namespace) + "/pods/" + url.PathEscape(pod.Name)
}

// delete deletes the object with the UID (any, when it is empty).
func (c *Client) delete(ctx context.Context, path string, uid types.UID, graceSeconds *int64) error {
	options := metav1.DeleteOptions{GracePeriodSeconds: graceSeconds}
	if uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	err := c.deleteWith(ctx, path, options)
	// A conflict comes from the precondition: another object has the name now, and ours has gone.
	if apierrors.IsNotFound(err) || (uid != "" && apierrors.IsConflict(err)) {
		return nil
	}
	return err
}

func (c *Client) deleteWith(ctx context.Context, path string, options metav1.DeleteOptions) error {
	options.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	if c.dryRun { // a deletion ignores the parameter and uses the options
		options.DryRun = []string{metav1.DryRunAll}
	}
	return c.writeJSON(ctx, http.MethodDelete, path, options, nil)
}
