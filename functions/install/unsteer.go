package install

import (
	"context"
	"fmt"
	"log/slog"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	// unsteering is the command by which a person removes the soft taints that a deletion left.
	unsteering = "kubectl taint nodes --all " + api.CandidateTaintKey + "-"
	// parallelUnsteering is how many nodes lose the taint at once.
	parallelUnsteering = 10
	// unsteeringRounds is how often nodes that change meanwhile are tried.
	unsteeringRounds = 5
)

// nodes are those of the cluster.
type nodes interface {
	Nodes(context.Context) ([]corev1.Node, error)
	PatchNode(ctx context.Context, name string, patch map[string]any) error
}

// unsteer removes the soft taint from all nodes. Karpenter plans no pod for a node whose soft taint the pod
// does not tolerate. What remains is logged, and keeps no stack. Disrupt has no rights any more by then, so that it
// writes none again.
func unsteer(ctx context.Context, client nodes) {
	var err error
	for range unsteeringRounds {
		var changed bool
		if changed, err = unsteerOnce(ctx, client); !changed {
			break
		}
	}
	if err != nil {
		slog.WarnContext(ctx, "soft taints stay on nodes", "remedy", unsteering, "error", err)
	}
}

// unsteerOnce tries each node with the taint once. Changed says that a node has changed meanwhile.
func unsteerOnce(ctx context.Context, client nodes) (changed bool, err error) {
	all, err := client.Nodes(ctx)
	if err != nil {
		return false, err
	}
	var group errgroup.Group
	group.SetLimit(parallelUnsteering)
	for i := range all {
		node := &all[i]
		if !disruption.IsCandidate(node) {
			continue
		}
		group.Go(func() error {
			err := client.PatchNode(ctx, node.Name, disruption.SteerPatch(node, false))
			if err == nil || cluster.IsGone(err) {
				return nil
			}
			return fmt.Errorf("node %s: %w", node.Name, err)
		})
	}
	err = group.Wait()
	return cluster.IsConflict(err), err
}
