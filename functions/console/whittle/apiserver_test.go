package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/shared/version"
)

// TestStatus reads a real API server, before and after the installation of Whittle.
func TestStatus(t *testing.T) {
	controlPlane, err := clustertest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = controlPlane.Close() })
	kubeconfig := controlPlane.Kubeconfig
	t.Run("not installed", func(t *testing.T) {
		_, err := output(t, "status", "-kubeconfig", kubeconfig)
		want(t, err, "Whittle is not installed in it", "cdk deploy")
	})
	if err := controlPlane.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("nothing there", func(t *testing.T) {
		text, err := output(t, "status", "-kubeconfig", kubeconfig)
		if err != nil || !strings.Contains(text, "Catalogue: none yet") || !strings.Contains(text, "without a NodePool") {
			t.Errorf("%v\n%s", err, text)
		}
	})
	client, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	fill(t, client)
	t.Run("cost", func(t *testing.T) { sharesTheBill(t, kubeconfig) })
	t.Run("sleep and wake", func(t *testing.T) { sleepsAndWakes(t, kubeconfig) })
	t.Run("freeze and thaw", func(t *testing.T) { freezesAndThaws(t, kubeconfig) })
	t.Run("releases", func(t *testing.T) { ordersReleases(t, kubeconfig, client) })
	t.Run("json", func(t *testing.T) {
		text, err := output(t, "status", "-kubeconfig", kubeconfig, "-output", "json")
		if err != nil {
			t.Fatal(err)
		}
		var shown view.View
		if err := json.Unmarshal([]byte(text), &shown); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if len(shown.NodePools) != 1 || shown.NodePools[0].Nodes != 1 || shown.NodePools[0].CPU.String() != "2" {
			t.Errorf("node pools are %+v", shown.NodePools)
		}
		if len(shown.Nodes) != 1 || shown.Nodes[0].State != nodestate.Launched || shown.PricePerHour != 0.25 {
			t.Errorf("nodes are %+v, %v $ an hour", shown.Nodes, shown.PricePerHour)
		}
		if shown.Plan == nil || shown.Plan.Pods != 2 {
			t.Errorf("the last plan is %+v", shown.Plan)
		}
		if len(shown.Waiting) != 1 || shown.Waiting[0].Message != "Pod should schedule on: nodeclaim/general-1" ||
			shown.Waiting[0].Source != "whittle" {
			t.Errorf("waiting pods are %+v", shown.Waiting)
		}
	})
	t.Run("the function's rights", func(t *testing.T) {
		function, err := controlPlane.ClientOf("whittle:console")
		if err != nil {
			t.Fatal(err)
		}
		read, err := objects.Read(t.Context(), function, cluster.KarpenterAccounts(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(read.NodePools) != 1 || len(read.NodeClaims) != 1 || len(read.Pods) != 1 || len(read.Events) == 0 ||
			read.Catalog == nil || read.Status.Plan == nil {
			t.Errorf(
				"%d pools, %d claims, %d pods, %d events, catalogue %v, plan %v", len(read.NodePools), len(read.NodeClaims),
				len(read.Pods), len(read.Events), read.Catalog != nil, read.Status.Plan,
			)
		}
	})
	t.Run("table", func(t *testing.T) {
		text, err := output(t, "status", "-kubeconfig", kubeconfig)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{
			"general-1", "default/web", "$0.2500/h", "1 instance types", "1 nodes for 2 pods",
			"$0.2500/h",
		} {
			if !strings.Contains(text, part) {
				t.Errorf("lacks %q:\n%s", part, text)
			}
		}
	})
	t.Run("Karpenter acts", func(t *testing.T) {
		for _, test := range []struct {
			arguments []string
			begins    string
		}{
			{nil, "STANDBY: "},
			{[]string{"-karpenter-service-accounts", "kube-system/other"}, "SILENT: "},
		} {
			remove := karpenterLeads(t, kubeconfig)
			text, err := output(t, append([]string{"status", "-kubeconfig", kubeconfig}, test.arguments...)...)
			if err != nil || !strings.HasPrefix(text, test.begins) ||
				!strings.Contains(text, "kube-system/karpenter-leader-election") {
				t.Errorf("%v\n%s", err, text)
			}
			remove()
		}
	})
	t.Run("plan", func(t *testing.T) {
		waitUnschedulable(t, client, "web")
		text, err := output(t, "plan", "-kubeconfig", kubeconfig)
		for _, part := range []string{"1 pod: 1 without a place", `nodepool "general": `, "NODEPOOLS THAT CAN OPEN NO NODE"} {
			if err != nil || !strings.Contains(text, part) {
				t.Errorf("without a node class: %v, lacks %q:\n%s", err, part, text)
			}
		}
		fillClass(t, client, kubeconfig)
		text, err = output(t, "plan", "-kubeconfig", kubeconfig)
		if err != nil || !strings.Contains(text, "1 pod: 1 on 1 existing node") || strings.Contains(text, "NODEPOOLS") ||
			!strings.Contains(text, "\nprices: the cluster's catalogue; on-demand prices of ") {
			t.Errorf("with a node class the claim's type is known: %v\n%s", err, text)
		}
		text, err = output(t, "explain", "pod", "default/web", "-kubeconfig", kubeconfig)
		if err != nil ||
			!strings.Contains(text, `default/web goes to the node of nodeclaim "general-1", which is launching`) {
			t.Errorf("%v\n%s", err, text)
		}
		text, err = output(t, "plan", "-kubeconfig", kubeconfig, "--instance-types", "testdata/plan/types.json")
		if err != nil || !strings.Contains(text, "m6a.large") || !strings.Contains(text, "prices: the file testdata/plan/types.json") {
			t.Errorf("with types from a file: %v\n%s", err, text)
		}
	})
	t.Run("versions", func(t *testing.T) {
		told := status.Deployment{Tick: time.Now(), Version: "0.1.0"}
		if err := status.PutDeployment(t.Context(), client, told, 0); err != nil {
			t.Fatal(err)
		}
		text, err := output(t, "version", "-deployed", "-kubeconfig", kubeconfig)
		want := "functions 0.1.0: behind " + version.Version + ": deploy again with the newest version\n" +
			"definitions and rights " + version.Version + "\n"
		if err != nil || !strings.HasPrefix(text, "whittle "+version.String()+"\n") || !strings.HasSuffix(text, want) {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("completion", func(t *testing.T) {
		for _, test := range []struct {
			words []string
			want  string
		}{
			{[]string{"explain", "-kubeconfig", kubeconfig, "pod", "w"}, "web\n:4\n"},
			{[]string{"explain", "nodepool/", "-kubeconfig", kubeconfig, "nodepool/gen"}, ":4\n"},
			{[]string{"explain", "-kubeconfig", kubeconfig, "nodepool/gen"}, "nodepool/general\n:4\n"},
			{[]string{"explain", "-kubeconfig", kubeconfig, "nodeclaim", ""}, "general-1\n:4\n"},
			{[]string{"events", "-kubeconfig", kubeconfig, "-n", "whit"}, "whittle-system\n:4\n"},
		} {
			text, err := output(t, append([]string{completeCommand}, test.words...)...)
			if err != nil || text != test.want {
				t.Errorf("%q: %v, %q, want %q", test.words, err, text, test.want)
			}
		}
	})
	t.Run("the live view", func(t *testing.T) { watchInTerminal(t, kubeconfig) })
	t.Run("events", func(t *testing.T) {
		text, err := output(t, "events", "-kubeconfig", kubeconfig, "-n", "default")
		if err != nil || !strings.Contains(text, "Nominated") || !strings.Contains(text, "pod/default/web") ||
			strings.Contains(text, "FailedScheduling") {
			t.Errorf("%v\n%s", err, text)
		}
	})
	t.Run("a viewer's rights", func(t *testing.T) {
		for _, role := range []string{"view", "whittle:planner"} {
			apply(t, client, &rbacv1.ClusterRoleBinding{
				TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"},
				ObjectMeta: metav1.ObjectMeta{Name: "viewer-" + role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "viewer"}},
			})
		}
		viewer := change(t, kubeconfig, func(config *clientcmdapi.Config) {
			for _, user := range config.AuthInfos {
				user.Impersonate = "viewer"
			}
		})
		// Plans read more for a pod of a gang, and for buffers and requests.
		apply(t, client, &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "gang-0", Labels: map[string]string{api.PodGroupLabelKey: "training"},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
		})
		waitUnschedulable(t, client, "gang-0")
		apply(t, client, &api.CapacityBuffer{
			TypeMeta:   metav1.TypeMeta{APIVersion: api.CapacityBufferAPIVersion, Kind: api.CapacityBufferKind},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "room"},
			Spec: api.CapacityBufferSpec{
				PodTemplateRef: &api.PodTemplateRef{Name: "none"}, Replicas: new(int32(1)),
			},
		})
		told := status.Deployment{
			Tick: time.Now(), Version: version.Version, CapacityBuffers: true, ProvisioningRequests: true,
		}
		if err := status.PutDeployment(t.Context(), client, told, 0); err != nil {
			t.Fatal(err)
		}
		for _, arguments := range [][]string{
			{"status"}, {"events"}, {"plan"}, {"explain", "pod", "default/web"}, {"explain", "nodepool/general"},
			{"plan", "--consolidate"},
		} {
			var err error
			var problems string
			for range 100 { // Kubernetes adds the role to its own after a moment
				_, problems, err = runPlan(t, "", append(arguments, "-kubeconfig", viewer)...)
				if err == nil && !strings.Contains(problems, "forbid") {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			if err != nil || strings.Contains(problems, "forbid") {
				t.Errorf("%q: %v, %s", arguments, err, problems)
			}
		}
	})
	t.Run("no rights", func(t *testing.T) {
		nobody := change(t, kubeconfig, func(config *clientcmdapi.Config) {
			for _, user := range config.AuthInfos {
				user.Impersonate = "nobody"
			}
		})
		_, err := output(t, "status", "-kubeconfig", nobody)
		want(t, err, "forbidden", "ask the cluster's administrator")
	})
	t.Run("unknown credentials", func(t *testing.T) {
		stranger := change(t, kubeconfig, func(config *clientcmdapi.Config) {
			for name := range config.AuthInfos {
				config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "of nobody"}
			}
		})
		_, err := output(t, "status", "-kubeconfig", stranger)
		want(t, err, "does not know the credentials", "sign in again")
	})
}

// fill creates a pool with a booting node, and a pod that waits for it.
func fill(t *testing.T, client *cluster.Client) {
	t.Helper()
	class := &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	apply(t, client, &api.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind},
		ObjectMeta: metav1.ObjectMeta{Name: "general"},
		Spec: api.NodePoolSpec{Template: api.NodeClaimTemplate{Spec: api.NodeClaimTemplateSpec{
			Requirements: []api.NodeSelectorRequirementWithMinValues{}, NodeClassRef: class,
		}}},
	})
	claim := &api.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: api.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{Name: "general-1", Labels: map[string]string{
			api.NodePoolLabelKey: "general", api.CapacityTypeLabelKey: api.CapacityTypeOnDemand,
			corev1.LabelInstanceTypeStable: "m7g.large",
		}},
		Spec: api.NodeClaimSpec{Requirements: []api.NodeSelectorRequirementWithMinValues{}, NodeClassRef: class},
	}
	if _, err := client.CreateNodeClaim(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	var conditions []metav1.Condition
	api.SetCondition(
		&conditions, metav1.Condition{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue}, time.Now(),
	)
	_, err := client.PatchNodeClaimStatus(t.Context(), claim.Name, map[string]any{"status": map[string]any{
		"providerID": api.ProviderID("us-east-1a", "i-1"), "conditions": conditions,
		"capacity": corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, client, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	})
	pods, err := client.UnboundPods(t.Context())
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d pods wait, %v", len(pods), err)
	}
	err = client.Record(t.Context(), cluster.Event{
		About: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "web", UID: pods[0].UID},
		Type:  corev1.EventTypeNormal, Reason: "Nominated", Message: "Pod should schedule on: nodeclaim/general-1",
	}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	err = status.PutPlan(
		t.Context(), client,
		status.Plan{
			Time: time.Now(), Pods: 2, Nodes: []status.Nodes{{InstanceType: "m7g.large", Count: 1}}, PricePerHour: 0.25,
			LowerBoundPerHour: 0.2,
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	err = inventory.PutCatalog(t.Context(), client, &catalog.Catalog{
		Time: time.Now(), InstanceTypes: []catalog.InstanceTypeInfo{{InstanceType: "m7g.large", OnDemandPrice: 0.25}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// waitUnschedulable waits until the scheduler reports that a pod fits no node.
func waitUnschedulable(t *testing.T, client *cluster.Client, name string) {
	t.Helper()
	for range 300 {
		pods, err := client.Pods(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range pods {
			if pods[i].Name == name && scheduling.IsProvisionable(&pods[i]) {
				return
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the scheduler does not say that pod %s is unschedulable", name)
}

// fillClass creates the pool's node class, resolved and ready, and a catalogue with all types.
func fillClass(t *testing.T, client *cluster.Client, kubeconfig string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	class := catalogtest.NodeClass("default")
	class.TypeMeta = metav1.TypeMeta{APIVersion: api.AWSAPIVersion, Kind: api.EC2NodeClassKind}
	class.Spec.Role = "node"
	class.Spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	class.Spec.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(class)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	resource := schema.GroupVersionResource{Group: api.AWSGroup, Version: api.Version, Resource: api.EC2NodeClassResource}
	if _, err := direct.Resource(resource).Create(
		t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	for i := range class.Status.Conditions {
		class.Status.Conditions[i].LastTransitionTime = metav1.Now()
	}
	if _, err := client.PatchNodeClassStatus(t.Context(), class.Name, map[string]any{"status": class.Status}); err != nil {
		t.Fatal(err)
	}
	if err := inventory.PutCatalog(t.Context(), client, catalogtest.Catalog(t)); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, client *cluster.Client, object any) {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err == nil {
		delete(content, "status")
		err = client.Apply(t.Context(), &unstructured.Unstructured{Object: content})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// change writes a changed copy of the kubeconfig.
func change(t *testing.T, kubeconfig string, change func(*clientcmdapi.Config)) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	change(config)
	file := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// karpenterLeads creates the Lease that a running Karpenter renews, and its pod. It returns a function
// that deletes them.
func karpenterLeads(t *testing.T, kubeconfig string) func() {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	in := func(group, resource string) dynamic.ResourceInterface {
		return objects.Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}).
			Namespace("kube-system")
	}
	accounts, pods, leases := in("", "serviceaccounts"), in("", "pods"), in("coordination.k8s.io", "leases")
	_, err = accounts.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "karpenter"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = pods.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "karpenter-1"},
		"spec": map[string]any{
			"serviceAccountName": "karpenter", "nodeName": "somewhere",
			"containers": []any{map[string]any{"name": "controller", "image": "image"}},
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = leases.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": cluster.KarpenterLease},
		"spec": map[string]any{
			"holderIdentity": "karpenter-1_9a1c", "leaseDurationSeconds": int64(3600),
			"renewTime": time.Now().UTC().Format(metav1.RFC3339Micro),
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The read uses the API server's watch cache, which may lag a moment.
	client, err := cluster.NewForConfig(cluster.Endpoint{}, config)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found, err := client.KarpenterLeadership(t.Context(), cluster.KarpenterAccounts(), time.Now())
		if err == nil && (found.Leader != nil || len(found.Ignored) > 0) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the lease is not seen")
		}
	}
	return func() {
		none := int64(0)
		for name, resource := range map[string]dynamic.ResourceInterface{
			cluster.KarpenterLease: leases, "karpenter-1": pods, "karpenter": accounts,
		} {
			if err := resource.Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
				t.Error(err)
			}
		}
	}
}

// sharesTheBill asks who uses the price of the only node.
func sharesTheBill(t *testing.T, kubeconfig string) {
	t.Helper()
	for arguments, says := range map[string]string{
		"":                            "1 node: $0.2500/h",
		"-by nodepool":                "general",
		"-by label:team -o json":      `"by": "label:team"`,
		"-o csv":                      ",0.250000,",
		"-o jsonpath={.rows[*].name}": "(idle)",
	} {
		text, err := output(t, append([]string{"cost", "-kubeconfig", kubeconfig}, strings.Fields(arguments)...)...)
		if err != nil || !strings.Contains(text, says) {
			t.Errorf("cost %s: %v, %q", arguments, err, text)
		}
	}
	_, problems, err := runPlan(t, "", "cost", "-by", "namespaces", "-kubeconfig", kubeconfig)
	if exitCode(err) != codeUsage || !strings.Contains(problems, `did you mean "namespace"?`) {
		t.Errorf("a bill that nobody shares so: %v, %s", err, problems)
	}
}

// freezesAndThaws freezes the cluster by a command, and thaws it.
func freezesAndThaws(t *testing.T, kubeconfig string) {
	t.Helper()
	for _, step := range []struct {
		arguments []string
		says      string
		status    string // empty for none
	}{
		{[]string{"freeze", "-reason", "INC-12", "-for", "2h"}, "the cluster is frozen by ", "(INC-12); it holds disruption"},
		{[]string{"freeze", "-pool", "general", "-launches", "-drains"}, `nodepool "general" is frozen by `,
			"until somebody thaws it; it holds disruption, launches, drains"},
		{[]string{"thaw"}, `the cluster is thawed. Still, nodepool "general" is frozen by `, `FROZEN: nodepool "general"`},
		{[]string{"thaw", "-pool", "general"}, `nodepool "general" is thawed`, ""},
		{[]string{"thaw"}, "the cluster was not frozen", ""},
	} {
		text, err := output(t, append(step.arguments, "-kubeconfig", kubeconfig)...)
		if err != nil || !strings.Contains(text, step.says) || strings.Contains(text, "by somebody") {
			t.Errorf("%q: %v, %q", step.arguments, err, text)
		}
		shown, err := output(t, "status", "-kubeconfig", kubeconfig)
		shown = strings.Join(strings.Fields(shown), " ")
		if err != nil || !strings.Contains(shown, step.status) || (step.status == "") == strings.Contains(shown, "FROZEN") {
			t.Errorf("after %q: %v\n%s", step.arguments, err, shown)
		}
	}
	for flag, arguments := range map[string][]string{
		`-for: "tomorrow"`:                      {"freeze", "-for", "tomorrow"},
		`-pool: there is no nodepool "defualt"`: {"freeze", "-pool", "defualt"},
	} {
		_, problems, err := runPlan(t, "", append(arguments, "-kubeconfig", kubeconfig)...)
		if exitCode(err) != codeUsage || !strings.Contains(problems, flag) {
			t.Errorf("%q: %v, %s", arguments, err, problems)
		}
	}
}

// sleepsAndWakes lets the cluster sleep by a command, and wakes it.
func sleepsAndWakes(t *testing.T, kubeconfig string) {
	t.Helper()
	for _, step := range []struct {
		arguments []string
		says      string
		status    bool
	}{
		{[]string{"sleep", "-until", "10h", "-reason", "offsite"}, "the cluster sleeps until", true},
		{[]string{"wake"}, "the cluster is awake", false},
		{[]string{"sleep", "-windows", "Mon-Sun"}, "the cluster sleeps for more than a year", true},
		{[]string{"wake"}, "windows had no end", false},
		{[]string{"wake"}, "the cluster is awake", false},
	} {
		text, err := output(t, append(step.arguments, "-kubeconfig", kubeconfig)...)
		if err != nil || !strings.Contains(text, step.says) {
			t.Errorf("%q: %v, %q", step.arguments, err, text)
		}
		shown, err := output(t, "status", "-kubeconfig", kubeconfig)
		if err != nil || strings.Contains(shown, "the cluster sleeps") != step.status {
			t.Errorf("after %q: %v\n%s", step.arguments, err, shown)
		}
	}
	_, problems, err := runPlan(t, "", "sleep", "-until", "tomorrow", "-kubeconfig", kubeconfig)
	if exitCode(err) != codeUsage || !strings.Contains(problems, `-until: "tomorrow"`) {
		t.Errorf("a time that cannot be read: %v, %s", err, problems)
	}
}
