package install

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/functions/install/manifests"
)

// removal is the command by which a person removes what a deletion left.
const removal = "kubectl delete clusterroles,clusterrolebindings,roles,rolebindings,validatingadmissionpolicies," +
	"validatingadmissionpolicybindings --all-namespaces -l app.kubernetes.io/name=whittle"

// removeProperty is the property of an event by which a person orders the removal. Its value is the
// cluster's name, so that no event without thought takes the rights of all functions.
const removeProperty = "RemoveRightsOf"

// remove deletes the rights, if the id is that of a completed installation, or if a person orders it
// in an event without an id. Then it removes the soft taints that disrupt has written on nodes.
// Definitions, the namespace and NodePools stay: with a definition, Kubernetes would delete every
// NodePool and so every node. Rights that stay harm nobody, because their groups lose all members with
// the stack. Only a cluster that answers can therefore fail a deletion.
func (h *Handler) remove(ctx context.Context, event cfn.Event) error {
	id := event.PhysicalResourceID
	ordered := id == "" && event.ResourceProperties[removeProperty] == h.cluster
	if id == "" && !ordered {
		return fmt.Errorf(
			"the event names no installation, and nothing is removed: to remove the rights of all functions by hand, "+
				"write %q: {%q: %q} into it", "ResourceProperties", removeProperty, h.cluster)
	}
	if !ordered && id != installedID(h.cluster) {
		slog.InfoContext(ctx, "this installation did not complete: nothing is removed", "id", id, "remedy", removal)
		return nil
	}
	rights, err := manifests.RBAC()
	if err != nil {
		return err
	}
	policies, err := manifests.Admission(h.admission)
	if err != nil {
		return err
	}
	// The policies go first: without the functions nobody would see what they refuse.
	rights = append(policies, rights...)
	client, err := h.connection.Client(ctx)
	var gone *types.ResourceNotFoundException
	if errors.As(err, &gone) {
		slog.InfoContext(ctx, "the cluster is gone, and so are the installed objects", "cluster", h.cluster)
		return nil
	}
	for i := range rights {
		if err == nil {
			err = client.Remove(ctx, &rights[i])
		}
		// CloudFormation refuses to delete the stack while this fails. A cluster that has become
		// unreachable, or has no entry for this function any more, must not keep the stack.
		if notLetIn(err) || err != nil && !answered(err) {
			slog.WarnContext(
				ctx, "roles and bindings stay in the cluster", "cluster", h.cluster, "remaining", names(rights[i:]),
				"remedy", removal, "error", err,
			)
			return nil
		}
		if err != nil {
			return err
		}
	}
	unsteer(ctx, client)
	return nil
}

// answered reports whether the error is an answer of EKS or of the API server.
func answered(err error) bool {
	var fromAWS smithy.APIError
	var fromKubernetes apierrors.APIStatus
	return errors.As(err, &fromAWS) || errors.As(err, &fromKubernetes)
}

func names(objects []unstructured.Unstructured) []string {
	var names []string
	for i := range objects {
		names = append(names, objects[i].GetKind()+" "+objects[i].GetName())
	}
	return names
}
