package disrupt

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/spread"
)

const servicesPath = "/api/v1/namespaces/default/services"

// lists counts the lists of services.
type lists struct {
	mutex sync.Mutex
	count int
}

func (l *lists) wrap(next http.RoundTripper) http.RoundTripper {
	return counted(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/services") {
			l.mutex.Lock()
			l.count++
			l.mutex.Unlock()
		}
		return next.RoundTrip(request)
	})
}

type counted func(*http.Request) (*http.Response, error)

func (f counted) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// TestAReplacementFollowsDefaultSpread has two nodes in one zone with a pod of a service each. The pod
// of the node that AWS recommends to leave fits the other node. With one pod in each zone as the
// default, it needs a node in the other zone.
func TestAReplacementFollowsDefaultSpread(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	service.Spec.Selector = map[string]string{"app": "web"}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	functiontest.Create(t, server, servicesPath, service)
	t.Cleanup(func() { server.Delete(t, servicesPath+"/web") })
	zones, err := spread.Parse(
		"[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		spread   spread.Defaults
		launches bool
		lists    int
	}{
		"spread": {zones, true, 1},
		"packed": {nil, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pool(t, "100%")
			offers(t)
			stays := "stays-" + name
			initialized(t, stays)
			server.Pod(t, "other-"+name, "node-"+stays)
			t.Cleanup(func() { server.Delete(t, functiontest.PodsPath+"/other-"+name); server.EndPods(t, "node-"+stays) })
			recommend(t, name)
			t.Cleanup(func() { forget(t) })
			for _, pod := range []string{"other-" + name, "guest-" + name} {
				server.Patch(t, functiontest.PodsPath+"/"+pod, map[string]any{
					"metadata": map[string]any{"labels": map[string]string{"app": "web"}},
				})
			}
			for _, node := range []string{"node-" + stays, "node-" + name} {
				server.Patch(t, functiontest.NodesPath+"/"+node, map[string]any{
					"metadata": map[string]any{"labels": map[string]string{corev1.LabelTopologyZone: "us-east-1a"}},
				})
			}
			l, read := newHarness(t, nil), &lists{}
			client := server.Client(t, read.wrap)
			l.settings.DefaultTopologySpread = test.spread
			l.connect = func(context.Context) (kubernetes, error) { return edge{Client: client}, nil }
			l.mustTick(t)
			made := replacement(t, name)
			if !isBeingReplaced(t, name) && !isEnding(t, name) {
				t.Errorf("the node stays: %v", server.Reasons(t, name))
			}
			if (made != nil) != test.launches {
				t.Errorf("a node is launched: %t", made != nil)
			}
			if made != nil && !slices.ContainsFunc(made.Spec.Requirements,
				func(r api.NodeSelectorRequirementWithMinValues) bool {
					return r.Key == corev1.LabelTopologyZone && slices.Equal(r.Values, []string{"us-east-1b"})
				}) {
				t.Errorf("the new node's requirements are %v", made.Spec.Requirements)
			}
			if read.count != test.lists {
				t.Errorf("services were listed %d times, want %d", read.count, test.lists)
			}
		})
	}
}
