package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/shared/alarm"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// Handler is the function in one container.
type Handler struct {
	cluster    string
	catalog    string // the function's name
	inVPC      bool   // the functions are in the cluster's VPC
	autoMode   bool   // Auto Mode may run beside Whittle
	dryRun     bool   // the functions plan and do nothing
	admission  manifests.Mode
	connection connection
	lambda     *lambda.Client
	events     *eventbridge.Client
	sqs        *sqs.Client
	shifts     *zonalshift.Source // nil unless functions follow zonal shifts
	alarms     *alarm.Source      // nil unless alarms freeze disruption
	now        func() time.Time
	// transport takes the answers to CloudFormation; nil for the network.
	transport http.RoundTripper
	// endpoint is that of another AWS, which also takes answers; empty for AWS's own.
	endpoint string
}

// connection finds the cluster.
type connection interface {
	Client(ctx context.Context) (*cluster.Client, error)
}

// handle installs on create and update, and removes the rights on delete. Each step may run twice,
// late, or after a failure.
func (h *Handler) handle(ctx context.Context, event cfn.Event) (physicalID string, data map[string]any, err error) {
	// The reserve is for the answer to CloudFormation.
	ctx, cancel := function.WithReserve(ctx)
	defer cancel()
	if event.ResourceType == deliveryType {
		return h.testDelivery(ctx, event)
	}
	if event.RequestType == cfn.RequestDelete {
		return event.PhysicalResourceID, nil, h.remove(ctx, event)
	}
	data, err = h.install(ctx, event.RequestType)
	err = h.advised(event, err)
	return physicalIDAfter(event, h.cluster, err), data, err
}

// advised adds to the error what a person can do about it.
func (h *Handler) advised(event cfn.Event, err error) error {
	var unsent *url.Error
	lines, _ := event.ResourceProperties["MapRoles"].(string)
	switch {
	case lines != "" && notLetIn(err):
		// Without access entries, a person adds equivalent lines to aws-auth.
		return fmt.Errorf(
			"%w; in the authentication mode CONFIG_MAP, add these lines to mapRoles in the ConfigMap kube-system/aws-auth "+
				"and deploy again:\n%s",
			err, lines,
		)
	case lines == "" && notLetIn(err):
		return fmt.Errorf("%w; if `whittle administrator off` took the right of install's role, give it back by "+
			"`whittle administrator on -cluster %s`, and deploy again", err, h.cluster)
	case h.inVPC && errors.As(err, &unsent):
		return fmt.Errorf(
			"%w: do the functions' subnets and security groups reach port 443 of AWS's APIs and of the cluster's endpoint?",
			err,
		)
	}
	return err
}

func (h *Handler) install(ctx context.Context, request cfn.RequestType) (map[string]any, error) {
	client := newSettling(h.now)
	if err := client.connect(ctx, h.connection); err != nil {
		return nil, err
	}
	if err := h.admit(ctx, client.client.Endpoint, request); err != nil {
		return nil, err
	}
	definitions, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	applied := 0
	for i := range definitions {
		ours, err := define(ctx, client, &definitions[i])
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
	rights, err := h.grant(ctx, client)
	if err != nil {
		return nil, err
	}
	if !h.dryRun { // which neither acts on what others write nor changes what they may write
		if err := h.protect(ctx, client); err != nil {
			return nil, err
		}
	}
	if err := granted(ctx, client); err != nil {
		return nil, err
	}
	for _, check := range []func(context.Context) error{h.readCatalog, h.shifts.Check, h.alarms.Check} {
		if err := client.settled(ctx, func() error { return check(ctx) }); err != nil {
			return nil, err
		}
	}
	slog.InfoContext(
		ctx, "installed", "cluster", h.cluster, "definitions", applied, "kept", len(definitions)-applied, "rights",
		rights,
	)
	return map[string]any{
		"Definitions": applied, "KeptDefinitions": len(definitions) - applied, "Rights": rights,
	}, nil
}

// grant applies the namespace and the rights, and returns their number. In a dry run people get none:
// Kubernetes would add them to its own roles view and admin.
func (h *Handler) grant(ctx context.Context, client *settling) (int, error) {
	namespace, err := manifests.Namespace()
	if err != nil {
		return 0, err
	}
	rights, err := manifests.RBAC()
	if h.dryRun {
		rights, err = manifests.FunctionRBAC()
	}
	if err != nil {
		return 0, err
	}
	for _, object := range append([]unstructured.Unstructured{namespace}, rights...) {
		if err := client.apply(ctx, &object); err != nil {
			return 0, err
		}
	}
	return len(rights), nil
}

// define applies a definition, unless another manager's exists and serves Whittle's version.
// Karpenter's own definition serves as well.
func define(ctx context.Context, client *settling, definition *unstructured.Unstructured) (ours bool, err error) {
	there, err := client.definition(ctx, definition.GetName())
	if err != nil {
		return false, err
	}
	if there == nil || slices.Contains(there.Managers, cluster.FieldManager) {
		return true, client.apply(ctx, definition)
	}
	wanted, err := version(definition)
	if err != nil {
		return false, err
	}
	lacks := !slices.Contains(there.Versions, wanted)
	if lacks && strings.HasSuffix(definition.GetName(), "."+api.AutoscalingGroup) {
		// Another autoscaler's. Whittle works without buffers.
		slog.WarnContext(ctx, "keeping the existing definition, which lacks a version: capacity buffers do not work",
			"definition", definition.GetName(), "managers", there.Managers, "version", wanted)
		return false, nil
	}
	if lacks {
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

// established waits until the API server serves the definition's kind.
func established(ctx context.Context, client *settling, name string) error {
	deadline := client.now().Add(settleTime)
	for {
		definition, err := client.definition(ctx, name)
		if err != nil {
			return err
		}
		if definition != nil && definition.Established {
			return nil
		}
		if client.now().After(deadline) {
			return fmt.Errorf("customresourcedefinition %q is not established after %s: see its conditions", name, settleTime)
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}

// readCatalog invokes catalog, which otherwise runs at the next full hour.
func (h *Handler) readCatalog(ctx context.Context) error {
	_, err := h.lambda.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &h.catalog, InvocationType: lambdatypes.InvocationTypeEvent, Payload: []byte("{}"),
	})
	if err != nil {
		return fmt.Errorf("invoking function %q: %w", h.catalog, err)
	}
	return nil
}
