package manifests

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// The DaemonSets that EKS puts into each cluster, with the containers' requests.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-networking-add-ons.html
const (
	awsNode   = "aws-node"
	kubeProxy = "kube-proxy"
)

// networkPlugins are DaemonSets that take the place of aws-node.
func networkPlugins() []string {
	return []string{awsNode, "cilium", "calico-node", "kube-flannel-ds", "weave-net", "antrea-agent"}
}

// AddEKS adds the DaemonSets that EKS puts into each cluster and that no file has. It returns their names,
// and what their pods request of each node.
func (m *Manifests) AddEKS() (names []string, requests corev1.ResourceList) {
	has := func(known ...string) bool {
		return slices.ContainsFunc(m.DaemonSets, func(set appsv1.DaemonSet) bool { return slices.Contains(known, set.Name) })
	}
	requests = corev1.ResourceList{}
	add := func(set appsv1.DaemonSet) {
		m.DaemonSets = append(m.DaemonSets, set)
		names = append(names, set.Namespace+"/"+set.Name)
		for name, quantity := range scheduling.DaemonPodRequests(&set.Spec.Template) {
			sum := requests[name]
			sum.Add(quantity)
			requests[name] = sum
		}
	}
	// 25m each for aws-node and the agent of network policies: `resources` and `nodeAgent.resources` of
	// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/charts/aws-vpc-cni/values.yaml, and in the manifest
	// https://github.com/aws/amazon-vpc-cni-k8s/blob/master/config/master/aws-k8s-cni.yaml
	if !has(networkPlugins()...) && !m.runsOtherNetwork() {
		add(systemSet(awsNode, []corev1.Container{container(awsNode, "25m", 61678), container("aws-eks-nodeagent", "25m")}))
	}
	// EKS's add-on kube-proxy requests 100m of CPU and no memory.
	// https://docs.aws.amazon.com/eks/latest/userguide/managing-kube-proxy.html
	if !has(kubeProxy) {
		add(systemSet(kubeProxy, []corev1.Container{container(kubeProxy, "100m")}))
	}
	return names, requests
}

// runsOtherNetwork reports whether pods of another network plugin are among the files.
func (m *Manifests) runsOtherNetwork() bool {
	return slices.ContainsFunc(m.Pods, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		return owner != nil && owner.Kind == "DaemonSet" && owner.Name != awsNode &&
			slices.Contains(networkPlugins(), owner.Name)
	})
}

// systemSet is a DaemonSet of EKS's. It runs on each Linux node, whatever its taints.
func systemSet(name string, containers []corev1.Container) appsv1.DaemonSet {
	labels := map[string]string{"k8s-app": name}
	set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template.Labels = labels
	set.Spec.Template.Spec = corev1.PodSpec{
		Containers: containers, HostNetwork: true, PriorityClassName: "system-node-critical",
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelOSStable, Operator: corev1.NodeSelectorOpIn, Values: []string{string(corev1.Linux)}},
				}}},
			},
		}},
	}
	defaultPorts(&set.Spec.Template.Spec)
	return set
}

func container(name, cpu string, ports ...int32) corev1.Container {
	made := corev1.Container{Name: name}
	made.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	for _, port := range ports {
		made.Ports = append(made.Ports, corev1.ContainerPort{ContainerPort: port})
	}
	return made
}
