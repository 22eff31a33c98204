package world_test

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// commitments buys Reserved Instances for two nodes, and needs three. Two nodes come within what is
// paid for, and no unit pays for two nodes. The pods are those of the zonal shift, which need a
// node each.
func commitments(t *testing.T, w *world.World, setup scenario.Setup) {
	_, err := w.EC2.BuyReservedInstances(ec2.ReservedInstances{InstanceType: "m6i.large", Count: 2, Hourly: 0.06})
	if err != nil {
		t.Fatal(err)
	}
	// A plan of a family that no NodePool may use: it is read, and pays for nothing.
	_, err = w.SavingsPlans.Buy(savingsplans.Plan{
		Type: savingsplans.EC2Instance, Family: "x2gd", Region: world.Region, Commitment: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	counts := setup.Client.Core.CoreV1().ConfigMaps("whittle-system")
	before, err := counts.Get(t.Context(), "whittle-commitments-used", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err := w.InvokeFunction(t.Context(), "catalog", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	wait(t, "the commitments to be read", func(context.Context) (bool, string, error) {
		return logged(w, "catalog", "read the commitments", `"reserved":1,"plans":1`), "", nil
	})
	tickLifecycle(t, w, setup)
	wait(t, "their use to be counted", func(ctx context.Context) (bool, string, error) {
		now, err := counts.Get(ctx, "whittle-commitments-used", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, "nothing is counted", nil
		}
		return err == nil && now.ResourceVersion != before.ResourceVersion, "the count is old", err
	})
	if err := setup.Client.Scale(t.Context(), "default", "free", 3); err != nil {
		t.Fatal(err)
	}
	wait(t, "the pods to run", setup.Client.Running("default", "app=free", 3))
	wait(t, "their nodes to be initialized", initialized(setup))
	claims, err := setup.Client.NodeClaims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paid := 0
	for i := range claims {
		if claims[i].DeletionTimestamp != nil || claims[i].Annotations[api.CommitmentAnnotationKey] == "" {
			continue
		}
		paid++
		if is := claims[i].Labels["node.kubernetes.io/instance-type"]; is != "m6i.large" {
			t.Errorf("the commitment %q pays for a node of %s", claims[i].Annotations[api.CommitmentAnnotationKey], is)
		}
	}
	if paid != 2 {
		t.Errorf("commitments pay for %d nodes, want 2", paid)
	}
	if err := setup.Client.Scale(t.Context(), "default", "free", 0); err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster to be empty", empty(setup))
}

// logged reports whether a function has logged a line with both texts.
func logged(w *world.World, function, message, more string) bool {
	for _, line := range w.FunctionLog(function) {
		if strings.Contains(line, message) && strings.Contains(line, more) {
			return true
		}
	}
	return false
}
