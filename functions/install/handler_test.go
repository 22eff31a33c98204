package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/function"
)

var (
	creation = cfn.Event{RequestType: cfn.RequestCreate}
	deletion = cfn.Event{RequestType: cfn.RequestDelete, PhysicalResourceID: "whittle-install-prod"}
)

func TestInstalledTwiceEndsTheSame(t *testing.T) {
	wipe(t)
	i := newInstallation(t)
	rights, err := manifests.RBAC()
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []cfn.Event{
		creation, creation, {RequestType: cfn.RequestUpdate, PhysicalResourceID: "whittle-install-prod"},
	} {
		id, data, err := i.handle(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if id != "whittle-install-prod" || data["Definitions"] != len(definitions(t)) || data["KeptDefinitions"] != 0 ||
			data["Rights"] != len(rights) {
			t.Errorf("%s: %q, %v", request.RequestType, id, data)
		}
		if lacks := missing(t, append(installed(t), definitions(t)...)); len(lacks) > 0 {
			t.Errorf("%s: the cluster lacks %q", request.RequestType, lacks)
		}
	}
	if got := i.invocations.Load(); got != 3 {
		t.Errorf("the catalogue was asked for %d times, want once each time", got)
	}
}

// TestADryRunChangesNoRightsOfPeople holds what an installation for a dry run leaves out, in an empty
// cluster and after an installation that acts.
func TestADryRunChangesNoRightsOfPeople(t *testing.T) {
	wipe(t)
	i := newInstallation(t)
	i.dryRun = true
	if _, err := i.install(t.Context(), cfn.RequestCreate); err != nil {
		t.Fatal(err)
	}
	needed, err := manifests.FunctionRBAC()
	if err != nil {
		t.Fatal(err)
	}
	if lacks := missing(t, append(needed, definitions(t)...)); len(lacks) > 0 {
		t.Errorf("the cluster lacks %q", lacks)
	}
	lacks := missing(t, installed(t))
	for _, want := range []string{"whittle:view", "whittle:admin", "whittle:planner"} {
		if !slices.ContainsFunc(lacks, func(name string) bool { return strings.HasSuffix(name, want) }) {
			t.Errorf("there is %s: only %q are not", want, lacks)
		}
	}
	policies, err := manifests.Admission(i.admission)
	if err != nil || len(policies) == 0 {
		t.Fatal(policies, err)
	}
	if absent := missing(t, policies); len(absent) != len(policies) {
		t.Errorf("of %d policies and bindings only %q are not there", len(policies), absent)
	}
	complete(t, "after the dry run")
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatal(err)
	}
	if lacks := missing(t, installed(t)); len(lacks) > 0 {
		t.Errorf("a later dry run took %q", lacks)
	}
}

// TestEndedAfterAnyCall cuts the line after each call of an installation, and then installs again.
func TestEndedAfterAnyCall(t *testing.T) {
	complete(t, "at first")
	// The count is of a repeated installation: a first one may wait for its definitions.
	whole := newInstallation(t)
	if _, err := whole.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatal(err)
	}
	calls := whole.line.calls.Load()
	if defining := calls - int64(len(installed(t))+len(needs())); defining < 6 {
		t.Fatalf("an installation took %d calls, of which %d for definitions", calls, defining)
	}
	// Each run gets one call further in an empty cluster. The next run continues from there.
	wipe(t)
	for cut := range calls {
		ended(t, cut)
	}
	complete(t, "one call further each time")
}

// ended installs over a line that fails after so many calls.
func ended(t *testing.T, cut int64) {
	t.Helper()
	i := newInstallation(t)
	i.line.cut.Store(cut)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); !errors.Is(err, errCut) {
		t.Fatalf("cut after call %d: %v", cut, err)
	}
	if i.invocations.Load() != 0 {
		t.Errorf("cut after call %d: the catalogue was asked for before all was there", cut)
	}
}

// complete installs without failures, and checks that every object exists.
func complete(t *testing.T, when string) {
	t.Helper()
	if _, err := newInstallation(t).install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	if lacks := missing(t, append(installed(t), definitions(t)...)); len(lacks) > 0 {
		t.Errorf("%s: the cluster lacks %q", when, lacks)
	}
}

func TestAFailedCatalogueFailsTheInstallation(t *testing.T) {
	i := newInstallation(t)
	i.lambdaFails.Store(true)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err == nil || !strings.Contains(err.Error(), `"whittle-prod-catalog"`) {
		t.Errorf("error is %v", err)
	}
}

func TestKarpentersDefinitionsAreKept(t *testing.T) {
	wipe(t)
	for _, definition := range definitions(t) {
		foreign(t, &definition)
	}
	data, err := newInstallation(t).install(t.Context(), cfn.RequestUpdate)
	if err != nil || data["Definitions"] != 0 || data["KeptDefinitions"] != len(definitions(t)) {
		t.Errorf("%v, %v", data, err)
	}
	for _, definition := range definitions(t) {
		if by := managers(t, &definition); slices.Contains(by, cluster.FieldManager) {
			t.Errorf("%s is written by %q", definition.GetName(), by)
		}
	}
	if lacks := missing(t, installed(t)); len(lacks) > 0 {
		t.Errorf("the cluster lacks %q", lacks)
	}
}

// older installs the named definition as another one's, with the version v1beta0 alone.
func older(t *testing.T, name string) unstructured.Unstructured {
	t.Helper()
	all := definitions(t)
	old := all[slices.IndexFunc(all, func(d unstructured.Unstructured) bool { return d.GetName() == name })]
	versions, _, err := unstructured.NestedSlice(old.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	versions[0].(map[string]any)["name"] = "v1beta0"
	if err := unstructured.SetNestedSlice(old.Object, versions[:1], "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	foreign(t, &old)
	return old
}

// TestAnOlderDefinitionOfBuffersIsKept has one of another autoscaler.
func TestAnOlderDefinitionOfBuffersIsKept(t *testing.T) {
	wipe(t)
	old := older(t, api.CapacityBufferResource+"."+api.AutoscalingGroup)
	if _, err := newInstallation(t).install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Error(err)
	}
	if by := managers(t, &old); slices.Contains(by, cluster.FieldManager) {
		t.Errorf("the old definition is written by %q", by)
	}
	wipe(t)
}

func TestDefinitionsWithoutTheVersionAreRefusedByName(t *testing.T) {
	wipe(t)
	old := older(t, api.NodePoolCRD)
	i := newInstallation(t)
	_, err := i.install(t.Context(), cfn.RequestUpdate)
	for _, part := range []string{old.GetName(), "helm", "v1beta0", "upgrade Karpenter's CRDs first"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want one that says %q", err, part)
		}
	}
	if by := managers(t, &old); slices.Contains(by, cluster.FieldManager) {
		t.Errorf("the old definition is written by %q", by)
	}
	wipe(t)
}

func TestDeletingKeepsDefinitionsAndNodePools(t *testing.T) {
	wipe(t)
	i := newInstallation(t)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatal(err)
	}
	pool := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "general"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
			"requirements": []any{},
			"nodeClassRef": map[string]any{"group": api.AWSGroup, "kind": api.EC2NodeClassKind, "name": "default"},
		}}},
	}}
	if _, err := objects(t).Resource(api.NodePoolGVR()).Create(t.Context(), pool, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is left to remove
		if id, _, err := i.handle(t.Context(), deletion); err != nil || id != "whittle-install-prod" {
			t.Fatalf("%q, %v", id, err)
		}
	}
	if kept := missing(t, installed(t)); len(kept) != len(installed(t))-1 {
		t.Errorf("gone are %q, want all rights and not the namespace", kept)
	}
	if lacks := missing(t, append(definitions(t), *pool)); len(lacks) > 0 {
		t.Errorf("deleted %q", lacks)
	}
}

func TestTheSelfCheckFindsAMissingBinding(t *testing.T) {
	i := newInstallation(t)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatal(err)
	}
	client, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	if err := check(t.Context(), settlingOf(client)); err != nil {
		t.Fatalf("after an installation: %v", err)
	}
	for _, object := range installed(t)[1:] {
		function := strings.TrimPrefix(object.GetName(), "whittle:")
		// Only the loss of a ClusterRoleBinding removes all rights of a function. The binding in
		// kube-system is for one address.
		if !strings.HasSuffix(object.GetKind(), "Binding") || object.GetNamespace() == "kube-system" {
			continue
		}
		if !slices.ContainsFunc(needs(), func(n need) bool {
			return n.function == function && (n.namespace != "") == (object.GetNamespace() != "")
		}) {
			continue
		}
		t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) {
			if err := client.Remove(t.Context(), &object); err != nil {
				t.Fatal(err)
			}
			wantEventually(t, func() error {
				err := check(t.Context(), settlingOf(client))
				if err == nil || !strings.Contains(err.Error(), "function "+function+" may not") ||
					!strings.Contains(err.Error(), "ClusterRole whittle:"+function) {
					return fmt.Errorf("the check says %w", err)
				}
				return nil
			})
			if err := client.Apply(t.Context(), &object); err != nil {
				t.Fatal(err)
			}
			wantEventually(t, func() error { return check(t.Context(), settlingOf(client)) })
		})
	}
}

// wantEventually waits for the API server's authorizer, which sees a change a moment after the
// write.
func wantEventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestANewAccessEntryIsWaitedFor(t *testing.T) {
	i := newInstallation(t)
	i.line.refused.Store(2)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Errorf("the entry works after two refusals: %v", err)
	}
	// The control plane has several API servers, and each learns of the entry by itself.
	i.line.flaps.Store(true)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Errorf("each call is refused once: %v", err)
	}
	i.line.flaps.Store(false)
	// The wait ends with the invocation's time, and the error names the failing call.
	i.line.refused.Store(1 << 20)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := i.install(ctx, cfn.RequestUpdate); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "access entry") {
		t.Errorf("error is %v", err)
	}
}

// A person may have taken install's right away after the last deployment.
func TestAnInstallationWithoutItsRightNamesTheCommand(t *testing.T) {
	i := newInstallation(t)
	i.line.refused.Store(1 << 20)
	ctx, cancel := context.WithTimeout(t.Context(), function.Reserve+2*time.Second)
	defer cancel()
	if _, _, err := i.handle(ctx, creation); err == nil || !strings.Contains(err.Error(), "whittle administrator on") {
		t.Errorf("error is %v", err)
	}
}

// In a cluster without access entries, the installation fails until the lines are in aws-auth.
// CloudFormation must then be able to roll back.
func TestConfigMapModeIsRefusedWithItsLines(t *testing.T) {
	const lines = "- rolearn: arn:aws:iam::123456789012:role/whittle-prod-provision-us-east-1\n  username: " +
		"whittle:provision\n"
	i := newInstallation(t)
	i.line.refused.Store(1 << 20)
	ctx, cancel := context.WithTimeout(t.Context(), function.Reserve+2*time.Second)
	defer cancel()
	event := creation
	event.ResourceProperties = map[string]any{"MapRoles": lines}
	id, _, err := i.handle(ctx, event)
	for _, part := range []string{"aws-auth", "deploy again", lines} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want one that says %q", err, part)
		}
	}
	if i.invocations.Load() > 0 {
		t.Error("the catalogue was asked for")
	}
	if err := rollBack(t, i, id); err != nil {
		t.Errorf("rolling back: %v", err)
	}
	i.line.refused.Store(0)
	event.RequestType = cfn.RequestUpdate
	if _, _, err := i.handle(t.Context(), event); err != nil {
		t.Errorf("once the lines are there: %v", err)
	}
}

func settlingOf(client *cluster.Client) *settling {
	s := newSettling(time.Now)
	s.client = client
	return s
}

// TestTheRefusalIsToldWhenTheTimeIsUpDuringACall holds that an error tells what has gone on all the
// time, and not only how the last call ended.
func TestTheRefusalIsToldWhenTheTimeIsUpDuringACall(t *testing.T) {
	refusal := apierrors.NewUnauthorized("")
	calls := 0
	err := newSettling(time.Now).settled(t.Context(), func() error {
		if calls++; calls < 3 {
			return refusal
		}
		return context.DeadlineExceeded
	})
	if !notLetIn(err) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "access entry") {
		t.Errorf("error is %v, want one that says both", err)
	}
	first := newSettling(time.Now).settled(t.Context(), func() error { return context.DeadlineExceeded })
	if !errors.Is(first, context.DeadlineExceeded) || notLetIn(first) {
		t.Errorf("error is %v, want the call's own", first)
	}
}

// denying is a connection whose first calls IAM refuses.
type denying struct {
	connection
	refusals int
}

func (d *denying) Client(ctx context.Context) (*cluster.Client, error) {
	if d.refusals--; d.refusals >= 0 {
		return nil, fmt.Errorf("describing cluster %q: %w", "prod", &smithy.GenericAPIError{Code: "AccessDeniedException"})
	}
	return d.connection.Client(ctx)
}

// IAM spreads a new policy within seconds. Until then this function's own role may do nothing.
func TestANewPolicyIsWaitedFor(t *testing.T) {
	i := newInstallation(t)
	i.connection = &denying{i.connection, 2}
	i.lambdaDenies.Store(2)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Errorf("the policy holds after some refusals: %v", err)
	}
	i.connection = &denying{i.connection, 1 << 20}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := i.install(ctx, cfn.RequestUpdate); !errors.Is(err, context.DeadlineExceeded) || !denied(err) {
		t.Errorf("error is %v, want one that says what IAM refused, and that the time is up", err)
	}
}

// failing is a connection that always fails.
type failing struct{ err error }

func (f failing) Client(context.Context) (*cluster.Client, error) { return nil, f.err }

func TestDeletingAfterTheClusterIsASuccess(t *testing.T) {
	i := newInstallation(t)
	i.connection = failing{fmt.Errorf("describing cluster %q: %w", "prod", &types.ResourceNotFoundException{})}
	if _, _, err := i.handle(t.Context(), deletion); err != nil {
		t.Error(err)
	}
	if _, _, err := i.handle(t.Context(), creation); err == nil {
		t.Error("installed in a cluster that is gone")
	}
}

func TestCloudFormationIsToldTheOutcome(t *testing.T) {
	told := make(chan cfn.Response, 1)
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var response cfn.Response
		if err == nil {
			err = json.Unmarshal(body, &response)
		}
		if err != nil {
			t.Errorf("%v in %s", err, body)
		}
		told <- response
	}))
	defer bucket.Close()
	event := creation
	event.ResponseURL, event.StackID, event.RequestID, event.LogicalResourceID = bucket.URL, "stack", "request", "Install"
	i := newInstallation(t)
	i.endpoint = bucket.URL
	if _, err := i.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got.Status != cfn.StatusSuccess || got.PhysicalResourceID != "whittle-install-prod" ||
		got.RequestID != "request" || got.Data["Definitions"] != float64(len(definitions(t))) {
		t.Errorf("told %+v", got)
	}
	i.connection = failing{errors.New("EKS does not answer")}
	if _, err := i.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got.Status != cfn.StatusFailed || got.PhysicalResourceID != "whittle-install-prod-failed" ||
		!strings.Contains(got.Reason, "EKS does not answer") {
		t.Errorf("told %+v", got)
	}
	// A failed update keeps its id. Otherwise CloudFormation would delete the existing installation.
	event.RequestType, event.PhysicalResourceID = cfn.RequestUpdate, "whittle-install-prod"
	if _, err := i.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got.Status != cfn.StatusFailed || got.PhysicalResourceID != "whittle-install-prod" {
		t.Errorf("told %+v", got)
	}
	// A run by hand has nobody to answer, so it returns the error.
	if _, err := i.Handle(t.Context(), creation); err == nil {
		t.Error("a failure by hand is no error")
	}
}
