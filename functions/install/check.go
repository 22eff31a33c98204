package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// need is a right in the cluster that a function cannot work without.
type need struct {
	function, verb, group, resource, namespace string
}

// needs returns one right for each kind of object that a function writes, and one of console, which
// only reads. A missing binding thus fails the installation, not a later invocation.
func needs() []need {
	return []need{
		{"provision", "list", "", "pods", ""},
		{"provision", "create", "karpenter.sh", "nodeclaims", ""},
		{"provision", "patch", "karpenter.sh", "nodeclaims/status", ""},
		{"provision", "patch", "karpenter.k8s.aws", "ec2nodeclasses/status", ""},
		{"provision", "create", "coordination.k8s.io", "leases", cluster.Namespace},
		{"interrupt", "delete", "karpenter.sh", "nodeclaims", ""},
		{"interrupt", "patch", "", "nodes", ""},
		{"lifecycle", "create", "", "pods/eviction", ""},
		{"lifecycle", "patch", "", "nodes", ""},
		{"lifecycle", "get", "", "persistentvolumeclaims", ""},
		{"lifecycle", "patch", "karpenter.sh", "nodeclaims", ""},
		{"disrupt", "delete", "karpenter.sh", "nodeclaims", ""},
		{"disrupt", "create", "coordination.k8s.io", "leases", cluster.Namespace},
		{"catalog", "create", "", "configmaps", cluster.Namespace},
		{"console", "list", "karpenter.sh", "nodeclaims", ""},
	}
}

// grantTime is how long the API server may take to apply a new right.
const grantTime = 10 * time.Second

// errNoRight says that a function lacks a right.
var errNoRight = errors.New("a right is missing")

// granted waits until every function has its rights. The API server's authorizer sees a new binding
// a moment after the write.
func granted(ctx context.Context, client *settling) error {
	deadline := client.now().Add(grantTime)
	for {
		err := check(ctx, client)
		if !errors.Is(err, errNoRight) || client.now().After(deadline) {
			return err
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}

// check asks the API server whether every function has its rights.
func check(ctx context.Context, client *settling) error {
	var missing []error
	for _, need := range needs() {
		allowed, err := client.allowed(ctx, need)
		if err != nil {
			return fmt.Errorf("checking the rights of function %s: %w", need.function, err)
		}
		if !allowed {
			missing = append(
				missing,
				fmt.Errorf(
					"%w: function %s may not %s %s: see the ClusterRole whittle:%s and its binding", errNoRight, need.function,
					need.verb, need.resource, need.function,
				),
			)
		}
	}
	return errors.Join(missing...)
}
