package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// UnboundPods lists the pods that no node has been found for.
func (c *Client) UnboundPods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.list(ctx, "/api/v1/pods", &list, "fieldSelector", "spec.nodeName=,status.phase=Pending")
	return list.Items, err
}

// Pods lists every pod of the cluster, without managedFields: of twenty thousand
// they are a good part of a function's memory.
func (c *Client) Pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.list(ctx, "/api/v1/pods", &list)
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
	}
	return list.Items, err
}

// PodsVersion is the resourceVersion that the cluster's pods have now, for PodsOnNode.
func (c *Client) PodsVersion(ctx context.Context) (string, error) {
	var list corev1.PodList
	err := c.list(ctx, "/api/v1/pods", &list, "resourceVersion", "", "limit", "1")
	return list.ResourceVersion, err
}

// PodsOnNode lists the pods that are bound to the node, as they were at the version of
// PodsVersion or later; empty means as they are now. A drain that misses a pod would end an
// instance under it. Of many nodes the version saves waiting: for each list of what is now
// the API server waits up to a tenth of a second until its watch cache is known to have it.
func (c *Client) PodsOnNode(ctx context.Context, node, version string) ([]corev1.Pod, error) {
	parameters := []string{"fieldSelector", "spec.nodeName=" + node, "resourceVersion", version}
	if version != "" {
		parameters = append(parameters, "resourceVersionMatch", string(metav1.ResourceVersionMatchNotOlderThan))
	}
	var list corev1.PodList
	err := c.list(ctx, "/api/v1/pods", &list, parameters...)
	return list.Items, err
}

// Nodes lists every node, without managedFields and the images that it has, which
// are most of its size. It reads past the watch cache: an instance whose node is not
// seen would be ended without a drain.
func (c *Client) Nodes(ctx context.Context) ([]corev1.Node, error) {
	var list corev1.NodeList
	err := c.list(ctx, "/api/v1/nodes", &list, "resourceVersion", "")
	for i := range list.Items {
		list.Items[i].ManagedFields, list.Items[i].Status.Images = nil, nil
	}
	return list.Items, err
}

// Node reads one node; IsGone tells that there is none. Cached, it is as the watch cache has it,
// for a patch that fails where the node has changed.
func (c *Client) Node(ctx context.Context, name string, cached bool) (*corev1.Node, error) {
	request := c.rest.Get().AbsPath("/api/v1/nodes/" + url.PathEscape(name))
	if cached {
		request = request.Param(versionParameter, cachedVersion)
	}
	node := &corev1.Node{}
	if err := request.Do(ctx).Into(node); err != nil {
		return nil, fmt.Errorf("reading node %q: %w", name, err)
	}
	return node, nil
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

// ClusterDNS returns the address of the kube-dns service, or "" when the
// cluster has none (yet).
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

// PatchNode merges the patch into the node. A resourceVersion in the patch's
// metadata makes it fail with a conflict when the node has changed since.
func (c *Client) PatchNode(ctx context.Context, name string, patch map[string]any) error {
	return c.writeJSON(ctx, http.MethodPatch, "/api/v1/nodes/"+url.PathEscape(name), patch, nil)
}

// DeleteNode asks for the node's deletion; a node that is gone is a success.
func (c *Client) DeleteNode(ctx context.Context, name string, uid types.UID) error {
	return c.delete(ctx, "/api/v1/nodes/"+url.PathEscape(name), uid, nil)
}

// DeletePod deletes the pod with the grace period in seconds (nil: the pod's own),
// past any disruption budget. A pod that is gone is a success.
func (c *Client) DeletePod(ctx context.Context, pod *corev1.Pod, graceSeconds *int64) error {
	return c.delete(ctx, podPath(pod), pod.UID, graceSeconds)
}

// Evict asks for the pod's eviction under its disruption budgets. A pod that is
// gone, or has been replaced by one of the same name, is a success;
// apierrors.IsTooManyRequests tells that a budget forbids it now.
func (c *Client) Evict(ctx context.Context, pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	}
	err := c.writeJSON(ctx, http.MethodPost, podPath(pod)+"/eviction", eviction, nil)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func podPath(pod *corev1.Pod) string {
	return "/api/v1/namespaces/" + url.PathEscape(pod.Namespace) + "/pods/" + url.PathEscape(pod.Name)
}

// delete removes the object with the UID (any, when it is empty).
func (c *Client) delete(ctx context.Context, path string, uid types.UID, graceSeconds *int64) error {
	options := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, GracePeriodSeconds: graceSeconds}
	if c.dryRun { // of a deletion the options' own word counts, not the parameter
		options.DryRun = []string{metav1.DryRunAll}
	}
	if uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(uid))
	}
	err := c.writeJSON(ctx, http.MethodDelete, path, options, nil)
	// A conflict is the precondition: another object bears the name now, ours is gone.
	if apierrors.IsNotFound(err) || (uid != "" && apierrors.IsConflict(err)) {
		return nil
	}
	return err
}

// IsEvictionRefused reports whether the disruption budgets of a pod forbade its eviction. The API
// server answers with too many requests, or with an internal error for a pod of several budgets.
func IsEvictionRefused(err error) bool {
	return apierrors.IsTooManyRequests(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "PodDisruptionBudget")
}
