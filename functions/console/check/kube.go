package check

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

const kubeRights = "the deployer's identity to read the cluster (an access entry with the policy " +
	"AmazonEKSAdminViewPolicy), or pass -kubeconfig FILE,"

func karpenter(f *Facts) []Finding {
	const subject = "Karpenter"
	switch {
	case f.Kube.Err != nil:
		return unread("Kubernetes", kubeRights, f.Kube.Err)
	case f.Kube.Value.Karpenter != "":
		return line(subject, Warning, "deploy, then scale Karpenter's Deployment to 0: until then Whittle stands by",
			"%s leads", f.Kube.Value.Karpenter)
	}
	return ok(subject, "none leads")
}

// The names of the kinds' CustomResourceDefinitions.
const (
	NodePoolDefinition  = "nodepools." + api.Group
	NodeClassDefinition = "ec2nodeclasses." + api.AWSGroup
	nodeClaimDefinition = "nodeclaims." + api.Group
)

// DefinitionNames are the kinds that the stack installs where they are missing.
func DefinitionNames() []string {
	return []string{NodePoolDefinition, nodeClaimDefinition, NodeClassDefinition}
}

func definitions(f *Facts) []Finding {
	const subject = "CRDs"
	if f.Kube.Err != nil {
		return nil
	}
	var present, owners []string
	for _, name := range DefinitionNames() {
		if owner, found := f.Kube.Value.Definitions[name]; found {
			present = append(present, name)
			if owner != "" && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	switch {
	case len(present) == 0:
		return ok(subject, "none: the stack installs them, and keeps them when it is removed")
	case len(present) < len(DefinitionNames()):
		return line(subject, Warning, "nothing: the stack installs the others", "only %s exist", strings.Join(present, ", "))
	case len(owners) > 0:
		return ok(subject, "all exist, managed by %s: the stack leaves them alone", strings.Join(owners, ", "))
	}
	return ok(subject, "all exist")
}

func network(f *Facts) []Finding {
	const subject = "CNI"
	switch {
	case f.Kube.Err != nil:
		return nil
	case f.Kube.Value.CNI == "":
		return line(subject, Warning, "install one, such as the add-on vpc-cni: without one no node becomes Ready",
			"no DaemonSet in kube-system that is known to be one")
	}
	return ok(subject, "%s", f.Kube.Value.CNI)
}

// The quotas for running instances of the standard families, in vCPUs.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
const (
	OnDemandQuota = "L-1216C47A"
	SpotQuota     = "L-34B43A08"
)

// wanted is how many vCPUs NodePools may buy of a capacity type, and false where one has no limit.
func wanted(pools []api.NodePool, capacityType string) (cpus float64, limited bool) {
	limited = true
	for i := range pools {
		if !buys(&pools[i], capacityType) {
			continue
		}
		limit, found := pools[i].Spec.Limits[corev1.ResourceCPU]
		limited = limited && found
		cpus += limit.AsApproximateFloat64()
	}
	return cpus, limited
}

// buys reports whether a pool's requirements admit the capacity type.
func buys(pool *api.NodePool, capacityType string) bool {
	for _, requirement := range pool.Spec.Template.Spec.Requirements {
		if requirement.Key != api.CapacityTypeLabelKey {
			continue
		}
		listed := slices.Contains(requirement.Values, capacityType)
		if requirement.Operator == corev1.NodeSelectorOpIn && !listed ||
			requirement.Operator == corev1.NodeSelectorOpNotIn && listed {
			return false
		}
	}
	return true
}

func quotas(f *Facts) []Finding {
	if f.Quotas.Err != nil {
		return unread("quotas", "servicequotas:GetServiceQuota", f.Quotas.Err)
	}
	var all []Finding
	for _, of := range []struct{ capacityType, code string }{
		{api.CapacityTypeOnDemand, OnDemandQuota}, {api.CapacityTypeSpot, SpotQuota},
	} {
		subject, quota := "quota of "+of.capacityType, f.Quotas.Value[of.code]
		remedy := fmt.Sprintf("raise quota %s of EC2, or set spec.limits.cpu of the NodePools", of.code)
		cpus, limited := wanted(f.Kube.Value.NodePools, of.capacityType)
		switch {
		case f.Kube.Err != nil || cpus == 0 && limited:
			all = append(all, ok(subject, "%g vCPUs of standard types", quota)...)
		case !limited:
			all = append(all, line(subject, Warning, remedy, "%g vCPUs, and a NodePool has no cpu limit", quota)...)
		case cpus > quota:
			all = append(all, line(subject, Warning, remedy, "%g vCPUs, and the NodePools may want %g", quota, cpus)...)
		default:
			all = append(all, ok(subject, "%g vCPUs, and the NodePools want %g at most", quota, cpus)...)
		}
	}
	return all
}
