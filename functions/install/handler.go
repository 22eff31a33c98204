package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/function"
)

const (
	// settleTime is how long a new access entry may take to work.
	settleTime = time.Minute
	// pause is the time between two tries. This function may sleep, because CloudFormation waits
	// for it.
	pause = 200 * time.Millisecond
)

type handler struct {
	cluster    string
	catalog    string // the function's name
	connection interface {
		Client(context.Context) (*cluster.Client, error)
	}
	lambda *lambda.Client
}

// handle installs on create and update, and removes the rights on delete. Each step may run twice,
// late, or after a failure.
func (h *handler) handle(ctx context.Context, event cfn.Event) (physicalID string, data map[string]any, err error) {
	physicalID = "whittle-install-" + h.cluster
	// The reserve is for the answer to CloudFormation.
	ctx, cancel := function.WithReserve(ctx)
	defer cancel()
	if event.RequestType == cfn.RequestDelete {
		return physicalID, nil, h.remove(ctx)
	}
	data, err = h.install(ctx)
	// Without access entries, a person adds equivalent lines to aws-auth.
	if lines, _ := event.ResourceProperties["MapRoles"].(string); lines != "" && notLetIn(err) {
		err = fmt.Errorf(
			"%w; in the authentication mode CONFIG_MAP, add these lines to mapRoles in the ConfigMap kube-system/aws-auth "+
				"and deploy again:\n%s",
			err, lines,
		)
	}
	return physicalID, data, err
}

// notLetIn reports whether the cluster does not know this function or its rights.
func notLetIn(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

func (h *handler) install(ctx context.Context) (map[string]any, error) {
	client, err := h.connection.Client(ctx)
	if err != nil {
		return nil, err
	}
	definitions, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	applied := 0
	for i := range definitions {
		ours, err := h.define(ctx, client, &definitions[i])
		if err != nil {
			return nil, err
		}
		if ours {
			applied++
		}
	}
	for i := range definitions {
		if err := established(ctx, client, definitions[i].GetName()); err != nil {
			return nil, err
		}
	}
	namespace, err := manifests.Namespace()
	if err != nil {
		return nil, err
	}
	rights, err := manifests.RBAC()
	if err != nil {
		return nil, err
	}
	for _, object := range append([]unstructured.Unstructured{namespace}, rights...) {
		if err := client.Apply(ctx, &object); err != nil {
			return nil, err
		}
	}
	if err := granted(ctx, client); err != nil {
		return nil, err
	}
	if err := h.readCatalog(ctx); err != nil {
		return nil, err
	}
	slog.InfoContext(
		ctx, "installed", "cluster", h.cluster, "definitions", applied, "kept", len(definitions)-applied, "rights",
		len(rights),
	)
	return map[string]any{
		"Definitions": applied, "KeptDefinitions": len(definitions) - applied, "Rights": len(rights),
	}, nil
}

// define applies a definition, unless another manager's exists and serves Whittle's version.
// Karpenter's own definition serves as well.
func (h *handler) define(ctx context.Context, client *cluster.Client, definition *unstructured.Unstructured) (
	ours bool, err error,
) {
	var there *cluster.Definition
	err = settled(ctx, func() (err error) {
		there, err = client.CustomResourceDefinition(ctx, definition.GetName())
		return err
	})
	if err != nil {
		return false, fmt.Errorf(
			"%w: is the access entry of this function's role there, and the cluster's authentication mode API or "+
				"API_AND_CONFIG_MAP?",
			err,
		)
	}
	if there == nil || slices.Contains(there.Managers, cluster.FieldManager) {
		return true, client.Apply(ctx, definition)
	}
	wanted, err := version(definition)
	if err != nil {
		return false, err
	}
	if !slices.Contains(there.Versions, wanted) {
		return false, fmt.Errorf("customresourcedefinition %q exists, managed by %v, and serves %v but not %s: upgrade "+
			"Karpenter's CRDs first, to 1.0 or later",
			definition.GetName(), there.Managers, there.Versions, wanted)
	}
	slog.InfoContext(
		ctx, "keeping the existing definition", "definition", definition.GetName(), "managers", there.Managers,
	)
	return false, nil
}

// version returns the only version of our definition: Whittle reads and writes it.
func version(definition *unstructured.Unstructured) (string, error) {
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err == nil && len(versions) == 1 {
		if only, ok := versions[0].(map[string]any); ok {
			if name, _, err := unstructured.NestedString(only, "name"); err == nil && name != "" {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf(
		"manifest of customresourcedefinition %q: spec.versions has not one version with a name: generate it anew",
		definition.GetName(),
	)
}

// settled repeats a refused call while a new access entry takes effect.
func settled(ctx context.Context, call func() error) error {
	deadline := time.Now().Add(settleTime)
	for {
		err := call()
		if !notLetIn(err) || time.Now().After(deadline) {
			return err
		}
		if ended := wait(ctx); ended != nil {
			return errors.Join(err, ended) // what was waited for, and that the time is up
		}
	}
}

// established waits until the API server serves the definition's kind.
func established(ctx context.Context, client *cluster.Client, name string) error {
	deadline := time.Now().Add(settleTime)
	for {
		definition, err := client.CustomResourceDefinition(ctx, name)
		if err != nil {
			return err
		}
		if definition != nil && definition.Established {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("customresourcedefinition %q is not established after %s: see its conditions", name, settleTime)
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
}

func wait(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readCatalog invokes catalog, which otherwise runs at the next full hour.
func (h *handler) readCatalog(ctx context.Context) error {
	_, err := h.lambda.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &h.catalog, InvocationType: lambdatypes.InvocationTypeEvent, Payload: []byte("{}"),
	})
	if err != nil {
		return fmt.Errorf("invoking function %q: %w", h.catalog, err)
	}
	return nil
}

// remove deletes the rights. Definitions, the namespace and NodePools stay: with a definition,
// Kubernetes would delete every NodePool and so every node.
func (h *handler) remove(ctx context.Context) error {
	client, err := h.connection.Client(ctx)
	var gone *types.ResourceNotFoundException
	if errors.As(err, &gone) {
		slog.InfoContext(ctx, "the cluster is gone, and so are the installed objects", "cluster", h.cluster)
		return nil
	}
	if err != nil {
		return err
	}
	rights, err := manifests.RBAC()
	if err != nil {
		return err
	}
	for i := range rights {
		err := client.Remove(ctx, &rights[i])
		if notLetIn(err) {
			// This is normal while CloudFormation rolls back a refused installation. Nobody is in
			// the roles' groups any more.
			slog.WarnContext(ctx, "access to the cluster is denied: roles and bindings stay; kubectl delete "+
				"clusterroles,clusterrolebindings -l app.kubernetes.io/name=whittle removes them",
				"cluster", h.cluster, "error", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
