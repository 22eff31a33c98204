package schedulertest

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
)

// controlPlane serves all tests of the package. TestMain sets it.
var controlPlane *cluster

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		connected, err := connect(started.RESTConfig())
		if err != nil {
			return err
		}
		controlPlane = connected
		return prepare(context.Background(), connected)
	}))
}

// prepare creates what all scenarios share: a priority class that forbids preemption. A vain
// attempt to preempt makes the scheduler forget a pod's nominated node.
func prepare(ctx context.Context, c *cluster) error {
	never := corev1.PreemptNever
	return c.create(ctx, priorityClasses, "", &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: "waits-its-turn"}, GlobalDefault: true, PreemptionPolicy: &never,
	})
}
