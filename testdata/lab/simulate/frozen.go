package simulate

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// controlPath is the ConfigMap that has what people have frozen.
const controlPath = "/api/v1/namespaces/" + cluster.Namespace + "/configmaps/" + inventory.ControlName

// shown is what a function's last reading of the ConfigMap has shown.
type shown struct {
	call    int // its number in the invocation
	freezes *freeze.Freezes
}

// freezes lets a person freeze the cluster or a pool from time to time in some seeds, and thaw it
// before the calm begins.
func (r *Run) freezes(turn int) {
	e, name := r.engine, fmt.Sprint(turn)
	if turn == 0 && !e.Chance(0.4, "freezes") {
		return
	}
	wait := e.Between(20*time.Second, 4*time.Minute, "freeze", name, "waits")
	lasts := e.Between(2*time.Second, 3*time.Minute, "freeze", name, "lasts")
	if !time.Now().Add(wait + lasts).Before(r.weather.ends) {
		return
	}
	e.In(wait, func() {
		ordered := freeze.Freeze{
			Who: "a person", Since: time.Now(), Launches: e.Chance(0.2, "freeze", name, "launches"),
			Drains: e.Chance(0.5, "freeze", name, "drains"),
		}
		if e.Chance(0.3, "freeze", name, "pool") {
			ordered.Pool = driftedPool
		}
		text := ordered.Text()
		if e.Chance(0.2, "freeze", name, "broken") {
			text = "until: soon"
		}
		r.writeControl(freeze.KeyOf(ordered.Pool), text)
		e.In(lasts, func() {
			r.writeControl(freeze.KeyOf(ordered.Pool), "")
			r.freezes(turn + 1)
		})
	})
}

// writeControl sets a key of the ConfigMap, or removes it.
func (r *Run) writeControl(key, text string) {
	r.trace("a person writes %s: %q", key, text)
	if r.store.Get(apiserver.ConfigMaps, cluster.Namespace, inventory.ControlName) == nil {
		if _, err := r.store.Create(apiserver.ConfigMaps, map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"namespace": cluster.Namespace, "name": inventory.ControlName},
		}); err != nil {
			r.violate("the configmap %s cannot be made: %v", inventory.ControlName, err)
		}
	}
	apiserver.Update(r.store, apiserver.ConfigMaps, cluster.Namespace, inventory.ControlName,
		func(object *corev1.ConfigMap) bool {
			if object.Data == nil {
				object.Data = map[string]string{}
			}
			if object.Data[key] = text; text == "" {
				delete(object.Data, key)
			}
			return true
		})
}

// noteControl remembers what a reading of the ConfigMap shows, when the API server answers it.
func (r *Run) noteControl(c *call) {
	if !c.isKubernetes() || c.request.Method != http.MethodGet || c.request.URL.Path != controlPath {
		return
	}
	c.invocation.control = shown{call: c.number}
	if object := r.store.Get(apiserver.ConfigMaps, cluster.Namespace, inventory.ControlName); object != nil {
		stored, _ := object.Typed.(*corev1.ConfigMap)
		c.invocation.control.freezes = freeze.Read(stored.Data)
	}
}

// checkFrozen holds that disrupt reads what people have frozen just before it ends a node by
// choice, and ends none that it was shown as frozen. A deletion that is sent again follows the same
// reading.
func (r *Run) checkFrozen(c *call) {
	name, isClaim := strings.CutPrefix(c.request.URL.Path, "/apis/karpenter.sh/v1/nodeclaims/")
	if c.invocation.function != "disrupt" || c.request.Method != http.MethodDelete || !isClaim {
		return
	}
	object := r.store.Get(apiserver.NodeClaims, "", name)
	if object == nil || object.Meta.GetDeletionTimestamp() != nil || !current(c, object) {
		return
	}
	claim, _ := object.Typed.(*api.NodeClaim)
	reason := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason)
	if reason == nil || !api.DisruptionReason(reason.Reason).IsVoluntary() {
		return
	}
	again := c.invocation.deletes == c.request.URL.Path
	c.invocation.deletes = c.request.URL.Path
	last := c.invocation.control
	switch held := last.freezes.Of(freeze.Disruptions, claim.Labels[api.NodePoolLabelKey], time.Now()); {
	case !again && last.call != c.number-1:
		r.breaks("frozen-stays", "disrupt ends the nodeclaim %s (%s), and has not asked just before whether it is frozen",
			name, reason.Reason)
	case held != nil:
		r.breaks("frozen-stays", "disrupt ends the nodeclaim %s (%s), and was shown that %s", name, reason.Reason, held)
	}
}
