package manifests

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/functions/console/faults"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nearest"
)

// irrelevant lists Kubernetes' kinds that no plan depends on, by group.
var irrelevant = map[string][]string{
	"": {
		"Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "Secret", "ServiceAccount",
	},
	"admissionregistration.k8s.io": {
		"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
	},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"apps":                         {"ControllerRevision"},
	"autoscaling":                  {"HorizontalPodAutoscaler"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"coordination.k8s.io":          {"Lease", "LeaseCandidate"},
	"discovery.k8s.io":             {"EndpointSlice"},
	"events.k8s.io":                {"Event"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"networking.k8s.io":            {"Ingress", "IngressClass", "IPAddress", "NetworkPolicy", "ServiceCIDR"},
	"policy":                       {"PodSecurityPolicy"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	"storage.k8s.io":               {"CSIDriver", "CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"},
}

// withoutPlan says of kinds that are known and matter, yet are not read, why a plan leaves them out.
var withoutPlan = map[string]string{
	"batch CronJob":                      "its Jobs start later, and a plan is for pods that wait now",
	"scheduling.k8s.io PodGroup":         foreignGang,
	"scheduling.k8s.io Workload":         foreignGang,
	"scheduling.volcano.sh PodGroup":     foreignGang,
	"scheduling.koordinator.sh PodGroup": foreignGang,
	"node.k8s.io RuntimeClass":           "pods do not get its overhead and node selector: write them into the pods",
	api.Group + " Machine":               "it is Karpenter's own record of a node, and the Node counts",
	"kustomize.config.k8s.io Kustomization": "it is input of kustomize: plan its output, as with " +
		"`kustomize build DIR | whittle plan -f -`",
}

// foreignGang says how the pods of a gang of another scheduler are planned.
const foreignGang = "its pods are planned one by one, so that a part of the gang may get nodes: use a " +
	api.PodGroupKind + " of " + api.PodGroupAPIVersion

// formerGroups are groups that kinds have left.
var formerGroups = map[string]string{"extensions": "apps", "scheduling.sigs.k8s.io": "scheduling.k8s.io"}

// skip passes over an object of a kind that is not read. What looks like a kind that is read is an
// error, because the plan would miss it.
func (r *reader) skip(d *document.Document, e *envelope) {
	group := groupOf(e.apiVersion)
	if slices.Contains(irrelevant[group], e.kind) {
		once(r.silent, e.apiVersion+" "+e.kind, func() string {
			return d.Errorf(nil, "%s of %s skipped: a plan does not depend on this kind", e.what(), e.apiVersion).Error()
		})
		return
	}
	if meant := nearMiss(group, e); meant != "" {
		r.errs = append(r.errs, d.Errorf(
			document.Path{"kind"}, "%s: there is no kind %s in %s: did you mean %s?", e.what(), e.kind, e.apiVersion, meant))
		return
	}
	why, known := withoutPlan[group+" "+e.kind]
	if !known {
		why = "Whittle does not know this kind: if it makes pods, plan with the pods themselves"
	}
	once(r.skipped, e.apiVersion+" "+e.kind, func() string {
		return d.Errorf(nil, "%s of %s skipped: %s", e.what(), e.apiVersion, why).Error()
	})
}

// nearMiss returns the kind and version that was meant; empty if the kind is one of its own.
func nearMiss(group string, e *envelope) string {
	if _, known := withoutPlan[group+" "+e.kind]; known {
		return ""
	}
	versions, names := versionsOf(e.kind), kindsOf(group)
	switch {
	case len(versions) > 0 && (len(names) > 0 || formerGroups[group] != "" || isNear(group, versions)):
		return versions[0] + " " + e.kind
	case len(names) > 0:
		for _, name := range names {
			if strings.EqualFold(name, e.kind) {
				return versionsOf(name)[0] + " " + name
			}
		}
		// What may be a known kind of the group, read or not.
		if meant := nearest.To(e.kind, slices.Concat(names, irrelevant[group])); slices.Contains(names, meant) {
			return versionsOf(meant)[0] + " " + meant
		}
	case len(irrelevant[group]) == 0:
		return nearGroup(group, e)
	}
	return ""
}

// nearGroup returns what was meant by a kind that is misspelled in a group that is misspelled.
func nearGroup(group string, e *envelope) string {
	for _, known := range slices.Sorted(maps.Keys(kinds)) {
		version, kind, _ := strings.Cut(known, " ")
		if strings.EqualFold(kind, e.kind) && isNear(group, []string{version}) {
			return version + " " + kind
		}
	}
	return ""
}

// isNear reports whether a group is a misspelling of a version's group.
func isNear(group string, versions []string) bool {
	var groups []string
	for _, version := range versions {
		groups = append(groups, groupOf(version))
	}
	return nearest.To(group, groups) != ""
}

// groupOf returns the API group of an apiVersion; empty for Kubernetes' core.
func groupOf(apiVersion string) string {
	if group, _, ok := strings.Cut(apiVersion, "/"); ok {
		return group
	}
	return ""
}

// versionsOf returns the versions in which a kind is read, the newest first.
func versionsOf(kind string) []string {
	var versions []string
	for _, known := range slices.Sorted(maps.Keys(kinds)) {
		if version, name, _ := strings.Cut(known, " "); name == kind {
			versions = append(versions, version)
		}
	}
	return versions
}

// kindsOf returns the kinds of a group that are read.
func kindsOf(group string) []string {
	var names []string
	for _, known := range slices.Sorted(maps.Keys(kinds)) {
		if version, name, _ := strings.Cut(known, " "); groupOf(version) == group && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// warnClassless warns about each pool whose EC2NodeClass no file has.
func (r *reader) warnClassless() {
	for i := range r.manifests.NodePools {
		pool := &r.manifests.NodePools[i]
		name, near, without := faults.Classless(pool, r.manifests.NodeClasses)
		if !without {
			continue
		}
		text := fmt.Sprintf("NodePool %q: no file has its EC2NodeClass %q: the plan assumes its images, zones and volumes%s",
			pool.Name, name, near)
		if place, there := r.seen[keyOf(*pool, "", pool.Name)]; there {
			text = place.d.Errorf(nil, "%s", text).Error()
		}
		r.manifests.Warnings = append(r.manifests.Warnings, text)
	}
}
