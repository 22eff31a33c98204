package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// DeploymentOf reads the Deployment that owns the pod's ReplicaSet. It returns nil, and no error,
// where the pod has no ReplicaSet, the ReplicaSet has another owner, or one of them has gone. It
// returns IsForbidden in a namespace that has not given the right to restart.
func (c *Client) DeploymentOf(ctx context.Context, pod *corev1.Pod) (*appsv1.Deployment, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "ReplicaSet" || !canBeName(owner.Name) {
		return nil, nil
	}
	var set appsv1.ReplicaSet
	if err := c.readJSON(ctx, workloadPath("replicasets", pod.Namespace, owner.Name), &set); err != nil {
		return nil, ignoreGone(err)
	}
	owner = metav1.GetControllerOf(&set)
	if owner == nil || owner.Kind != "Deployment" || !canBeName(owner.Name) {
		return nil, nil
	}
	var deployment appsv1.Deployment
	if err := c.readJSON(ctx, workloadPath("deployments", pod.Namespace, owner.Name), &deployment); err != nil {
		return nil, ignoreGone(err)
	}
	return &deployment, nil
}

// AnnotatePodTemplate writes a time as an annotation of the Deployment's pod template. A new value
// rolls the Deployment out. It returns IsConflict when the Deployment has changed since it was
// read, IsGone when it has gone, and IsForbidden like DeploymentOf.
func (c *Client) AnnotatePodTemplate(
	ctx context.Context, deployment *appsv1.Deployment, key string, at time.Time,
) error {
	annotations := map[string]any{key: at.UTC().Format(time.RFC3339)}
	path := workloadPath("deployments", deployment.Namespace, deployment.Name)
	return c.writeJSON(ctx, http.MethodPatch, path, map[string]any{
		"metadata": map[string]any{"resourceVersion": deployment.ResourceVersion},
		"spec":     map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}},
	}, nil)
}

func ignoreGone(err error) error {
	if IsGone(err) {
		return nil
	}
	return err
}

func workloadPath(plural, namespace, name string) string {
	return fmt.Sprintf("/apis/apps/v1/namespaces/%s/%s/%s", url.PathEscape(namespace), plural, url.PathEscape(name))
}

// PodGroups lists every PodGroup of scheduler-plugins. It returns none for a cluster that does not know
// the kind.
func (c *Client) PodGroups(ctx context.Context) ([]api.PodGroup, error) {
	var list api.PodGroupList
	err := c.readJSON(ctx, api.PodGroupsPath, &list, versionParameter, cachedVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.Items, err
}
