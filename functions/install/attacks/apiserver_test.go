package attacks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
)

// plane is a real API server with NodeRestriction, the Node authorizer and Whittle's admission policies.
var plane *clustertest.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(clustertest.Run(m, func(c *clustertest.ControlPlane) error {
		plane = c
		return c.Install(context.Background())
	}))
}

type object = map[string]any

// caller sends requests as somebody. A status of 403 or 422 is a refusal.
type caller func(t *testing.T, method, path string, body any) (status int, answer string)

func as(t *testing.T, user string, groups ...string) caller {
	t.Helper()
	config := plane.RESTConfig()
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, method, path string, body any) (int, string) {
		t.Helper()
		sent, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), method, plane.Endpoint+path, bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			request.Header.Set("Content-Type", "application/merge-patch+json")
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		read, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(read)
	}
}

// must sends a request that has to succeed.
func (c caller) must(t *testing.T, method, path string, body any) {
	t.Helper()
	if status, answer := c(t, method, path, body); status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
}

func metadata(key string, value any) object { return object{"metadata": object{key: value}} }

// nodeOf is a Node as its kubelet makes it, with what its user data give it.
func nodeOf(name, id string) object {
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "labels": object{
		"karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": "spot", "team": "red",
	}}, "spec": object{"providerID": "aws:///us-east-1a/" + id, "taints": []object{
		{"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
	}}}
}

// join makes the Node as its kubelet, and registers it as lifecycle does.
func join(t *testing.T, name, id string) {
	t.Helper()
	as(t, "system:node:"+name, "system:nodes").must(t, http.MethodPost, "/api/v1/nodes", nodeOf(name, id))
	as(t, "lifecycle", "whittle:lifecycle").must(t, http.MethodPatch, "/api/v1/nodes/"+name, object{
		"metadata": object{
			"finalizers": []string{"karpenter.sh/termination"},
			"labels":     object{"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"},
		}, "spec": object{"taints": []object{}},
	})
}

func podOn(t *testing.T, name, node string) string {
	t.Helper()
	as(t, "").must(t, http.MethodPost, "/api/v1/namespaces/default/pods", object{
		"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name},
		"spec": object{
			"nodeName": node, "tolerations": []object{{"operator": "Exists"}},
			"containers": []object{{"name": "c", "image": "i"}},
		},
	})
	return "/api/v1/namespaces/default/pods/" + name
}

// attempt is one request of an attacker, or one that has to go on working.
type attempt struct {
	what, method, path string
	body               any
	allowed            bool
}

func (c caller) tryAll(t *testing.T, attempts []attempt) {
	t.Helper()
	for _, a := range attempts {
		status, answer := c(t, a.method, a.path, a.body)
		if (status < 300) != a.allowed {
			t.Errorf("%s: %d, want allowed %v: %.300s", a.what, status, a.allowed, answer)
		}
	}
}

// probes has one request for each policy that only this policy refuses. None of them writes anything.
var probes = map[string]struct {
	user, group string
	attempt
}{
	"whittle-nodes": {"system:node:probe", "system:nodes", attempt{
		method: http.MethodPatch, path: "/api/v1/nodes/probe",
		body: metadata("annotations", object{"whittle.dev/probe": "x"}),
	}},
	"whittle-pods": {"system:node:probe", "system:nodes", attempt{
		method: http.MethodPatch, path: "/api/v1/namespaces/default/pods/probe/status",
		body: metadata("annotations", object{"whittle.dev/probe": "x"}),
	}},
	"whittle-nominations": {"lifecycle", "whittle:lifecycle", attempt{
		method: http.MethodPatch, path: "/api/v1/namespaces/default/pods/probe/status",
		body: object{"status": object{"phase": "Running"}},
	}},
	"whittle-tenants": {"system:serviceaccount:kube-system:replicaset-controller", "system:serviceaccounts", attempt{
		method: http.MethodPatch, path: "/api/v1/namespaces/default/pods/probe",
		body: metadata("annotations", object{"whittle.dev/pod-deletion-cost": "1"}),
	}},
}

// settle waits until the API server enforces each policy: it reads them a moment after their write, one by one.
func settle(t *testing.T) {
	t.Helper()
	settled.Do(func() {
		kubelet := as(t, "system:node:probe", "system:nodes")
		kubelet.must(t, http.MethodPost, "/api/v1/nodes", nodeOf("probe", "i-0999999999999999"))
		podOn(t, "probe", "probe")
		for _, policy := range policies(t) {
			probe, ok := probes[policy]
			if !ok {
				t.Fatalf("ValidatingAdmissionPolicy %q has no probe: add a request that only it refuses", policy)
			}
			somebody := as(t, probe.user, probe.group)
			waitFor(t, "the API server does not enforce "+policy, func() bool {
				status, answer := somebody(t, probe.method, probe.path+"?dryRun=All", probe.body)
				return status == http.StatusUnprocessableEntity && strings.Contains(answer, policy)
			})
		}
	})
}

var settled sync.Once

// policies names the policies that Whittle has installed.
func policies(t *testing.T) []string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	const kind = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	status, answer := as(t, "")(t, http.MethodGet, kind+"?labelSelector=app.kubernetes.io/name%3Dwhittle", nil)
	if err := json.Unmarshal([]byte(answer), &list); err != nil || status != http.StatusOK || len(list.Items) == 0 {
		t.Fatalf("the policies: %d, %v, %s", status, err, answer)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Metadata.Name)
	}
	return names
}

func TestWhatANodeMayWrite(t *testing.T) {
	join(t, "compromised", "i-0aaaaaaaaaaaaaaaa")
	join(t, "victim", "i-0bbbbbbbbbbbbbbbb")
	own, others := podOn(t, "own", "compromised"), podOn(t, "others", "victim")
	kubelet := as(t, "system:node:compromised", "system:nodes")
	self, other := "/api/v1/nodes/compromised", "/api/v1/nodes/victim"
	settle(t)
	const patch = http.MethodPatch
	kubelet.tryAll(t, []attempt{
		{"a label of its own", patch, self, metadata("labels", object{"team": "blue"}), true},
		{"an annotation of its own", patch, self, metadata("annotations", object{"csi.volume.kubernetes.io/nodeid": "x"}), true},
		{"its status", patch, self + "/status", object{"status": object{"capacity": object{"cpu": "4"}}}, true},
		{"its pool", patch, self, metadata("labels", object{"karpenter.sh/nodepool": "richer"}), false},
		{"its progress removed", patch, self, metadata("labels", object{"karpenter.sh/initialized": nil}), false},
		{"do-not-disrupt", patch, self, metadata("annotations", object{"karpenter.sh/do-not-disrupt": "true"}), false},
		{"do-not-repair through its status", patch, self + "/status",
			metadata("annotations", object{"karpenter.sh/do-not-repair": "true"}), false},
		{"Cluster Autoscaler's protection", patch, self,
			metadata("annotations", object{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}), false},
		{"a mark of Whittle's", patch, self, metadata("annotations", object{"whittle.dev/zone-shifted-until": "x"}), false},
		{"its finalizer removed", patch, self, metadata("finalizers", nil), false},
		{"a tenant's label", patch, self, metadata("labels", object{"node-restriction.kubernetes.io/tenant": "p"}), false},
		{"another's label", patch, other, metadata("labels", object{"team": "blue"}), false},
		{"the status of its pod", patch, own + "/status", object{"status": object{"phase": "Running"}}, true},
		{"do-not-disrupt on its pod", patch, own + "/status",
			metadata("annotations", object{"karpenter.sh/do-not-disrupt": "true"}), false},
		{"the deletion cost of its pod", patch, own + "/status",
			metadata("annotations", object{"controller.kubernetes.io/pod-deletion-cost": "2147483647"}), false},
		{"a finalizer of its pod", patch, own + "/status", metadata("finalizers", []string{"example.com/stay"}), false},
		{"another's pod", patch, others + "/status", object{"status": object{"phase": "Failed"}}, false},
		{"the claims", http.MethodGet, "/apis/karpenter.sh/v1/nodeclaims", nil, false},
		{"Whittle's state", http.MethodGet, "/api/v1/namespaces/whittle-system/configmaps/whittle-catalog", nil, false},
		{"Karpenter's Lease", http.MethodPost, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
			object{"metadata": object{"name": "karpenter-leader-election"}}, false},
	})
}

// A kubelet that is drained must not lose its Node before its machine ends, and come back as another.
func TestANodeCannotComeBackAsAnother(t *testing.T) {
	join(t, "drained", "i-0cccccccccccccccc")
	self := "/api/v1/nodes/drained"
	kubelet := as(t, "system:node:drained", "system:nodes")
	settle(t)
	as(t, "lifecycle", "whittle:lifecycle").must(t, http.MethodDelete, self, nil)
	kubelet.tryAll(t, []attempt{
		{"its finalizer removed while it is deleted", http.MethodPatch, self, metadata("finalizers", nil), false},
		{"its own Node again", http.MethodPost, "/api/v1/nodes", nodeOf("drained", "i-0bbbbbbbbbbbbbbbb"), false},
	})
	if status, _ := as(t, "")(t, http.MethodGet, self, nil); status != http.StatusOK {
		t.Errorf("the node is gone: %d", status)
	}
	fresh := as(t, "system:node:fresh", "system:nodes")
	registered := nodeOf("fresh", "i-0bbbbbbbbbbbbbbbb")
	registered["metadata"].(object)["labels"] = object{"karpenter.sh/registered": "true", "karpenter.sh/initialized": "true"}
	protected := nodeOf("fresh", "i-0bbbbbbbbbbbbbbbb")
	protected["metadata"].(object)["annotations"] = object{"karpenter.sh/do-not-disrupt": "true"}
	fresh.tryAll(t, []attempt{
		{"a new Node that says it is registered", http.MethodPost, "/api/v1/nodes", registered, false},
		{"a new Node that protects itself", http.MethodPost, "/api/v1/nodes", protected, false},
		{"a Node of another name", http.MethodPost, "/api/v1/nodes", nodeOf("other", "i-0ddddddddddddddddd"), false},
	})
}

func TestWhatLifecycleMayWriteOnPods(t *testing.T) {
	join(t, "host", "i-0eeeeeeeeeeeeeeee")
	settle(t)
	status := podOn(t, "hosted", "host") + "/status"
	waiting := podOn(t, "waiting", "") + "/status"
	const patch = http.MethodPatch
	as(t, "lifecycle", "whittle:lifecycle").tryAll(t, []attempt{
		{"a nomination", patch, waiting, object{"status": object{"nominatedNodeName": "host"}}, true},
		{"a pod's readiness", patch, status,
			object{"status": object{"conditions": []object{{"type": "Ready", "status": "True"}}}}, false},
		{"a pod's end", patch, status, object{"status": object{"phase": "Succeeded"}}, false},
		{"a pod's address", patch, status, object{"status": object{"podIPs": []object{{"ip": "10.9.9.9"}}}}, false},
		{"a pod's annotation", patch, status, metadata("annotations", object{"karpenter.sh/do-not-disrupt": "true"}), false},
		{"a pod's finalizer", patch, status, metadata("finalizers", []string{"example.com/stay"}), false},
	})
}

func TestWhatATenantMayWrite(t *testing.T) {
	admin := as(t, "")
	admin.must(t, http.MethodPost, "/api/v1/namespaces", object{"metadata": object{"name": "tenant"}})
	admin.must(t, http.MethodPost, "/apis/rbac.authorization.k8s.io/v1/namespaces/tenant/rolebindings", object{
		"metadata": object{"name": "admin"},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"},
		"subjects": []object{{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "tenant"}},
	})
	join(t, "shared-node", "i-0ffffffffffffffff")
	settle(t)
	pod := func(name string, annotations object) object {
		return object{
			"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "annotations": annotations},
			"spec": object{"containers": []object{{"name": "c", "image": "i"}}},
		}
	}
	tenant := as(t, "tenant")
	waitFor(t, "the tenant may not read its pods", func() bool {
		status, _ := tenant(t, http.MethodGet, "/api/v1/namespaces/tenant/pods", nil)
		return status == http.StatusOK
	})
	const pods = "/api/v1/namespaces/tenant/pods"
	tenant.tryAll(t, []attempt{
		{"a pod that protects itself", http.MethodPost, pods, pod("own", object{"karpenter.sh/do-not-disrupt": "true"}), true},
		{"a pod that says Whittle manages its cost", http.MethodPost, pods,
			pod("managed", object{"whittle.dev/pod-deletion-cost": "1"}), false},
		{"its pod's annotation later", http.MethodPatch, pods + "/own",
			metadata("annotations", object{"whittle.dev/pod-deletion-cost": "1"}), false},
		{"a node", http.MethodPatch, "/api/v1/nodes/shared-node", metadata("labels", object{"team": "tenant"}), false},
		{"a claim", http.MethodPost, "/apis/karpenter.sh/v1/nodeclaims", object{"metadata": object{"name": "c"}}, false},
		{"a pool", http.MethodPost, "/apis/karpenter.sh/v1/nodepools", object{"metadata": object{"name": "p"}}, false},
		{"a class", http.MethodGet, "/apis/karpenter.k8s.aws/v1/ec2nodeclasses", nil, false},
		{"Whittle's state", http.MethodGet, "/api/v1/namespaces/whittle-system/configmaps", nil, false},
		{"Karpenter's Lease", http.MethodPost, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases",
			object{"metadata": object{"name": "karpenter-leader-election"}}, false},
	})
}

func waitFor(t *testing.T, late string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal(late + ", after a minute")
}
