package world_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// daemons runs a pod beside a DaemonSet whose pods a LimitRange makes larger than their template. One
// node with room for both is launched, and no further one.
func daemons(t *testing.T, w *world.World, setup scenario.Setup) {
	launches := func() int {
		return strings.Count(strings.Join(w.FunctionLog("provision"), "\n"), `"msg":"launched nodeclaim"`)
	}
	client, before := setup.Client, launches()
	if err := client.Apply(t.Context(), manifest(setup, "daemons.yaml"), nil); err != nil {
		t.Fatal(err)
	}
	wait(t, "the pod to run", client.Running("default", "app=beside-agents", 1))
	wait(t, "the node to be initialized", initialized(setup))
	wait(t, "the daemon set's pod to run beside it", client.Running("agents", "app=agent", 1))
	if launched := launches() - before; launched != 1 {
		t.Errorf("%d nodes were launched, want one: it has room for the pod and the daemon set's", launched)
	}
	deletePod(t, setup, "beside-agents")
	if err := client.Core.AppsV1().DaemonSets("agents").Delete(
		t.Context(), "agent", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster to be empty", empty(setup))
}
