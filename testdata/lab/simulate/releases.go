package simulate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/release"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// releaseLabel is on the claims that a changed template makes.
	releaseLabel = "example.com/release"
	// clocksOff is how far the clocks of containers may be apart.
	clocksOff = time.Minute
	// badFor is how long the machines of a bad release do not join.
	badFor = 14 * time.Minute
)

// releasing draws how the changed template rolls out: in some seeds without stages, and in some with
// machines that do not join. A person continues what has halted once the faults are over.
func (r *Run) releasing(pool *api.NodePool) {
	if r.engine.Chance(0.4, "template", "without stages") {
		pool.Annotations = map[string]string{api.ReleaseAnnotationKey: api.ReleaseOff}
		return
	}
	r.staged = true
	if left := time.Until(r.weather.ends); r.engine.Chance(0.4, "template", "bad") {
		r.badUntil = time.Now().Add(min(badFor, left))
	}
	r.engine.In(time.Until(r.weather.ends), func() {
		order := release.Order{Verb: release.Continue, Who: "a person", Since: time.Now()}
		r.writeControl(release.KeyOf(driftedPool), order.Text())
		r.staged, r.brakedAt = false, time.Now()
	})
}

// isBad reports whether the machine of the instance belongs to a bad release, and does not join.
func (r *Run) isBad(instance string) bool {
	if !time.Now().Before(r.badUntil) {
		return false
	}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if id, launched := api.InstanceID(claim.Status.ProviderID); launched && id == instance {
			return claim.Labels[releaseLabel] != ""
		}
	}
	return false
}

// halted reports whether disrupt has written that the release of the pool halted.
func (r *Run) halted() bool {
	object := r.store.Get(apiserver.ConfigMaps, cluster.Namespace, "whittle-releases")
	if object == nil {
		return false
	}
	stored, _ := object.Typed.(*corev1.ConfigMap)
	return !release.ReadRecord(stored.Data[driftedPool]).Halted.IsZero()
}

// checkStages holds that drift waits for the first new node of a release: disrupt ends a drifted
// node for a new one only while no other replacement is yet to bake, unless one has baked. It holds
// that disrupt ends none while the release has halted.
func (r *Run) checkStages(c *call) {
	name, isClaim := strings.CutPrefix(c.request.URL.Path, "/apis/karpenter.sh/v1/nodeclaims/")
	if !r.staged || c.invocation.function != "disrupt" || c.request.Method != http.MethodDelete || !isClaim {
		return
	}
	object := r.store.Get(apiserver.NodeClaims, "", name)
	if object == nil || object.Meta.GetDeletionTimestamp() != nil || !current(c, object) {
		return
	}
	claim, _ := object.Typed.(*api.NodeClaim)
	reason := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	if reason == nil || reason.Reason != string(api.DisruptionReasonDrifted) ||
		claim.Labels[api.NodePoolLabelKey] != driftedPool {
		return
	}
	if r.halted() {
		r.breaks("releases-halt", "disrupt ends the drifted nodeclaim %s, and its release has halted", name)
	}
	if baking := r.baking(claim); baking != "" {
		r.breaks("releases-bake", "disrupt ends the drifted nodeclaim %s, and %s", name, baking)
	}
}

// baking says which other new node is yet to bake, if none has.
func (r *Run) baking(old *api.NodeClaim) string {
	var baking string
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if claim.Labels[releaseLabel] == "" {
			continue
		}
		ready := api.GetCondition(claim.Status.Conditions, api.ConditionTypeInitialized)
		if ready != nil && time.Since(ready.LastTransitionTime.Time) >= release.DefaultBake-clocksOff {
			return "" // it may have baked
		}
		replaces := claim.Names(api.ReplacesAnnotationKey)
		if len(replaces) > 0 && claim.DeletionTimestamp == nil && !slices.Contains(replaces, old.Name) {
			baking = fmt.Sprintf("the nodeclaim %s, which replaces %s, has not baked", claim.Name, strings.Join(replaces, ", "))
		}
	}
	return baking
}
