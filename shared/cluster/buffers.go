package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// CapacityBuffers lists every CapacityBuffer. It returns none for a cluster that does not know the
// kind.
func (c *Client) CapacityBuffers(ctx context.Context) ([]api.CapacityBuffer, error) {
	var list api.CapacityBufferList
	err := c.readJSON(ctx, api.CapacityBuffersPath, &list, versionParameter, cachedVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.Items, err
}

// PatchCapacityBufferStatus merges the patch into the buffer's status subresource. It returns
// IsGone and IsConflict like PatchNode.
func (c *Client) PatchCapacityBufferStatus(
	ctx context.Context, buffer *api.CapacityBuffer, patch map[string]any,
) error {
	path := fmt.Sprintf("/apis/%s/namespaces/%s/capacitybuffers/%s", api.CapacityBufferAPIVersion,
		url.PathEscape(buffer.Namespace), url.PathEscape(buffer.Name))
	return c.writeJSON(ctx, http.MethodPatch, path+statusSubpath, patch, nil)
}

// Template is a pod template with what surrounds it.
type Template struct {
	Generation int64
	// Replicas is spec.replicas, or one where it is absent.
	Replicas int32
	Pod      corev1.PodTemplateSpec
}

// templatePaths are the paths of objects with a pod template, by kind, with room for namespace and name.
func templatePaths() map[string]string {
	return map[string]string{
		podTemplate:   "/api/v1/namespaces/%s/podtemplates/%s",
		"Deployment":  "/apis/apps/v1/namespaces/%s/deployments/%s",
		"StatefulSet": "/apis/apps/v1/namespaces/%s/statefulsets/%s",
		"ReplicaSet":  "/apis/apps/v1/namespaces/%s/replicasets/%s",
		"Job":         "/apis/batch/v1/namespaces/%s/jobs/%s",
	}
}

// podTemplate is the kind that has its template beside its metadata.
const podTemplate = "PodTemplate"

// TemplateOf reads the pod template of a PodTemplate, Deployment, StatefulSet, ReplicaSet or Job. It
// returns nil, and no error, for another kind and for an object that does not exist.
func (c *Client) TemplateOf(ctx context.Context, kind, namespace, name string) (*Template, error) {
	path, known := templatePaths()[kind]
	if !known || !canBeName(name) {
		return nil, nil
	}
	path = fmt.Sprintf(path, url.PathEscape(namespace), url.PathEscape(name))
	var stored struct {
		Metadata metav1.ObjectMeta      `json:"metadata"`
		Template corev1.PodTemplateSpec `json:"template"` // of a PodTemplate
		Spec     struct {
			Replicas *int32                 `json:"replicas"`
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := c.readJSON(ctx, path, &stored); err != nil {
		return nil, ignoreGone(err)
	}
	read := &Template{Generation: stored.Metadata.Generation, Replicas: 1, Pod: stored.Spec.Template}
	if kind == podTemplate {
		read.Pod = stored.Template
	}
	if stored.Spec.Replicas != nil {
		read.Replicas = *stored.Spec.Replicas
	}
	return read, nil
}
