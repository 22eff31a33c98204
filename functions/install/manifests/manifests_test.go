package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

func TestCRDsAreTheKinds(t *testing.T) {
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, crd := range crds {
		if crd.GetKind() != "CustomResourceDefinition" {
			t.Errorf("%s %q is among the definitions", crd.GetKind(), crd.GetName())
		}
		got = append(got, crd.GetName())
	}
	slices.Sort(got)
	want := []string{
		api.EC2NodeClassCRD, api.NodeClaimCRD, api.NodePoolCRD, api.NodeOverlayCRD, legacy.ProvisionerCRD,
		legacy.AWSNodeTemplateCRD, api.CapacityBufferResource + "." + api.AutoscalingGroup,
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("definitions %q, want %q", got, want)
	}
}

func TestNamespace(t *testing.T) {
	namespace, err := Namespace()
	if err != nil {
		t.Fatal(err)
	}
	if namespace.GetKind() != "Namespace" || namespace.GetName() != SystemNamespace {
		t.Errorf("got %s %q, want the namespace %q", namespace.GetKind(), namespace.GetName(), SystemNamespace)
	}
}

func TestHashIsStable(t *testing.T) {
	first := Hash()
	if len(first) != 64 || strings.Trim(first, "0123456789abcdef") != "" {
		t.Errorf("hash %q is not a SHA-256 sum in hex", first)
	}
	if second := Hash(); second != first {
		t.Errorf("the hash changed from %q to %q", first, second)
	}
}

// TestFunctionsHaveNoRightTooMuch checks rights that no function may ever have.
func TestFunctionsHaveNoRightTooMuch(t *testing.T) {
	for _, object := range rbac(t) {
		rules, ok := rulesOf(t, object)
		if !ok {
			continue
		}
		name := fmt.Sprintf("%s %s %s", object.GetKind(), object.GetNamespace(), object.GetName())
		for _, rule := range rules {
			all := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)
			if slices.ContainsFunc(all, func(word string) bool { return strings.Contains(word, "*") }) {
				t.Errorf("%s: the rule %v has a wildcard", name, rule)
			}
			for _, verb := range []string{"deletecollection", "escalate", "bind", "impersonate"} {
				if slices.Contains(rule.Verbs, verb) {
					t.Errorf("%s: the rule %v allows %s", name, rule, verb)
				}
			}
			for _, resource := range []string{"secrets", "serviceaccounts/token", "nodes/proxy", "pods/exec"} {
				if slices.Contains(rule.Resources, resource) {
					t.Errorf("%s: the rule %v is for %s", name, rule, resource)
				}
			}
			if slices.Contains(rule.Resources, "configmaps") && object.GetNamespace() != SystemNamespace {
				t.Errorf("%s: the rule %v is for ConfigMaps outside of %s", name, rule, SystemNamespace)
			}
			sweeps := object.GetName() == "whittle:lifecycle" && object.GetNamespace() == "kube-node-lease" &&
				slices.Equal(rule.Verbs, []string{"list", "delete"})
			if slices.Contains(rule.Resources, "leases") && object.GetNamespace() != SystemNamespace && !sweeps &&
				(!slices.Equal(rule.Verbs, []string{"list"}) ||
					!slices.Equal(rule.ResourceNames, []string{"karpenter-leader-election"})) {
				t.Errorf("%s: the rule %v is for more than reading Karpenter's lease", name, rule)
			}
		}
	}
}

// TestEveryRoleIsBoundToItsGroup checks that each role has a binding to the group of the same name,
// and that each binding has its role.
func TestEveryRoleIsBoundToItsGroup(t *testing.T) {
	roles, bindings := map[string]bool{}, map[string]bool{}
	for _, object := range rbac(t) {
		place := object.GetNamespace() + "/" + object.GetName()
		switch object.GetKind() {
		case "ClusterRole", "Role":
			// People bind the roles that a namespace offers.
			given := []string{"whittle:restart", "whittle:planner"} // people bind them
			if !isAggregated(object) && !slices.Contains(given, object.GetName()) {
				roles[place] = true
			}
		case "ClusterRoleBinding", "RoleBinding":
			bindings[place] = true
			var binding rbacv1.ClusterRoleBinding
			decode(t, object, &binding)
			if binding.RoleRef.Name != object.GetName() || binding.RoleRef.Kind+"Binding" != object.GetKind() {
				t.Errorf("%s %s binds %s %s, want the role of its own name", object.GetKind(), place, binding.RoleRef.Kind,
					binding.RoleRef.Name)
			}
			if len(binding.Subjects) != 1 || binding.Subjects[0].Kind != "Group" ||
				binding.Subjects[0].Name != object.GetName() {
				t.Errorf("%s %s is for %v, want the group of its own name alone", object.GetKind(), place, binding.Subjects)
			}
		default:
			t.Errorf("%s %s is no role and no binding", object.GetKind(), place)
		}
	}
	for place := range roles {
		if !bindings[place] {
			t.Errorf("the role %s is not bound", place)
		}
	}
	for place := range bindings {
		if !roles[place] {
			t.Errorf("the binding %s has no role", place)
		}
	}
	for _, function := range []string{"provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog"} {
		if !roles[SystemNamespace+"/whittle:"+function] {
			t.Errorf("%s has no role in %s", function, SystemNamespace)
		}
	}
}

// TestPeopleHaveRightsToEveryKind checks that the roles for people name each kind that install
// defines.
func TestPeopleHaveRightsToEveryKind(t *testing.T) {
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string][]rbacv1.PolicyRule{}
	for _, object := range rbac(t) {
		if isAggregated(object) {
			roles[object.GetName()], _ = rulesOf(t, object)
		}
	}
	for role, verb := range map[string]string{"whittle:view": "watch", "whittle:admin": "delete"} {
		for _, crd := range crds {
			plural, group, _ := strings.Cut(crd.GetName(), ".")
			if !slices.ContainsFunc(roles[role], func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.APIGroups, group) && slices.Contains(rule.Resources, plural) &&
					slices.Contains(rule.Verbs, verb)
			}) {
				t.Errorf("the role %s does not allow to %s %s", role, verb, crd.GetName())
			}
		}
	}
}

func rbac(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	objects, err := RBAC()
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) == 0 {
		t.Fatal("there are no roles")
	}
	return objects
}

func rulesOf(t *testing.T, object unstructured.Unstructured) ([]rbacv1.PolicyRule, bool) {
	t.Helper()
	if object.GetKind() != "ClusterRole" && object.GetKind() != "Role" {
		return nil, false
	}
	var role rbacv1.ClusterRole
	decode(t, object, &role)
	if len(role.Rules) == 0 {
		t.Errorf("%s %q has no rules", object.GetKind(), object.GetName())
	}
	return role.Rules, true
}

// isAggregated reports whether Kubernetes adds the role to one of its own.
func isAggregated(object unstructured.Unstructured) bool {
	for label := range object.GetLabels() {
		if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
			return true
		}
	}
	return false
}

func decode(t *testing.T, object unstructured.Unstructured, into any) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
		t.Fatalf("decoding %s %q: %v", object.GetKind(), object.GetName(), err)
	}
}

// TestViewLeavesMachinesOut checks that no role which Kubernetes adds to its own reads kinds that view
// leaves out, and that the role for plans does.
func TestViewLeavesMachinesOut(t *testing.T) {
	readers := map[string][]string{}
	for _, object := range rbac(t) {
		rules, _ := rulesOf(t, object)
		for _, rule := range rules {
			for _, kind := range []string{"nodes", "persistentvolumes", "csinodes"} {
				if slices.Contains(rule.Resources, kind) && (isAggregated(object) || object.GetName() == "whittle:planner") {
					readers[kind] = append(readers[kind], object.GetName())
				}
			}
		}
	}
	for _, kind := range []string{"nodes", "persistentvolumes", "csinodes"} {
		if !slices.Equal(readers[kind], []string{"whittle:planner"}) {
			t.Errorf("%s is read by %v, want whittle:planner alone", kind, readers[kind])
		}
	}
}
