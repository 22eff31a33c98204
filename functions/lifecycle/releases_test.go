package lifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/release"
)

func TestAPoolShowsThatItsReleaseHalted(t *testing.T) {
	l := newLife(t)
	pool := &api.NodePool{TypeMeta: metav1.TypeMeta{APIVersion: api.APIVersion, Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "released"}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind,
		Name: "default"}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{}
	pool.Default()
	functiontest.Create(t, server, api.NodePoolsPath, pool)
	t.Cleanup(func() {
		server.Delete(t, api.NodePoolsPath+"/released")
		server.Delete(t, "/api/v1/namespaces/whittle-system/configmaps/whittle-releases")
		server.Delete(t, "/api/v1/namespaces/whittle-system/configmaps/"+inventory.ControlName)
	})
	l.join(t, "old", func(c *api.NodeClaim) {
		c.Labels[api.NodePoolLabelKey] = "released"
		c.Annotations = map[string]string{
			api.NodePoolHashAnnotationKey: "before", api.NodePoolHashVersionAnnotationKey: api.NodePoolHashVersion}
	})
	remember := func(record release.Record) {
		t.Helper()
		records := map[string]release.Record{"released": record}
		if err := inventory.RememberReleases(t.Context(), server.Everything(t), records); err != nil {
			t.Fatal(err)
		}
	}
	shows := func() bool {
		stored := functiontest.Get[api.NodePool](t, server, api.NodePoolsPath+"/released")
		return api.ConditionTrue(stored.Status.Conditions, api.ConditionTypeReleaseHalted)
	}
	halted := release.Record{Release: "b", Since: time.Now(), Halted: time.Now(), Why: "node a: bad"}
	remember(halted)
	l.until(t, "none", shows)
	order := release.Order{Verb: release.Continue, Release: "b", Who: "alice", Since: time.Now()}
	changes := map[string]string{release.KeyOf("released"): order.Text()}
	if err := inventory.ChangeControl(t.Context(), server.Everything(t), changes); err != nil {
		t.Fatal(err)
	}
	l.until(t, "none", func() bool { return !shows() })
	order.Release = "a" // an order about another release
	changes[release.KeyOf("released")] = order.Text()
	if err := inventory.ChangeControl(t.Context(), server.Everything(t), changes); err != nil {
		t.Fatal(err)
	}
	l.until(t, "none", shows)
	remember(release.Record{Release: "c", Since: time.Now()})
	l.until(t, "none", func() bool { return !shows() })
}
