package apiserver

import (
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// Kind is a kind of objects that the model holds.
type Kind struct {
	Group, Version, Plural, Name string
	Namespaced                   bool
	// HasStatus is for a kind with the subresource status. Its other writes leave the status alone.
	HasStatus bool
	// Custom is for a kind of a CustomResourceDefinition, which the API server returns as JSON only.
	Custom bool
	// make returns an empty object of the kind's Go type.
	make func() any
}

// The kinds that functions and the simulation's controllers use.
var (
	Pods       = &Kind{"", "v1", "pods", "Pod", true, true, false, func() any { return new(corev1.Pod) }}
	Nodes      = &Kind{"", "v1", "nodes", "Node", false, true, false, func() any { return new(corev1.Node) }}
	Namespaces = &Kind{"", "v1", "namespaces", "Namespace", false, true, false,
		func() any { return new(corev1.Namespace) }}
	ConfigMaps = &Kind{"", "v1", "configmaps", "ConfigMap", true, false, false,
		func() any { return new(corev1.ConfigMap) }}
	Events   = &Kind{"", "v1", "events", "Event", true, false, false, func() any { return new(corev1.Event) }}
	Services = &Kind{"", "v1", "services", "Service", true, true, false, func() any { return new(corev1.Service) }}
	Limits   = &Kind{"", "v1", "limitranges", "LimitRange", true, false, false,
		func() any { return new(corev1.LimitRange) }}
	Quotas = &Kind{"", "v1", "resourcequotas", "ResourceQuota", true, false, false,
		func() any { return new(corev1.ResourceQuota) }}
	VolumeClaims = &Kind{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true, true, false,
		func() any { return new(corev1.PersistentVolumeClaim) }}
	Volumes = &Kind{"", "v1", "persistentvolumes", "PersistentVolume", false, true, false,
		func() any { return new(corev1.PersistentVolume) }}
	DaemonSets = &Kind{"apps", "v1", "daemonsets", "DaemonSet", true, true, false,
		func() any { return new(appsv1.DaemonSet) }}
	Deployments = &Kind{"apps", "v1", "deployments", "Deployment", true, true, false,
		func() any { return new(appsv1.Deployment) }}
	ReplicaSets = &Kind{"apps", "v1", "replicasets", "ReplicaSet", true, true, false,
		func() any { return new(appsv1.ReplicaSet) }}
	// The model keeps definitions and rights, and does not go by them.
	Definitions = &Kind{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false, true,
		false, anything}
	ClusterRoles        = &Kind{rbacv1.GroupName, "v1", "clusterroles", "ClusterRole", false, false, false, anything}
	ClusterRoleBindings = &Kind{rbacv1.GroupName, "v1", "clusterrolebindings", "ClusterRoleBinding", false, false, false,
		anything}
	Roles        = &Kind{rbacv1.GroupName, "v1", "roles", "Role", true, false, false, anything}
	RoleBindings = &Kind{rbacv1.GroupName, "v1", "rolebindings", "RoleBinding", true, false, false, anything}
	// The model keeps admission policies, and lets everything in.
	AdmissionPolicies = &Kind{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
		"ValidatingAdmissionPolicy", false, true, false, anything}
	AdmissionBindings = &Kind{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings",
		"ValidatingAdmissionPolicyBinding", false, false, false, anything}
	Reviews = &Kind{"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", false, false, false,
		anything}
	ServiceAccounts = &Kind{"", "v1", "serviceaccounts", "ServiceAccount", true, false, false,
		func() any { return new(corev1.ServiceAccount) }}
	Leases = &Kind{"coordination.k8s.io", "v1", "leases", "Lease", true, false, false,
		func() any { return new(coordinationv1.Lease) }}
	Budgets = &Kind{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true, true, false,
		func() any { return new(policyv1.PodDisruptionBudget) }}
	StorageClasses = &Kind{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false, false, false,
		func() any { return new(storagev1.StorageClass) }}
	Attachments = &Kind{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false, true, false,
		func() any { return new(storagev1.VolumeAttachment) }}
	CSINodes = &Kind{"storage.k8s.io", "v1", "csinodes", "CSINode", false, false, false,
		func() any { return new(storagev1.CSINode) }}
	NodeClaims = &Kind{"karpenter.sh", "v1", "nodeclaims", "NodeClaim", false, true, true,
		func() any { return new(api.NodeClaim) }}
	NodePools = &Kind{"karpenter.sh", "v1", "nodepools", "NodePool", false, true, true,
		func() any { return new(api.NodePool) }}
	NodeOverlays = &Kind{"karpenter.sh", "v1alpha1", "nodeoverlays", "NodeOverlay", false, true, true,
		func() any { return new(api.NodeOverlay) }}
	PodTemplates = &Kind{"", "v1", "podtemplates", "PodTemplate", true, false, false,
		func() any { return new(corev1.PodTemplate) }}
	Requests = &Kind{api.AutoscalingGroup, "v1", api.ProvisioningRequestResource, api.ProvisioningRequestKind, true, true,
		true, func() any { return new(api.ProvisioningRequest) }}
	PodGroups = &Kind{"scheduling.x-k8s.io", "v1alpha1", "podgroups", api.PodGroupKind, true, true, true,
		func() any { return new(api.PodGroup) }}
	CapacityBuffers = &Kind{api.AutoscalingGroup, api.CapacityBufferVersion, "capacitybuffers", "CapacityBuffer", true,
		true, true, func() any { return new(api.CapacityBuffer) }}
	CapacityQuotas = &Kind{api.AutoscalingGroup, "v1beta1", "capacityquotas", api.CapacityQuotaKind, false, true, true,
		func() any { return new(api.CapacityQuota) }}
	Provisioners = &Kind{api.Group, "v1alpha5", legacy.ProvisionerResource, legacy.ProvisionerKind, false, true, true,
		func() any { return new(legacy.Provisioner) }}
	NodeTemplates = &Kind{api.AWSGroup, "v1alpha1", legacy.AWSNodeTemplateResource, legacy.AWSNodeTemplateKind, false,
		true, true, func() any { return new(legacy.AWSNodeTemplate) }}
	NodeClasses = &Kind{"karpenter.k8s.aws", "v1", "ec2nodeclasses", "EC2NodeClass", false, true, true,
		func() any { return new(api.EC2NodeClass) }}
)

// anything is an object whose type the model does not know.
func anything() any { return new(unstructured.Unstructured) }

// known are all kinds, by the path of their collections without a namespace.
var known = sync.OnceValue(func() map[string]*Kind {
	paths := map[string]*Kind{}
	for _, kind := range kinds() {
		paths[kind.prefix()+kind.Plural] = kind
	}
	return paths
})

func kinds() []*Kind {
	return []*Kind{
		Pods, Nodes, Namespaces, ConfigMaps, Events, Services, Limits, Quotas, VolumeClaims, Volumes, DaemonSets, Leases,
		Budgets, StorageClasses, Attachments, CSINodes, NodeClaims, NodePools, NodeOverlays, NodeClasses,
		PodTemplates, CapacityBuffers, CapacityQuotas, Requests, PodGroups, Deployments, ReplicaSets, ServiceAccounts,
		Provisioners, NodeTemplates, Definitions, ClusterRoles, ClusterRoleBindings, Roles, RoleBindings, Reviews,
		AdmissionPolicies, AdmissionBindings,
	}
}

// hasGeneration reports whether the API server counts the generations of the kind's specs.
func (k *Kind) hasGeneration() bool {
	return k.Custom || k == Pods || k == Budgets || k == DaemonSets || k == Deployments || k == ReplicaSets
}

// apiVersion is the kind's field apiVersion.
func (k *Kind) apiVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// prefix is the path below which the kind's resources are.
func (k *Kind) prefix() string {
	if k.Group == "" {
		return "/api/" + k.Version + "/"
	}
	return "/apis/" + k.Group + "/" + k.Version + "/"
}

// target is what a request's path names.
type target struct {
	kind                         *Kind
	namespace, name, subresource string
}

// parse reads a path such as /api/v1/namespaces/NAMESPACE/pods/NAME/eviction. ok is false for a kind
// that the model does not hold.
func parse(path string) (t target, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	within := 2 // /api/v1
	if parts[0] == "apis" {
		within = 3
	}
	if len(parts) <= within {
		return target{}, false
	}
	prefix, rest := "/"+strings.Join(parts[:within], "/")+"/", parts[within:]
	namespace := ""
	if len(rest) >= 3 && rest[0] == "namespaces" {
		if kind := known()[prefix+rest[2]]; kind != nil && kind.Namespaced {
			namespace, rest = rest[1], rest[2:]
		}
	}
	kind := known()[prefix+rest[0]]
	if kind == nil || len(rest) > 3 || kind == Namespaces && len(rest) > 2 {
		return target{}, false
	}
	t = target{kind: kind, namespace: namespace}
	if len(rest) > 1 {
		t.name = rest[1]
	}
	if len(rest) > 2 {
		t.subresource = rest[2]
	}
	return t, true
}
