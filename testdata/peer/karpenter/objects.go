package karpenter

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	nodepoolutils "sigs.k8s.io/karpenter/pkg/utils/nodepool"

	"github.com/whittle-dev/whittle/shared/api"
)

// nodePools converts node pools and puts them into the order in which Karpenter tries them. Static
// ones are left out, as its provisioner does.
func nodePools(pools []api.NodePool) ([]*karpenterv1.NodePool, error) {
	var result []*karpenterv1.NodePool
	for i := range pools {
		pool := &karpenterv1.NodePool{}
		if err := convert(&pools[i], pool); err != nil {
			return nil, fmt.Errorf("converting nodepool %q: %w", pools[i].Name, err)
		}
		if !nodepoolutils.IsStatic(pool) {
			result = append(result, pool)
		}
	}
	nodepoolutils.OrderByWeight(result)
	return result, nil
}

func nodeClaim(claim *api.NodeClaim) (*karpenterv1.NodeClaim, error) {
	result := &karpenterv1.NodeClaim{}
	if err := convert(claim, result); err != nil {
		return nil, fmt.Errorf("converting nodeclaim %q: %w", claim.Name, err)
	}
	return result, nil
}

// convert goes by way of JSON: the resource definitions are the same on both sides.
func convert(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// daemonSetPods are the pods that a new node gets from the daemon sets, made from the templates
// since none runs yet.
func daemonSetPods(sets []appsv1.DaemonSet) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range sets {
		pods = append(pods, daemonset.PodForDaemonSet(sets[i].DeepCopy()))
	}
	return pods
}
