package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/simulate/apiserver"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	// hopelessEvery and hopelessFor are how often a pod comes that no node may run, and how long it waits.
	hopelessEvery = 20 * time.Second
	hopelessFor   = 45 * time.Second
	// emptyPatience is how much longer than its pool's time an empty node may stay while work keeps coming.
	emptyPatience = 4 * time.Minute
)

// keepComing lets pods come that no node may run, until the end: a wrong selector, or a job that waits for a
// node group of somebody else. Whatever else is due has to go on.
func (r *Run) keepComing() {
	if !r.engine.Chance(0.25, "pods that fit nowhere") {
		return
	}
	made := 0
	r.engine.Every(hopelessEvery, hopelessEvery, func() {
		made++
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("hopeless-", made), Namespace: metav1.NamespaceDefault,
		}}
		pod.Spec.NodeSelector = map[string]string{"example.com/rack": "nowhere"}
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "main"}}
		stored, err := r.store.Create(apiserver.Pods, pod)
		if err != nil {
			r.violate("a pod cannot be made: %v", err)
			return
		}
		r.engine.In(hopelessFor, func() {
			if object := r.store.Get(apiserver.Pods, pod.Namespace, pod.Name); object != nil {
				r.evictions[string(stored.Meta.GetUID())] = "gone"
				r.store.Delete(object, nil)
			}
		})
	})
}

// unsettledEmpties lists nodes that have been empty for long, although nothing keeps them: their pool's
// budget is not in use, and no pod is on its way from a node that leaves.
func (r *Run) unsettledEmpties() []string {
	claims := apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims)
	for _, claim := range claims {
		_, replaced := claim.Annotations[api.ReplacedByAnnotationKey]
		if replaced || claim.DeletionTimestamp != nil {
			return nil
		}
	}
	for _, node := range apiserver.List[corev1.Node](r.store, apiserver.Nodes) {
		if !disruption.IsReady(node) {
			return nil
		}
	}
	var problems []string
	for _, claim := range claims {
		since, err := time.Parse(time.RFC3339, claim.Annotations[api.EmptySinceAnnotationKey])
		late := err == nil && time.Since(since) >= 30*time.Second+emptyPatience
		if claim.Labels[api.NodePoolLabelKey] == staticPool || !late {
			continue
		}
		problems = append(problems, fmt.Sprintf("nodeclaim %s has been empty for %s", claim.Name,
			time.Since(since).Truncate(time.Second)))
	}
	return problems
}
