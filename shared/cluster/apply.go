package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// path is the object's address. The plural of every kind that Whittle installs ends in an s, so
// that no discovery call is needed.
func path(object *unstructured.Unstructured) string {
	path := "/apis/" + object.GetAPIVersion()
	if !strings.Contains(object.GetAPIVersion(), "/") {
		path = "/api/" + object.GetAPIVersion()
	}
	if namespace := object.GetNamespace(); namespace != "" {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	return path + "/" + plural(object.GetKind()) + "/" + url.PathEscape(object.GetName())
}

// plural is the resource of a kind that install writes, such as roles of Role and policies of Policy.
func plural(kind string) string {
	resource := strings.ToLower(kind)
	if stem, ends := strings.CutSuffix(resource, "y"); ends {
		return stem + "ies"
	}
	return resource + "s"
}

// Apply writes the object by server-side apply. It takes over fields that another manager has set,
// so that it returns no conflict.
func (c *Client) Apply(ctx context.Context, object *unstructured.Unstructured) error {
	body, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encoding %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	ctx, cancel, err := fenced(ctx)
	if err != nil {
		return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	defer cancel()
	result := c.rest.Patch(types.ApplyYAMLPatchType).AbsPath(path(object)).SetHeader("Accept", "application/json").
		Param("fieldManager", FieldManager).Param("force", "true").Body(body).Do(ctx)
	return finish(result, fmt.Sprintf("applying %s %q", object.GetKind(), object.GetName()), nil)
}

// Remove deletes the object. It succeeds for an object that has gone.
func (c *Client) Remove(ctx context.Context, object *unstructured.Unstructured) error {
	return c.delete(ctx, path(object), "", nil)
}

// Definition is what an installation needs to know of a CustomResourceDefinition.
type Definition struct {
	Established bool
	Versions    []string // those that are served
	Managers    []string // the field managers that wrote it, by which one sees who installed it
}

// CustomResourceDefinition reads the definition. It returns nil, and no error, when there is none.
func (c *Client) CustomResourceDefinition(ctx context.Context, name string) (*Definition, error) {
	var stored struct {
		Metadata struct {
			ManagedFields []struct {
				Manager string `json:"manager"`
			} `json:"managedFields"`
		} `json:"metadata"`
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
		Status struct {
			Conditions []struct{ Type, Status string } `json:"conditions"`
		} `json:"status"`
	}
	err := c.readJSON(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+url.PathEscape(name), &stored)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	definition := &Definition{}
	for _, field := range stored.Metadata.ManagedFields {
		definition.Managers = append(definition.Managers, field.Manager)
	}
	for _, version := range stored.Spec.Versions {
		if version.Served {
			definition.Versions = append(definition.Versions, version.Name)
		}
	}
	for _, condition := range stored.Status.Conditions {
		if condition.Type == "Established" && condition.Status == "True" {
			definition.Established = true
		}
	}
	return definition, nil
}

// Allowed asks the API server whether a user of the groups may use the verb on the resource. It
// returns IsForbidden when the function may not ask.
func (c *Client) Allowed(
	ctx context.Context, groups []string, verb, group, resource, subresource, namespace string,
) (bool, error) {
	review := map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{
			"user": "whittle:self-check", "groups": groups,
			"resourceAttributes": map[string]string{
				"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace,
			},
		},
	}
	var answer struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	err := c.writeJSON(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review, &answer)
	return answer.Status.Allowed, err
}
