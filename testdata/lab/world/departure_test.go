package world_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// departures has AWS announce the end of an instance with a pod, and then stops the instance that
// replaced it.
func departures(t *testing.T, w *world.World, setup scenario.Setup) {
	client := setup.Client
	if err := client.Scale(t.Context(), "default", "inflate", 1); err != nil {
		t.Fatal(err)
	}
	wait(t, "the pod to run", client.Running("default", "app=inflate", 1))
	old := host(t, setup)
	wait(t, "the node to be initialized", func(ctx context.Context) (bool, string, error) {
		claim, err := claimOf(ctx, setup, old)
		return err == nil && claim != nil && api.ConditionTrue(claim.Status.Conditions, api.ConditionReady), "", err
	})
	// Two days are enough for a replacement that comes first.
	if err := w.EC2.Retire(instanceOf(t, old), "", time.Now().Add(48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	wait(t, "the node to leave once its replacement is there", func(ctx context.Context) (bool, string, error) {
		claims, err := client.NodeClaims(ctx)
		if err != nil {
			return false, "", err
		}
		present := false
		replacements := map[string]bool{}
		var leaving *api.NodeClaim
		for i := range claims {
			claim := &claims[i]
			if claim.Status.ProviderID == old.Spec.ProviderID {
				present = true
				if claim.DeletionTimestamp != nil {
					leaving = claim
				}
			} else if claim.Annotations[disruption.ReplacesAnnotationKey] != "" {
				replacements[claim.Name] = api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeInitialized)
			}
		}
		if leaving != nil && !replacements[leaving.Annotations[disruption.ReplacedByAnnotationKey]] {
			t.Errorf("claim %s leaves though its replacement %q is not there among %v", leaving.Name,
				leaving.Annotations[disruption.ReplacedByAnnotationKey], replacements)
		}
		return !present, fmt.Sprintf("replacements %v", replacements), nil
	})
	wait(t, "the pod to run again", client.Running("default", "app=inflate", 1))

	replacement := host(t, setup)
	if replacement.Name == old.Name {
		t.Fatal("the pod runs where it was")
	}
	if err := w.EC2.Stop(instanceOf(t, replacement)); err != nil {
		t.Fatal(err)
	}
	wait(t, "the pod to run on a third node", func(ctx context.Context) (bool, string, error) {
		running, state, err := client.Running("default", "app=inflate", 1)(ctx)
		if err != nil || !running {
			return false, state, err
		}
		pods, err := client.Pods(ctx, "default", "app=inflate")
		return err == nil && len(pods) == 1 && pods[0].Spec.NodeName != replacement.Name, "it is where it was", err
	})
	if err := client.Scale(t.Context(), "default", "inflate", 0); err != nil {
		t.Fatal(err)
	}
	wait(t, "the cluster to be empty", empty(setup))
}

// host returns the node of the only pod.
func host(t *testing.T, setup scenario.Setup) corev1.Node {
	t.Helper()
	pods, err := setup.Client.Pods(t.Context(), "default", "app=inflate")
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d pods, %v", len(pods), err)
	}
	nodes, err := setup.Client.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		if nodes[i].Name == pods[0].Spec.NodeName {
			return nodes[i]
		}
	}
	t.Fatalf("the pod is on no node among %d", len(nodes))
	return corev1.Node{}
}

func instanceOf(t *testing.T, node corev1.Node) string {
	t.Helper()
	id, ours := api.InstanceID(node.Spec.ProviderID)
	if !ours {
		t.Fatalf("node %s has the providerID %q", node.Name, node.Spec.ProviderID)
	}
	return id
}

// claimOf returns the node's claim; nil for none.
func claimOf(ctx context.Context, setup scenario.Setup, node corev1.Node) (*api.NodeClaim, error) {
	claims, err := setup.Client.NodeClaims(ctx)
	for i := range claims {
		if claims[i].Status.ProviderID == node.Spec.ProviderID {
			return &claims[i], err
		}
	}
	return nil, err
}
