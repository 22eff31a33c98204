package world_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// family is an AMI family with what its class and its pod ask for and what its node must have.
type family struct {
	name, family, image, selector, userData string
	system, build                           string
}

// everyFamily returns a class of each AMI family, with user data in the family's own language.
// Amazon Linux 2 ends with Kubernetes 1.32, so its class names an image.
func everyFamily(w *world.World, cluster string) []family {
	linux := func(name string) string { return fmt.Sprintf("{kubernetes.io/os: linux, family: %s}", name) }
	windows := func(build string) string {
		return fmt.Sprintf("{kubernetes.io/os: windows, node.kubernetes.io/windows-build: %s}", build)
	}
	// A class of the family Custom passes its user data on unchanged.
	own := fmt.Sprintf(`apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster: {name: %s, apiServerEndpoint: %q, certificateAuthority: %s, cidr: %s}
  kubelet:
    config:
      maxPods: 20
      kubeReserved: {cpu: 200m}
      evictionHard: {memory.available: 100Mi, nodefs.available: 5%%, nodefs.inodesFree: 5%%}
      registerWithTaints: [{key: karpenter.sh/unregistered, effect: NoExecute}]
`, cluster, w.ControlPlane.Endpoint, base64.StdEncoding.EncodeToString(w.ControlPlane.CertificateAuthority),
		w.ControlPlane.ServiceCIDR)
	powershell := "Write-Output 'own'"
	all := []family{
		{
			"al2", api.AMIFamilyAL2, "{name: amazon-eks-node-1.32-v*, owner: amazon}", linux("al2"), "#!/bin/bash\necho own\n",
			"Amazon Linux 2", "",
		},
		{
			"al2023", api.AMIFamilyAL2023, "{alias: al2023@latest}", linux("al2023"),
			"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {podPidsLimit: 1000}}}\n",
			"Amazon Linux 2023", "",
		},
		{
			"bottlerocket", api.AMIFamilyBottlerocket, "{alias: bottlerocket@latest}", linux("bottlerocket"),
			"[settings.kubernetes]\npod-pids-limit = 1000\n", "Bottlerocket", "",
		},
		{
			"windows2019", api.AMIFamilyWindows2019, "{alias: windows2019@latest}", windows(api.Windows2019Build), powershell,
			"Windows Server 2019", api.Windows2019Build,
		},
		{
			"windows2022", api.AMIFamilyWindows2022, "{alias: windows2022@latest}", windows(api.Windows2022Build), powershell,
			"Windows Server 2022", api.Windows2022Build,
		},
		{
			"windows2025", api.AMIFamilyWindows2025, "{alias: windows2025@latest}", windows(api.Windows2025Build), powershell,
			"Windows Server 2025", api.Windows2025Build,
		},
		{"custom", api.AMIFamilyCustom, "{alias: al2023@latest}", linux("custom"), own, "Amazon Linux 2023", ""},
	}
	if strings.HasPrefix(w.ControlPlane.Version, "v1.34.") {
		// EKS's first image of Windows Server 2025 is for 1.35.
		all = slices.DeleteFunc(all, func(f family) bool { return f.family == api.AMIFamilyWindows2025 })
	}
	return all
}

func (f family) apply(t *testing.T, setup scenario.Setup, variables map[string]string) {
	t.Helper()
	text, err := json.Marshal(f.userData)
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(variables)
	maps.Copy(all, map[string]string{
		"NAME": f.name, "FAMILY": f.family, "IMAGE": f.image, "SELECTOR": f.selector, "USER_DATA": string(text),
	})
	if err := setup.Client.Apply(t.Context(), manifest(setup, "family.yaml"), all); err != nil {
		t.Fatal(err)
	}
}

// brokenUserData is said on the class, with the field and the mend, and nothing is asked of EC2.
func brokenUserData(t *testing.T, w *world.World, setup scenario.Setup, variables map[string]string) {
	launches := []string{"ec2:CreateFleet", "ec2:RunInstances", "ec2:CreateLaunchTemplate"}
	before := w.Calls()
	all := []struct {
		family
		reason string
		words  []string
	}{
		{family{
			name: "broken-cluster", family: api.AMIFamilyAL2023, image: "{alias: al2023@latest}",
			userData: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {cluster: {name: staging}}\n",
		},
			"ValidationFailed", []string{"spec.userData", "spec.cluster.name", "staging", setup.Name, "remove"}},
		{family{
			name: "broken-toml", family: api.AMIFamilyBottlerocket, image: "{alias: bottlerocket@latest}",
			userData: "[settings.kubernetes\nmax-pods = 9\n",
		},
			"ValidationFailed", []string{"spec.userData", "not well-formed TOML", "line 1"}},
		{family{
			name: "broken-size", family: api.AMIFamilyAL2, image: "{name: amazon-eks-node-1.32-v*, owner: amazon}",
			userData: "#!/bin/bash\n" + strings.Repeat("# seventeen bytes\n", 17<<10/18),
		},
			api.ReasonUserDataSizeLimitExceeded, []string{"spec.userData", "16384", "shorten"}},
	}
	for i := range all {
		all[i].selector = fmt.Sprintf("{family: %s}", all[i].name)
		all[i].apply(t, setup, variables)
	}
	for _, broken := range all {
		wait(t, "class "+broken.name+" to say what is wrong", func(ctx context.Context) (bool, string, error) {
			classes, err := setup.Cluster.NodeClasses(ctx)
			for i := range classes {
				condition := api.GetCondition(classes[i].Status.Conditions, api.ConditionTypeValidationSucceeded)
				if classes[i].Name != broken.name || condition == nil {
					continue
				}
				said := condition.Status == metav1.ConditionFalse && condition.Reason == broken.reason &&
					!api.ConditionTrue(classes[i].Status.Conditions, api.ConditionReady)
				for _, words := range broken.words {
					said = said && strings.Contains(condition.Message, words)
				}
				return said, fmt.Sprintf("%+v", condition), err
			}
			return false, "it says nothing", err
		})
		wait(t, "an event on pool "+broken.name, func(ctx context.Context) (bool, string, error) {
			list, err := setup.Client.Core.CoreV1().Events("default").List(ctx,
				metav1.ListOptions{FieldSelector: "involvedObject.name=" + broken.name + ",reason=" + api.ReasonNodeClassNotReady})
			// An earlier event may say that the class was not read yet.
			return err == nil && slices.ContainsFunc(list.Items, func(event corev1.Event) bool {
				return strings.Contains(event.Message, "spec.userData")
			}), fmt.Sprint(list), err
		})
		deletePod(t, setup, broken.name)
	}
	after := w.Calls()
	for _, call := range launches {
		if after[call] != before[call] {
			t.Errorf("%d calls of %s for classes whose user data is broken", after[call]-before[call], call)
		}
	}
	if claims, err := setup.Client.NodeClaims(t.Context()); err != nil || len(claims) != 0 {
		t.Errorf("%d claims, %v", len(claims), err)
	}
}

// families runs a pod on a node of each AMI family. What happens beside it goes on
// meanwhile.
func families(t *testing.T, w *world.World, setup scenario.Setup, variables map[string]string, beside func()) {
	all := everyFamily(w, setup.Name)
	for _, f := range all {
		f.apply(t, setup, variables)
	}
	beside()
	if err := scenario.Until(t.Context(), patience, "a pod of each family to run",
		setup.Client.Running("default", "scenario=family", len(all))); err != nil {
		for _, instance := range w.EC2.Instances() {
			t.Logf("%s says: %s", instance.ID, w.Machines.ConsoleOutput(instance.ID))
		}
		t.Fatal(err)
	}
	wait(t, "the nodes to be initialized", initialized(setup))
	checkNodes(t, setup)
	tagged(t, w, setup)
	plans := plannedTypes(t, setup)
	for _, f := range all {
		f.check(t, setup, plans)
	}
	for _, f := range all {
		deletePod(t, setup, f.name)
	}
	wait(t, "the cluster to be empty", empty(setup))
}

// check holds the node that the family's pod runs on against what the family is.
func (f family) check(t *testing.T, setup scenario.Setup, plans plans) {
	t.Helper()
	node, claim := f.node(t, setup)
	info, typ := node.Status.NodeInfo, plans.of(t, claim)
	if !strings.HasPrefix(info.OSImage, f.system) || node.Labels[corev1.LabelWindowsBuild] != f.build ||
		node.Labels["family"] != f.name {
		t.Errorf("family %s: the pod runs on %q with the labels %v", f.name, info.OSImage, node.Labels)
	}
	if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "family" {
		t.Errorf("family %s: the node has the taints %v", f.name, node.Spec.Taints)
	}
	// The node has the kubelet settings of the class, as planned, whatever memory the machine has.
	for _, name := range []corev1.ResourceName{
		corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	} {
		has, planned := kept(name, node.Status.Capacity, node.Status.Allocatable), kept(name, typ.Capacity, typ.Allocatable)
		if has.Cmp(planned) != 0 {
			t.Errorf("family %s: %s of %s is kept from pods, planned was %s", f.name, has.String(), name, planned.String())
		}
	}
	if pods := node.Status.Capacity[corev1.ResourcePods]; pods.Value() != 20 {
		t.Errorf("family %s: the node takes %s pods, its class says 20", f.name, pods.String())
	}
}

// kept is how much of a resource is not for pods.
func kept(name corev1.ResourceName, capacity, allocatable corev1.ResourceList) resource.Quantity {
	amount := capacity[name].DeepCopy()
	amount.Sub(allocatable[name])
	return amount
}

// plans are the instance types as nodes of each class are planned with, by class and type.
type plans map[[2]string]catalog.InstanceType

func plannedTypes(t *testing.T, setup scenario.Setup) plans {
	t.Helper()
	offer, err := inventory.Catalog(t.Context(), setup.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := setup.Cluster.NodeClasses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := plans{}
	for i := range classes {
		class := &classes[i]
		for _, typ := range catalog.Resolve(offer, class, catalog.Observed{}, time.Now()) {
			all[[2]string{class.Name, typ.Name}] = typ
		}
	}
	return all
}

// of is what the claim's node was planned with. The claim itself says what its node has.
func (p plans) of(t *testing.T, claim api.NodeClaim) catalog.InstanceType {
	t.Helper()
	typ, found := p[[2]string{claim.Spec.NodeClassRef.Name, claim.Labels[corev1.LabelInstanceTypeStable]}]
	if !found {
		t.Fatalf("claim %s has the labels %v, which is no type of its class", claim.Name, claim.Labels)
	}
	return typ
}

func (f family) node(t *testing.T, setup scenario.Setup) (corev1.Node, api.NodeClaim) {
	t.Helper()
	pod, err := setup.Client.Core.CoreV1().Pods("default").Get(t.Context(), f.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node, err := setup.Client.Core.CoreV1().Nodes().Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := claimOf(t.Context(), setup, *node)
	if err != nil || claim == nil {
		t.Fatalf("node %s has the claim %v, %v", node.Name, claim, err)
	}
	return *node, *claim
}

func deletePod(t *testing.T, setup scenario.Setup, name string) {
	t.Helper()
	now := int64(0)
	if err := setup.Client.Core.CoreV1().Pods("default").Delete(t.Context(), name,
		metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Error(err)
	}
}
