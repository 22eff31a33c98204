package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// need is a right in the cluster that a function cannot do without.
type need struct {
	function, verb, group, resource, namespace string
}

// needs are one right of each kind of object that a function writes, and one of console,
// which only reads, so that a missing binding shows at installation and not at night.
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

// grantTime is how long the API server may take to know of a right that was just given.
const grantTime = 10 * time.Second

// errNoRight tells that a function lacks a right.
var errNoRight = errors.New("a right is missing")

// granted waits until every function has what it needs. What authorizes requests in the API
// server learns of a new binding a moment after it was written.
func granted(ctx context.Context, client *cluster.Client) error {
	deadline := time.Now().Add(grantTime)
	for {
		err := check(ctx, client)
		if !errors.Is(err, errNoRight) || time.Now().After(deadline) {
			return err
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
}

// check asks the API server whether every function has what it needs.
func check(ctx context.Context, client *cluster.Client) error {
	var missing []error
	for _, need := range needs() {
		resource, subresource, _ := strings.Cut(need.resource, "/")
		allowed, err := client.Allowed(
			ctx, []string{"whittle:" + need.function}, need.verb, need.group, resource, subresource, need.namespace,
		)
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
