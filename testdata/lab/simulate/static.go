package simulate

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/registration"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// staticPool is the NodePool with spec.replicas, which some seeds have. No pod tolerates its taint.
const staticPool = "static"

// scale is a number of nodes that a person has asked for.
type scale struct {
	at       time.Time
	replicas int64
}

// makeStatic makes the static pool in some seeds.
func (r *Run) makeStatic() error {
	e := r.engine
	if !e.Chance(0.3, "static pool") {
		return nil
	}
	pool := r.pool(staticPool, map[string]any{api.CapacityTypeLabelKey: []any{api.CapacityTypeOnDemand}})
	spec, _ := pool["spec"].(map[string]any)
	delete(spec, "weight")
	spec["limits"] = map[string]any{"nodes": "6"}
	template, _ := spec["template"].(map[string]any)
	of, _ := template["spec"].(map[string]any)
	of["taints"] = []any{map[string]any{"key": staticPool, "effect": "NoSchedule"}}
	first := int64(e.Number(0, 3, staticPool, "replicas"))
	spec["replicas"] = first
	r.scales = []scale{{time.Now(), first}}
	_, err := r.store.Create(apiserver.NodePools, pool)
	return err
}

// scaleStatic lets a person change the number of nodes from time to time, until the calm begins.
func (r *Run) scaleStatic(turn int) {
	e := r.engine
	wait := e.Between(20*time.Second, 4*time.Minute, staticPool, "waits", fmt.Sprint(turn))
	if turn > 0 && e.Chance(0.4, staticPool, "was wrong", fmt.Sprint(turn)) {
		wait = e.Between(300*time.Millisecond, 5*time.Second, staticPool, "sees it", fmt.Sprint(turn))
	}
	if len(r.scales) == 0 || !time.Now().Add(wait).Before(r.weather.ends) {
		return
	}
	e.In(wait, func() {
		replicas := int64(e.Number(0, 4, staticPool, "replicas", fmt.Sprint(turn)))
		r.trace("nodepool %s: %d replicas", staticPool, replicas)
		apiserver.Update(r.store, apiserver.NodePools, "", staticPool, func(pool *api.NodePool) bool {
			pool.Spec.Replicas = &replicas
			return true
		})
		r.scales = append(r.scales, scale{time.Now(), replicas})
		r.scaleStatic(turn + 1)
	})
}

// leastReplicas is the least number that was asked for since the time.
func (r *Run) leastReplicas(since time.Time) int64 {
	least := r.scales[len(r.scales)-1].replicas
	for i := len(r.scales) - 1; i > 0 && r.scales[i].at.After(since); i-- {
		least = min(least, r.scales[i-1].replicas)
	}
	return least
}

// noteRead remembers when an invocation last asked for NodePools past the watch cache.
func (c *call) noteRead() {
	if c.isKubernetes() && c.request.Method == http.MethodGet &&
		c.request.URL.Path == "/apis/karpenter.sh/v1/nodepools" && c.request.URL.Query().Get("resourceVersion") == "" {
		c.invocation.poolsRead = time.Now()
	}
}

// checkShrink holds that provision deletes no claim of the static pool that the pool's number of
// nodes needs: the number that a consistent read of the invocation has shown, or the present one.
func (r *Run) checkShrink(c *call) {
	name, isClaim := strings.CutPrefix(c.request.URL.Path, "/apis/karpenter.sh/v1/nodeclaims/")
	if c.invocation.function != "provision" || c.request.Method != http.MethodDelete || !isClaim || len(r.scales) == 0 {
		return
	}
	object := r.store.Get(apiserver.NodeClaims, "", name)
	if object == nil || object.Meta.GetLabels()[api.NodePoolLabelKey] != staticPool ||
		object.Meta.GetDeletionTimestamp() != nil || !current(c, object) {
		return
	}
	if claim, _ := object.Typed.(*api.NodeClaim); claim.Status.ProviderID == "" {
		return // EC2 could not launch it
	}
	read := c.invocation.poolsRead
	if read.IsZero() {
		read = time.Now()
	}
	if left, least := int64(r.standing(staticPool)-1), r.leastReplicas(read); left < least {
		r.breaks("static-stays",
			"provision deletes the nodeclaim %s, %d remain, and the nodepool %s asks for %d", name, left, staticPool,
			least)
	}
}

// standing counts the claims of a pool that nobody has deleted.
func (r *Run) standing(pool string) int {
	count := 0
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if claim.Labels[api.NodePoolLabelKey] == pool && claim.DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

// nextNode is how soon provision launches a node for a pool that may get one again.
const nextNode = 2 * time.Minute

// unsettledStatic says whether the static pool has another number of nodes than it asks for, and
// none of them has left a short time ago. A pool whose last nodes have not joined waits for the next one.
func (r *Run) unsettledStatic() []string {
	if len(r.scales) == 0 {
		return nil
	}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		deleted := claim.DeletionTimestamp
		if claim.Labels[api.NodePoolLabelKey] == staticPool && deleted != nil && time.Since(deleted.Time) < patience {
			return nil
		}
	}
	want, has := r.scales[len(r.scales)-1].replicas, int64(r.standing(staticPool))
	if has < want && r.waitsToLaunch(staticPool) {
		return nil
	}
	if has != want {
		return []string{fmt.Sprintf("nodepool %s has %d nodeclaims, and asks for %d", staticPool, has, want)}
	}
	return nil
}

// waitsToLaunch reports whether the pool gets no node now, because its last ones have not joined.
func (r *Run) waitsToLaunch(pool string) bool {
	object := r.store.Get(apiserver.NodePools, "", pool)
	if object == nil {
		return false
	}
	var claims []api.NodeClaim
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		claims = append(claims, *claim)
	}
	typed, _ := object.Typed.(*api.NodePool)
	return registration.BrakeOf(typed, nil, claims, time.Now().Add(-nextNode)).Closed != ""
}
