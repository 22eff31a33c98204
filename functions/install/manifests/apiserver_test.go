package manifests

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
)

// fieldManager is the field manager of the test's writes.
const fieldManager = "whittle-install"

// TestAPIServer installs all manifests in a real API server. It then checks objects and the
// functions' rights.
func TestAPIServer(t *testing.T) {
	client := startAPIServer(t)
	t.Run("install", func(t *testing.T) {
		install(t, client)
		// Applying again must change nothing and not fail.
		install(t, client)
	})
	if t.Failed() {
		return
	}
	t.Run("defaults", func(t *testing.T) { checkDefaults(t, client) })
	t.Run("refused", func(t *testing.T) { checkRefused(t, client) })
	t.Run("accepted", func(t *testing.T) { checkAccepted(t, client) })
	t.Run("changes", func(t *testing.T) { checkChanges(t, client) })
	t.Run("status", func(t *testing.T) { checkStatus(t, client) })
	t.Run("rights", func(t *testing.T) { checkRights(t, client) })
	t.Run("people", func(t *testing.T) { checkPeople(t, client) })
}

func startAPIServer(t *testing.T) dynamic.Interface {
	t.Helper()
	binary, err := kubernetes.Build(t.Context(), filepath.Join("..", "..", ".."), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	controlPlane, err := kubernetes.Start(t.Context(), kubernetes.Options{Binary: binary, Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = controlPlane.Stop() })
	client, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func install(t *testing.T, client dynamic.Interface) {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		apply(
			t, client,
			schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
			crd,
		)
	}
	for _, crd := range crds {
		waitEstablished(t, client, crd.GetName())
	}
	namespace, err := Namespace()
	if err != nil {
		t.Fatal(err)
	}
	apply(t, client, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, namespace)
	for _, object := range rbac(t) {
		resource := strings.ToLower(object.GetKind()) + "s"
		apply(
			t, client, schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource},
			object,
		)
	}
}

func apply(
	t *testing.T, client dynamic.Interface, resource schema.GroupVersionResource, object unstructured.Unstructured,
) {
	t.Helper()
	_, err := client.Resource(resource).Namespace(object.GetNamespace()).Apply(
		t.Context(), object.GetName(), &object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true},
	)
	if err != nil {
		t.Errorf("applying %s %q: %v", object.GetKind(), object.GetName(), err)
	}
}

func waitEstablished(t *testing.T, client dynamic.Interface, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	crds := client.Resource(
		schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	)
	for {
		crd, err := crds.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatalf("definition %q: %v", name, err)
		}
		// A new definition briefly has no conditions, or null.
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		status := map[string]string{}
		for _, condition := range conditions {
			c := condition.(map[string]any)
			status[c["type"].(string)] = fmt.Sprintf("%s %v", c["status"], c["message"])
		}
		if strings.HasPrefix(status["Established"], "True") {
			if schema, ok := status["NonStructuralSchema"]; ok {
				t.Fatalf("definition %q has no structural schema: %s", name, schema)
			}
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("definition %q is not established: %v", name, status)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// objectIn decodes an object from YAML.
func objectIn(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &object.Object); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return object
}

func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	switch object.GetKind() {
	case api.NodePoolKind:
		return api.NodePoolGVR()
	case api.NodeClaimKind:
		return api.NodeClaimGVR()
	case api.NodeOverlayKind:
		return api.NodeOverlayGVR()
	default:
		return api.EC2NodeClassGVR()
	}
}

func create(t *testing.T, client dynamic.Interface, object *unstructured.Unstructured, dryRun bool) (
	*unstructured.Unstructured, error,
) {
	t.Helper()
	options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return client.Resource(resourceOf(object)).Create(t.Context(), object, options)
}

// checkDefaults compares the API server's defaults with those of Default.
func checkDefaults(t *testing.T, client dynamic.Interface) {
	for _, text := range []string{smallestNodePool, smallestNodeClaim, smallestNodeOverlay, smallestEC2NodeClass} {
		object := objectIn(t, text)
		t.Run(object.GetKind(), func(t *testing.T) {
			created, err := create(t, client, object.DeepCopy(), true)
			if err != nil {
				t.Fatal(err)
			}
			got, want := specJSON(t, created), ""
			switch object.GetKind() {
			case api.NodePoolKind:
				want = defaultedSpec[api.NodePool](t, object)
			case api.NodeClaimKind:
				want = defaultedSpec[api.NodeClaim](t, object)
			case api.NodeOverlayKind:
				want = defaultedSpec[api.NodeOverlay](t, object)
			case api.EC2NodeClassKind:
				want = defaultedSpec[api.EC2NodeClass](t, object)
			}
			if got != want {
				t.Errorf("the API server's defaults give\n%s\nand Default gives\n%s", got, want)
			}
		})
	}
}

// defaultedSpec decodes an object into our type, defaults it, and returns its spec.
func defaultedSpec[T any, P interface {
	*T
	Default()
	Validate() error
}](t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	typed := P(new(T))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		t.Fatal(err)
	}
	typed.Default()
	if err := typed.Validate(); err != nil {
		t.Errorf("what the API server accepts does not validate: %v", err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	return specJSON(t, &unstructured.Unstructured{Object: content})
}

// decodeAndValidate decodes an object into our type, defaults and validates it. A decoding error
// counts as invalid.
func decodeAndValidate[T any, P interface {
	*T
	Default()
	Validate() error
}](object *unstructured.Unstructured) error {
	typed := P(new(T))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return err
	}
	typed.Default()
	return typed.Validate()
}

func specJSON(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.MarshalIndent(object.Object["spec"], "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edited returns a copy of the object with one field replaced, by its path of map keys.
func edited(t *testing.T, text string, value any, path ...string) *unstructured.Unstructured {
	t.Helper()
	object := objectIn(t, text)
	if value == nil {
		unstructured.RemoveNestedField(object.Object, path...)
		return object
	}
	// The setter accepts JSON types only.
	var plain any
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, &plain)
	}
	if err == nil {
		err = unstructured.SetNestedField(object.Object, plain, path...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// checkChanges creates objects and checks which changes the API server accepts.
func checkChanges(t *testing.T, client dynamic.Interface) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			before := objectIn(t, c.object)
			before.SetName("")
			before.SetGenerateName("change-")
			created, err := create(t, client, before, false)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Resource(resourceOf(created)).Patch(
				t.Context(), created.GetName(), types.MergePatchType, []byte(c.patch), metav1.PatchOptions{},
			)
			checkRefusal(t, err, c.refused)
		})
	}
}

// checkRefusal checks that the API server refuses with the given text. Without a text it checks
// that there is no error.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want a refusal with %q", want)
	case want != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want)):
		t.Errorf("refused with\n%v\nwant %q", err, want)
	}
}

// checkStatus writes statuses as the functions do, and reads them into our types.
func checkStatus(t *testing.T, client dynamic.Interface) {
	claim := objectIn(t, smallestNodeClaim)
	claim.SetName("with-status")
	if _, err := create(t, client, claim, false); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var conditions []metav1.Condition
	api.SetCondition(&conditions, metav1.Condition{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue}, now)
	api.SetReady(&conditions, api.NodeClaimReadyDependents(), 1, now)
	patch, err := json.Marshal(
		map[string]any{
			"status": api.NodeClaimStatus{
				ProviderID: api.ProviderID("us-east-1a", "i-0123456789abcdef0"), Conditions: conditions,
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(api.NodeClaimGVR()).Patch(
		t.Context(), "with-status", types.MergePatchType, patch, metav1.PatchOptions{}, "status",
	); err != nil {
		t.Fatal(err)
	}
	read, err := client.Resource(api.NodeClaimGVR()).Get(t.Context(), "with-status", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got api.NodeClaim
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(read.Object, &got, true); err != nil {
		t.Fatal(err)
	}
	if !api.ConditionTrue(got.Status.Conditions, api.ConditionTypeLaunched) ||
		api.ConditionTrue(got.Status.Conditions, api.ConditionReady) {
		t.Errorf("conditions came back as %v", got.Status.Conditions)
	}
	if id, ok := api.InstanceID(got.Status.ProviderID); !ok || id != "i-0123456789abcdef0" {
		t.Errorf("providerID came back as %q", got.Status.ProviderID)
	}
}

// checkRights asks the API server for the rights of each group.
func checkRights(t *testing.T, client dynamic.Interface) {
	reviews := client.Resource(
		schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"},
	)
	for _, r := range rights() {
		for _, function := range []string{"provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog", "console"} {
			want := strings.Contains(" "+r.allowed+" ", " "+function+" ")
			review := authorizationv1.SubjectAccessReview{
				TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SubjectAccessReview"},
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: "function", Groups: []string{"whittle:" + function, "system:authenticated"},
					ResourceAttributes: &r.attributes,
				},
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&review)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := reviews.Create(t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
			if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%s may %+v: %v, want %v", function, r.attributes, got, want)
			}
		}
	}
}

// checkPeople waits until Kubernetes has aggregated our rules into its roles for people.
func checkPeople(t *testing.T, client dynamic.Interface) {
	roles := client.Resource(
		schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	)
	for role, verb := range map[string]string{"view": "watch", "admin": "delete"} {
		for attempt := 0; ; attempt++ {
			object, err := roles.Get(t.Context(), role, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rules, _ := rulesOf(t, *object)
			if allows(rules, verb, api.NodePoolResource) && allows(rules, verb, api.EC2NodeClassResource) &&
				allows(rules, verb, api.NodeOverlayResource) {
				break
			}
			if attempt == 100 {
				t.Fatalf("the role %q does not allow to %s our objects: %v", role, verb, rules)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	edit, err := roles.Get(t.Context(), "edit", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rules, _ := rulesOf(t, *edit); allows(rules, "create", api.NodePoolResource) {
		t.Errorf("the role edit may create node pools")
	}
}

func allows(rules []rbacv1.PolicyRule, verb, resource string) bool {
	return slices.ContainsFunc(rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, verb) && slices.Contains(rule.Resources, resource)
	})
}
