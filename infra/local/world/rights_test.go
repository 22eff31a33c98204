package world_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/infra/local/kubernetes"
	"github.com/whittle-dev/whittle/infra/local/world"
)

// unused are rights in AWS that no scenario needs, each with its reason. The keys are function, statement and action.
func unused() map[string]string {
	return map[string]string{}
}

// everyRightWasUsed compares what the deployed roles allow with what the local AWS asked them about in all the scenarios.
func everyRightWasUsed(t *testing.T, w *world.World) {
	excused := unused()
	for _, function := range []string{"ticker", "provision", "interrupt", "lifecycle", "disrupt", "catalog", "install"} {
		rights, err := w.Rights(function)
		if err != nil || len(rights) == 0 {
			t.Fatalf("%s has the rights %v, %v", function, rights, err)
		}
		for _, right := range rights {
			key := function + " " + right.Sid + " " + right.Action
			if why := excused[key]; !right.Used && why == "" {
				t.Errorf("%s: granted, and never used", key)
			}
			delete(excused, key)
		}
	}
	for key := range excused {
		t.Errorf("%s is excused, and not granted", key)
	}
}

// unasked are rights in the cluster that no scenario needs, each with its reason.
func unasked() map[string]string {
	return map[string]string{}
}

// everyVerbWasUsed compares the functions' roles in the cluster with what the API server was asked.
func everyVerbWasUsed(t *testing.T, w *world.World) {
	requests, err := w.Requests()
	if err != nil || len(requests) == 0 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	asked := map[string]bool{}
	for _, request := range requests {
		for _, group := range request.Groups {
			asked[key(group, request)] = true
		}
	}
	roles, err := manifests.RBAC()
	if err != nil {
		t.Fatal(err)
	}
	excused := unasked()
	for _, object := range roles {
		if kind := object.GetKind(); kind != "Role" && kind != "ClusterRole" || slices.Contains([]string{"whittle:view", "whittle:admin"}, object.GetName()) {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						key := key(role.Name, kubernetes.Request{Verb: verb, APIGroup: group, Resource: resource})
						if !asked[key] && excused[key] == "" {
							t.Errorf("%s: granted, and never used", key)
						}
						delete(excused, key)
					}
				}
			}
		}
	}
	for key := range excused {
		t.Errorf("%s is excused, and not granted", key)
	}
}

func key(role string, request kubernetes.Request) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", strings.TrimPrefix(role, "whittle:"), request.Verb, request.Resource, request.APIGroup))
}
