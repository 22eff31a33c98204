package install

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
)

// TestMain sets controlPlane before the tests run. Nothing is installed in it.
var controlPlane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		controlPlane = started
		return nil
	}))
}

var errCut = errors.New("the connection is cut")

// line is the connection to the API server. Tests cut it or let it refuse calls.
type line struct {
	// endpoint is the description of the cluster that EKS gives.
	endpoint cluster.Endpoint

	next    http.RoundTripper
	calls   atomic.Int64
	cut     atomic.Int64 // calls past this one fail; negative: none
	refused atomic.Int64 // so many calls more are answered 403
	flaps   atomic.Bool  // each second call is answered 403
}

func (l *line) RoundTrip(request *http.Request) (*http.Response, error) {
	call := l.calls.Add(1)
	if cut := l.cut.Load(); cut >= 0 && call > cut {
		return nil, errCut
	}
	if l.refused.Add(-1) >= 0 || l.flaps.Load() && call%2 == 0 {
		recorder := httptest.NewRecorder()
		recorder.Header().Set("Content-Type", "application/json")
		recorder.WriteHeader(http.StatusForbidden)
		_, _ = recorder.WriteString(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden",` +
			`"message":"not yet","code":403}`)
		return recorder.Result(), nil
	}
	return l.next.RoundTrip(request)
}

// Client connects over the line as administrator, like the function's access entry.
func (l *line) Client(context.Context) (*cluster.Client, error) {
	config := controlPlane.RESTConfig()
	config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
		l.next = next
		return l
	}
	endpoint := l.endpoint
	endpoint.Name, endpoint.URL = "prod", controlPlane.Endpoint
	return cluster.NewForConfig(endpoint, config)
}

// installation is a handler with its line and a Lambda client that counts invocations.
type installation struct {
	*Handler
	line        *line
	invocations atomic.Int64
	lambdaFails atomic.Bool
	// lambdaDenies is how many calls to Lambda IAM refuses.
	lambdaDenies atomic.Int64
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{line: &line{}}
	i.line.cut.Store(-1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/2015-03-31/functions/whittle-prod-catalog/invocations") ||
			r.Header.Get("X-Amz-Invocation-Type") != "Event" {
			t.Errorf("Lambda is asked for %s, %s", r.URL.Path, r.Header.Get("X-Amz-Invocation-Type"))
		}
		if i.lambdaFails.Load() {
			w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if i.lambdaDenies.Add(-1) >= 0 {
			w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			return
		}
		i.invocations.Add(1)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	i.Handler = &Handler{cluster: "prod", catalog: "whittle-prod-catalog", connection: i.line, now: time.Now}
	i.Handler.lambda = lambda.New(lambda.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
	})
	return i
}

// objects returns the client of the test itself.
func objects(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	version := object.GroupVersionKind().GroupVersion()
	resource := strings.ToLower(object.GetKind()) + "s"
	if stem, ends := strings.CutSuffix(resource, "ys"); ends {
		resource = stem + "ies"
	}
	return version.WithResource(resource)
}

// installed returns the objects that an installation applies after the definitions.
func installed(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	namespace, err := manifests.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	rights, err := manifests.RBAC()
	if err != nil {
		t.Fatal(err)
	}
	policies, err := manifests.Admission(manifests.ModeAudit)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat([]unstructured.Unstructured{namespace}, policies, rights)
}

func definitions(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	definitions, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	return definitions
}

// missing returns the names of the objects that the cluster lacks.
func missing(t *testing.T, wanted []unstructured.Unstructured) []string {
	t.Helper()
	var names []string
	for i := range wanted {
		_, err := objects(t).Resource(resourceOf(&wanted[i])).Namespace(wanted[i].GetNamespace()).Get(
			t.Context(), wanted[i].GetName(), metav1.GetOptions{},
		)
		switch {
		case apierrors.IsNotFound(err):
			names = append(names, wanted[i].GetKind()+" "+wanted[i].GetName())
		case err != nil:
			t.Fatal(err)
		}
	}
	return names
}

// wipe deletes the rights, and the definitions with all of their objects. The namespace stays,
// because controllers take seconds to delete it.
func wipe(t *testing.T) {
	t.Helper()
	for _, object := range append(installed(t)[1:], definitions(t)...) {
		err := objects(t).Resource(resourceOf(&object)).Namespace(object.GetNamespace()).Delete(
			t.Context(), object.GetName(), metav1.DeleteOptions{},
		)
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(2 * time.Minute)
	for len(missing(t, definitions(t))) < len(definitions(t)) {
		if time.Now().After(deadline) {
			t.Fatalf("the definitions are there still: all but %q", missing(t, definitions(t)))
		}
		release(t)
		time.Sleep(20 * time.Millisecond)
	}
}

// release removes the finalizers of deleted definitions. The API server otherwise looks for their
// objects first, with growing pauses.
func release(t *testing.T) {
	t.Helper()
	for _, definition := range definitions(t) {
		resource := objects(t).Resource(resourceOf(&definition))
		stored, err := resource.Get(t.Context(), definition.GetName(), metav1.GetOptions{})
		if err == nil && stored.GetDeletionTimestamp() != nil {
			_, err = resource.Patch(
				t.Context(), definition.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
				metav1.PatchOptions{},
			)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}

// foreign applies a definition as another manager, such as Karpenter's chart.
func foreign(t *testing.T, definition *unstructured.Unstructured) {
	t.Helper()
	_, err := objects(t).Resource(resourceOf(definition)).Apply(
		t.Context(), definition.GetName(), definition, metav1.ApplyOptions{FieldManager: "helm"},
	)
	if err != nil {
		t.Fatal(err)
	}
}

// managers returns the field managers of the object.
func managers(t *testing.T, object *unstructured.Unstructured) []string {
	t.Helper()
	stored, err := objects(t).Resource(resourceOf(object)).Namespace(object.GetNamespace()).Get(
		t.Context(), object.GetName(), metav1.GetOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, field := range stored.GetManagedFields() {
		names = append(names, field.Manager)
	}
	return names
}
