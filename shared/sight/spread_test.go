package sight_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/spread"
)

// controlPlane is shared by the tests of this package, because a start takes seconds.
var controlPlane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(started *clustertest.ControlPlane) error {
		controlPlane = started
		return nil
	}))
}

// requests are the paths that a client asks for.
type requests struct {
	mutex sync.Mutex
	paths []string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.paths = append(r.paths, request.URL.Path)
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// clientOf has the rights of a function's group.
func clientOf(t *testing.T, group string, asked *requests) *cluster.Client {
	t.Helper()
	config := controlPlane.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "test", Groups: []string{group}}
	config.Wrap(asked.wrap)
	client, err := cluster.NewForConfig(cluster.Endpoint{
		Name: "prod", URL: controlPlane.Endpoint, CertificateAuthority: controlPlane.CertificateAuthority,
	}, config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func owned(namespace, version, kind string) corev1.Pod {
	yes := true
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: kind, Namespace: namespace, Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "web", Controller: &yes}},
	}}
}

// TestSelectorsAreReadOnlyWhereTheyCount reads with the functions' rights from an API server with one
// object of each kind.
func TestSelectorsAreReadOnlyWhereTheyCount(t *testing.T) {
	if err := controlPlane.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := controlPlane.RESTConfig()
	config.QPS = -1
	core, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	create(t, core)
	defaults, err := spread.Parse(`[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]`)
	if err != nil {
		t.Fatal(err)
	}
	one := owned("default", "apps/v1", "ReplicaSet")
	everywhere := []corev1.Pod{one}
	for i := range 9 {
		everywhere = append(everywhere, owned(fmt.Sprint("team-", i), "batch/v1", "Job"))
	}
	selected := []string{"app=web,kind=replicaset"}
	for name, test := range map[string]struct {
		defaults spread.Defaults
		pods     []corev1.Pod
		asked    []string
		want     []string // the pods' selectors
	}{
		"off": {nil, []corev1.Pod{one}, nil, []string{""}},
		"of one workload": {defaults, []corev1.Pod{one},
			[]string{"/api/v1/namespaces/default/services", "/apis/apps/v1/namespaces/default/replicasets"}, selected},
		"of all kinds": {
			defaults, []corev1.Pod{
				one, owned("default", "apps/v1", "StatefulSet"), owned("default", "v1", "ReplicationController"),
			},
			[]string{
				"/api/v1/namespaces/default/replicationcontrollers", "/api/v1/namespaces/default/services",
				"/apis/apps/v1/namespaces/default/replicasets", "/apis/apps/v1/namespaces/default/statefulsets",
			},
			append(selected, "app=web,kind=statefulset", "app=web,kind=replicationcontroller"),
		},
		"of many namespaces": {defaults, everywhere,
			[]string{"/api/v1/services", "/apis/apps/v1/namespaces/default/replicasets"},
			append(selected, slices.Repeat([]string{""}, 9)...)},
	} {
		for _, group := range []string{"whittle:provision", "whittle:disrupt"} {
			t.Run(name+" for "+group, func(t *testing.T) {
				asked := &requests{}
				pods := slices.Clone(test.pods)
				if err := sight.Spread(t.Context(), clientOf(t, group, asked), test.defaults, pods); err != nil {
					t.Fatal(err)
				}
				slices.Sort(asked.paths)
				if !slices.Equal(asked.paths, test.asked) {
					t.Errorf("asked for %v, want %v", asked.paths, test.asked)
				}
				for i := range pods {
					got := ""
					for _, constraint := range pods[i].Spec.TopologySpreadConstraints {
						got = metav1.FormatLabelSelector(constraint.LabelSelector)
					}
					if got != test.want[i] {
						t.Errorf("pod %s: selector %q, want %q", pods[i].Name, got, test.want[i])
					}
				}
			})
		}
	}
	pods := []corev1.Pod{one}
	err = sight.Spread(t.Context(), clientOf(t, "whittle:nobody", &requests{}), defaults, pods)
	if !cluster.IsForbidden(err) || !strings.Contains(err.Error(), "listing /api") ||
		pods[0].Spec.TopologySpreadConstraints != nil {
		t.Errorf("without rights: error %v, constraints %v", err, pods[0].Spec.TopologySpreadConstraints)
	}
}

// create makes a service and three controllers without pods.
func create(t *testing.T, core clientset.Interface) {
	t.Helper()
	meta, none := metav1.ObjectMeta{Name: "web"}, int32(0)
	labels := func(kind string) map[string]string { return map[string]string{"app": "web", "kind": kind} }
	template := func(kind string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels(kind)},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "pause"}}},
		}
	}
	controller := template("replicationcontroller")
	_, err := core.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}},
		},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = core.CoreV1().ReplicationControllers("default").Create(t.Context(), &corev1.ReplicationController{
			ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{
				Replicas: &none, Selector: labels("replicationcontroller"), Template: &controller,
			},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.AppsV1().ReplicaSets("default").Create(t.Context(), &appsv1.ReplicaSet{
			ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &none, Template: template("replicaset"),
				Selector: &metav1.LabelSelector{MatchLabels: labels("replicaset")}},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = core.AppsV1().StatefulSets("default").Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &none, Template: template("statefulset"),
				Selector: &metav1.LabelSelector{MatchLabels: labels("statefulset")}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}
