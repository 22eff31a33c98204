package account

import (
	"context"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/functions/console/rollout"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// networks are the DaemonSets of the known network plugins.
func networks() []string {
	return []string{"aws-node", "cilium", "calico-node", "kube-flannel-ds", "weave-net", "antrea-agent"}
}

// kube reads the cluster. Kinds that do not exist yet have no objects.
func (r *Reader) kube(ctx context.Context, name string) (check.Kube, []api.EC2NodeClass, error) {
	client, err := r.Connect(ctx, name)
	if err != nil {
		return check.Kube{}, nil, err
	}
	found := check.Kube{Definitions: map[string]string{}}
	leadership, err := client.KarpenterLeadership(ctx, cluster.KarpenterAccounts(), r.now())
	if err != nil {
		return check.Kube{}, nil, err
	}
	if leadership.Leader != nil {
		found.Karpenter = leadership.Leader.String()
	}
	for _, kind := range check.DefinitionNames() {
		definition, err := client.CustomResourceDefinition(ctx, kind)
		if err != nil {
			return check.Kube{}, nil, err
		}
		if definition != nil {
			found.Definitions[kind] = strings.Join(definition.Managers, " and ")
		}
	}
	sets, err := client.DaemonSets(ctx)
	if err != nil {
		return check.Kube{}, nil, err
	}
	for i := range sets {
		if slices.Contains(networks(), sets[i].Name) {
			found.CNI = sets[i].Name
		}
	}
	classes, err := r.objects(ctx, client, &found)
	found.NodeClasses = classes
	found.Rolls = rollout.Open(found.NodePools, classes, r.now())
	return found, classes, err
}

// objects reads the NodePools and the EC2NodeClasses of kinds that exist.
func (r *Reader) objects(ctx context.Context, client *cluster.Client, found *check.Kube) (classes []api.EC2NodeClass,
	err error) {
	if _, exists := found.Definitions[check.NodePoolDefinition]; exists {
		if found.NodePools, err = client.NodePools(ctx); err != nil {
			return nil, err
		}
	}
	if _, exists := found.Definitions[check.NodeClassDefinition]; exists {
		return client.NodeClasses(ctx)
	}
	return nil, nil
}
