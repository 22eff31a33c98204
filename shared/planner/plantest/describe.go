package plantest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// Describe prints a cluster and its plan, a line for each object. The plan may be nil.
func Describe(s *plan.Snapshot, p *plan.Plan) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(
		"policies: preferences %q, minValues %q; well-known labels %v",
		s.PreferencePolicy,
		s.MinValuesPolicy,
		s.WellKnownLabels,
	)
	for i := range s.NodePools {
		pool := &s.NodePools[i]
		line(
			"pool %s: %s deleted %v status %s",
			pool.Name,
			brief(pool.Spec),
			pool.DeletionTimestamp != nil,
			brief(pool.Status.Conditions),
		)
		for j := range s.InstanceTypes[pool.Name] {
			t := &s.InstanceTypes[pool.Name][j]
			var offerings []string
			for _, o := range t.Offerings {
				if o.Available {
					offerings = append(
						offerings,
						strings.TrimSpace(
							fmt.Sprintf("%s %s %g %s %s", o.Zone, o.CapacityType, o.Price, o.ReservationID, o.Requirements),
						),
					)
				}
			}
			line("  type %s %s: %s", t.Name, brief(t.Allocatable), strings.Join(offerings, ", "))
		}
	}
	for i := range s.DaemonSets {
		line("daemon set %s: %s", s.DaemonSets[i].Name, brief(s.DaemonSets[i].Spec.Template.Spec))
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.NodeClaim != nil {
			line(
				"claim %s: labels %s taints %s startup %s status %s deleted %v",
				n.NodeClaim.Name,
				brief(n.NodeClaim.Labels),
				brief(n.NodeClaim.Spec.Taints),
				brief(n.NodeClaim.Spec.StartupTaints),
				brief(n.NodeClaim.Status),
				n.NodeClaim.DeletionTimestamp != nil,
			)
		}
		if n.Node != nil {
			line(
				"node %s: labels %s taints %s allocatable %s deleted %v",
				n.Node.Name,
				brief(n.Node.Labels),
				brief(n.Node.Spec.Taints),
				brief(n.Node.Status.Allocatable),
				n.Node.DeletionTimestamp != nil,
			)
		}
		for j := range n.Pods {
			line("  %s", podLine(&n.Pods[j]))
		}
	}
	for i := range s.Pods {
		line("waiting %s", podLine(&s.Pods[i]))
	}
	for i := range s.CSINodes {
		line("csinode %s: %s", s.CSINodes[i].Name, brief(s.CSINodes[i].Spec))
	}
	for i := range s.PersistentVolumeClaims {
		c := &s.PersistentVolumeClaims[i]
		line(
			"claim of volume %s/%s: %s %s deleted %v",
			c.Namespace,
			c.Name,
			brief(c.Spec),
			c.Status.Phase,
			c.DeletionTimestamp != nil,
		)
	}
	for i := range s.PersistentVolumes {
		line(
			"volume %s: labels %v %s",
			s.PersistentVolumes[i].Name,
			s.PersistentVolumes[i].Labels,
			brief(s.PersistentVolumes[i].Spec),
		)
	}
	for i := range s.StorageClasses {
		line(
			"class %s: %s %s",
			s.StorageClasses[i].Name,
			*s.StorageClasses[i].VolumeBindingMode,
			brief(s.StorageClasses[i].AllowedTopologies),
		)
	}
	describePlan(p, line)
	return b.String()
}

func describePlan(p *plan.Plan, line func(string, ...any)) {
	if p == nil {
		return
	}
	line("plan: %g $/h, bound %g", p.PricePerHour, p.LowerBoundPerHour)
	for i := range p.NodeClaims {
		c := &p.NodeClaims[i]
		var requirements []string
		for j := range c.NodeClaim.Spec.Requirements {
			requirements = append(requirements, requirementText(&c.NodeClaim.Spec.Requirements[j]))
		}
		line(
			"  planned-%d for %v: labels %s\n    requirements %s\n    offerings %v",
			i,
			c.Pods,
			brief(c.NodeClaim.Labels),
			strings.Join(requirements, ", "),
			c.Offerings[:min(len(c.Offerings), 4)],
		)
	}
	for _, n := range p.Nominations {
		line("  %s to %s%s", n.Pod, n.NodeName, n.NodeClaimName)
	}
	for _, u := range p.Unplaced {
		line("  %s nowhere: %v", u.Pod, u.Reasons)
	}
}

func podLine(p *corev1.Pod) string {
	text := fmt.Sprintf("%s/%s labels %s", p.Namespace, p.Name, brief(p.Labels))
	if p.DeletionTimestamp != nil {
		text += " ending"
	}
	if p.Spec.NodeName != "" {
		text += " on " + p.Spec.NodeName
	}
	spec := p.Spec.DeepCopy()
	spec.NodeName = ""
	return text + " " + brief(spec)
}

// brief returns a value's JSON. Of the labels of instance types it keeps only two.
func brief(v any) string {
	if labels, ok := v.(map[string]string); ok {
		var parts []string
		for key, value := range labels {
			if !strings.HasPrefix(key, "karpenter.k8s.aws/") ||
				slices.Contains([]string{"instance-cpu", "instance-category"}, strings.TrimPrefix(key, "karpenter.k8s.aws/")) {
				parts = append(parts, key[strings.LastIndex(key, "/")+1:]+"="+value)
			}
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
