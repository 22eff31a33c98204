package world_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// tickLifecycle sends the tick of the next minute at once.
func tickLifecycle(t *testing.T, w *world.World, setup scenario.Setup) {
	t.Helper()
	tick, err := json.Marshal(queue.Message{Cluster: setup.Name, At: time.Now(), Reason: queue.ReasonTick})
	if err == nil {
		err = w.Send("lifecycle", string(tick))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// provisioners runs workloads on the nodes of Provisioners, which the cluster has no controller for
// but Whittle. A deleted node is replaced, an empty one goes, and a deleted Provisioner takes its
// nodes with it.
func provisioners(t *testing.T, w *world.World, setup scenario.Setup, variables map[string]string) {
	profile, err := w.NodeProfile()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"INSTANCE_PROFILE": profile, "LIMIT": "50"}
	maps.Copy(all, variables)
	apply := func() {
		t.Helper()
		if err := setup.Client.Apply(t.Context(), manifest(setup, "provisioner.yaml"), all); err != nil {
			t.Fatal(err)
		}
		tickLifecycle(t, w, setup)
	}
	apply()
	running := func(app string) { wait(t, app+" to run", setup.Client.Running("default", "app="+app, 1)) }
	running("inflate-inline")
	running("inflate-templated")
	wait(t, "the nodes to be initialized", initialized(setup))
	checkNodes(t, setup)
	claims, err := setup.Client.NodeClaims(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range claims {
		pool := claims[i].Labels[api.NodePoolLabelKey]
		life := map[string]string{"inline": "3600s", "templated": api.Never}[pool]
		if claims[i].Spec.ExpireAfter.String() != life || claims[i].Labels[api.ProvisionerNameLabelKey] != pool {
			t.Errorf("claim %s of %s lives %s, and has the labels %v", claims[i].Name, pool, claims[i].Spec.ExpireAfter,
				claims[i].Labels)
		}
	}
	scaleDown := func(name string) {
		t.Helper()
		if err := setup.Client.Scale(t.Context(), "default", "inflate-"+name, 0); err != nil {
			t.Fatal(err)
		}
	}
	all["LIMIT"] = "60"
	apply() // changes the pool and its class
	// While the other node is replaced, this one has the time that an empty node would go in.
	scaleDown("templated")
	replaced(t, w, setup)
	wait(t, "the Provisioner's status", func(ctx context.Context) (bool, string, error) {
		old, err := provisioner(ctx, setup, "templated")
		if err != nil {
			return false, "", err
		}
		supported := api.GetCondition(old.Status.Conditions, api.ConditionTypeSupported)
		said := supported != nil && strings.Contains(supported.Message, "containerRuntime") &&
			strings.Contains(supported.Message, "AL2023")
		cpu := old.Status.Resources["cpu"]
		return said && !cpu.IsZero(), fmt.Sprintf("%+v", old.Status), nil
	})
	wait(t, "the change", func(ctx context.Context) (bool, string, error) {
		pools, err := setup.Cluster.NodePools(ctx)
		for i := range pools {
			if limit := pools[i].Spec.Limits["cpu"]; pools[i].Name == "inline" && limit.String() == "60" {
				return true, "", nil
			}
		}
		return false, "the limit is the old one", err
	})
	scaleDown("inline")
	wait(t, "the empty node to go", without(setup, "inline"))
	// The other Provisioner keeps its empty node, and takes it with it.
	wait(t, "the empty node without a ttl to stay", initialized(setup))
	for _, name := range []string{"inline", "templated"} {
		if err := setup.Client.Objects.Resource(provisionersResource()).Delete(
			t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "the cluster to be empty", empty(setup))
}

// replaced deletes the node of a Provisioner, whose pod then runs on another.
func replaced(t *testing.T, w *world.World, setup scenario.Setup) {
	t.Helper()
	pods, err := setup.Client.Pods(t.Context(), "default", "app=inflate-inline")
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d pods, %v", len(pods), err)
	}
	before := pods[0].Spec.NodeName
	if err := setup.Client.Core.CoreV1().Nodes().Delete(t.Context(), before, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	tickLifecycle(t, w, setup)
	wait(t, "the pod to run on another node", func(ctx context.Context) (bool, string, error) {
		pods, err := setup.Client.Pods(ctx, "default", "app=inflate-inline")
		if err != nil || len(pods) != 1 {
			return false, fmt.Sprintf("%d pods", len(pods)), err
		}
		return pods[0].Spec.NodeName != "" && pods[0].Spec.NodeName != before && pods[0].Status.Phase == "Running",
			string(pods[0].Status.Phase), nil
	})
}

// without reports whether a pool has no claim.
func without(setup scenario.Setup, pool string) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		claims, err := setup.Client.NodeClaims(ctx)
		for i := range claims {
			if claims[i].Labels[api.NodePoolLabelKey] == pool {
				return false, claims[i].Name + " is there", err
			}
		}
		return true, "", err
	}
}

func provisionersResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: api.Group, Version: "v1alpha5", Resource: legacy.ProvisionerResource}
}

func provisioner(ctx context.Context, setup scenario.Setup, name string) (*legacy.Provisioner, error) {
	list, err := setup.Cluster.Provisioners(ctx)
	for i := range list {
		if list[i].Name == name {
			return &list[i], nil
		}
	}
	if err == nil {
		err = fmt.Errorf("there is no Provisioner %q", name)
	}
	return nil, err
}
