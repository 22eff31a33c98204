package spread

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Defaults are the constraints of pods that have none. They have no selector.
type Defaults []corev1.TopologySpreadConstraint

// Parse reads a list of constraints in YAML or JSON. An empty text or list turns default topology
// spread off. The error is one line that names the wrong field and an allowed value.
func Parse(text string) (Defaults, error) {
	content, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("it is neither YAML nor JSON: %s", oneLine(err))
	}
	var read Defaults
	strict, err := json.UnmarshalStrict(content, &read)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	if err != nil {
		return nil, fmt.Errorf("it is no list of topology spread constraints: %s", oneLine(err))
	}
	for i := range read {
		if field, why := read.problem(i); why != "" {
			return nil, fmt.Errorf("[%d].%s %s", i, field, why)
		}
	}
	return read, nil
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// problem returns the first wrong field of a constraint, and what is wrong with it. It allows what
// kube-scheduler and the API server allow.
func (d Defaults) problem(number int) (field, why string) {
	c := &d[number]
	switch {
	case c.MaxSkew <= 0:
		return "maxSkew", fmt.Sprintf("is %d: write a number above 0", c.MaxSkew)
	case c.TopologyKey == "":
		return "topologyKey", "is missing: write the key of a node label"
	case len(validation.IsQualifiedName(c.TopologyKey)) > 0:
		return "topologyKey", fmt.Sprintf("is %q, which is no key of a label: %s", c.TopologyKey,
			validation.IsQualifiedName(c.TopologyKey)[0])
	case !knownAction(c.WhenUnsatisfiable):
		return "whenUnsatisfiable", fmt.Sprintf("is %q: write DoNotSchedule or ScheduleAnyway", c.WhenUnsatisfiable)
	case c.LabelSelector != nil:
		return "labelSelector", "is set: leave it out, because each pod's services and controller give it"
	case len(c.MatchLabelKeys) > 0:
		return "matchLabelKeys", "is set: leave it out, because each pod's services and controller give the selector"
	case c.MinDomains != nil && *c.MinDomains <= 0:
		return "minDomains", fmt.Sprintf("is %d: write a number above 0", *c.MinDomains)
	case c.MinDomains != nil && c.WhenUnsatisfiable == corev1.ScheduleAnyway:
		return "minDomains", "is set with ScheduleAnyway: it is for DoNotSchedule only"
	case !knownPolicy(c.NodeAffinityPolicy):
		return "nodeAffinityPolicy", fmt.Sprintf("is %q: write Honor or Ignore", *c.NodeAffinityPolicy)
	case !knownPolicy(c.NodeTaintsPolicy):
		return "nodeTaintsPolicy", fmt.Sprintf("is %q: write Honor or Ignore", *c.NodeTaintsPolicy)
	case d.repeats(number):
		return "topologyKey", fmt.Sprintf("repeats %q with %s: leave one of them out", c.TopologyKey, c.WhenUnsatisfiable)
	}
	return "", ""
}

// knownAction reports whether a pod may have the action.
func knownAction(action corev1.UnsatisfiableConstraintAction) bool {
	return action == corev1.DoNotSchedule || action == corev1.ScheduleAnyway
}

// repeats reports whether an earlier constraint has the same key and action.
func (d Defaults) repeats(number int) bool {
	return slices.ContainsFunc(d[:number], func(other corev1.TopologySpreadConstraint) bool {
		return other.TopologyKey == d[number].TopologyKey && other.WhenUnsatisfiable == d[number].WhenUnsatisfiable
	})
}

func knownPolicy(policy *corev1.NodeInclusionPolicy) bool {
	return policy == nil || *policy == corev1.NodeInclusionPolicyHonor || *policy == corev1.NodeInclusionPolicyIgnore
}
