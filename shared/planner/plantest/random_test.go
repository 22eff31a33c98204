package plantest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// features maps each feature of scheduling to a function that finds it in a cluster.
var features = map[string]func(*plan.Snapshot) bool{
	"init container": anyPod(
		func(p *corev1.Pod) bool { return hasText(p.Spec.InitContainers, `"name":"init"`) },
	),
	"sidecar": anyPod(
		func(p *corev1.Pod) bool { return hasText(p.Spec.InitContainers, `"restartPolicy":"Always"`) },
	),
	"overhead":                   anyPod(func(p *corev1.Pod) bool { return p.Spec.Overhead != nil }),
	"pod-level resources":        anyPod(func(p *corev1.Pod) bool { return p.Spec.Resources != nil }),
	"GPU":                        podText(api.ResourceNVIDIAGPU),
	"Neuron":                     podText(api.ResourceAWSNeuron),
	"pod ENI":                    podText(api.ResourceAWSPodENI),
	"huge pages":                 podText("hugepages-2Mi"),
	"node selector":              anyPod(func(p *corev1.Pod) bool { return len(p.Spec.NodeSelector) > 0 }),
	"preferred node affinity":    podText(`"preference":`),
	"In":                         podText(`"operator":"In"`),
	"NotIn":                      podText(`"operator":"NotIn"`),
	"Exists":                     podText(`"operator":"Exists"`),
	"DoesNotExist":               podText(`"operator":"DoesNotExist"`),
	"Gt":                         podText(`"operator":"Gt"`),
	"Lt":                         podText(`"operator":"Lt"`),
	"Gte of a pool":              poolText(`"operator":"Gte"`),
	"Lte of a pool":              poolText(`"operator":"Lte"`),
	"minValues":                  poolText(`"minValues":`),
	"limit of nodes":             poolText(`"nodes":`),
	"weight":                     poolText(`"weight":`),
	"startup taint":              poolText(`"startupTaints":`),
	"PreferNoSchedule":           poolText(`"PreferNoSchedule"`),
	"static pool":                poolText(`"replicas":`),
	"pool that is not ready":     poolText(`"status":"False"`),
	"pool that is being deleted": poolText(`"deletionTimestamp"`),
	"toleration by number":       podText(`"key":"example.com/dedicated","operator":"Gt"`),
	"spread over zones":          spread(corev1.LabelTopologyZone),
	"spread over hosts":          spread(corev1.LabelHostname),
	"spread over capacity types": spread(api.CapacityTypeLabelKey),
	"spread over architectures":  spread(corev1.LabelArchStable),
	"spread over a custom label": spread(teamLabel),
	"ScheduleAnyway":             podText(`"ScheduleAnyway"`),
	"minDomains":                 podText(`"minDomains":`),
	"matchLabelKeys":             podText(`"matchLabelKeys":`),
	"mismatchLabelKeys":          podText(`"mismatchLabelKeys":`),
	"nodeAffinityPolicy":         podText(`"nodeAffinityPolicy":"Ignore"`),
	"nodeTaintsPolicy":           podText(`"nodeTaintsPolicy":"Honor"`),
	"required affinity":          podText(`"podAffinity":{"required`),
	"preferred affinity":         podText(`"podAffinity":{"preferred`),
	"required anti-affinity":     podText(`"podAntiAffinity":{"required`),
	"preferred anti-affinity":    podText(`"podAntiAffinity":{"preferred`),
	"namespaces":                 podText(`"namespaces":`),
	"namespaceSelector":          podText(`"namespaceSelector":`),
	"ephemeral claim":            podText(`"ephemeral":`),
	"host port":                  podText(`"hostPort":`),
	"priority":                   podText(`"priority":`),
	"pod of a leaving node":      anyPod(func(p *corev1.Pod) bool { return p.Spec.NodeName != "" }),
	"daemon set":                 func(s *plan.Snapshot) bool { return len(s.DaemonSets) > 0 },
	"bound claim": func(s *plan.Snapshot) bool {
		return hasText(s.PersistentVolumeClaims,
			`"phase":"Bound"`)
	},
	"unbound claim": func(s *plan.Snapshot) bool {
		return hasText(s.PersistentVolumeClaims,
			`"phase":"Pending"`)
	},
	"local volume": func(s *plan.Snapshot) bool { return hasText(s.PersistentVolumes, `"local":`) },
	"class topology": func(s *plan.Snapshot) bool {
		return hasText(s.StorageClasses,
			`"allowedTopologies":`)
	},
	"attach limit":                 func(s *plan.Snapshot) bool { return len(s.CSINodes) > 0 },
	"well-known label of the user": func(s *plan.Snapshot) bool { return len(s.WellKnownLabels) > 0 },
	"preferences ignored":          func(s *plan.Snapshot) bool { return s.PreferencePolicy == plan.PreferencesIgnored },
	"minValues at best":            func(s *plan.Snapshot) bool { return s.MinValuesPolicy == plan.MinValuesBestEffort },
	"node in flight": anyNode(
		func(n *plan.Node) bool { return n.Node == nil && n.NodeClaim.Status.ProviderID != "" },
	),
	"node that is starting": anyNode(
		func(n *plan.Node) bool { return n.Node != nil && hasText(n.Node.Spec.Taints, corev1.TaintNodeNotReady) },
	),
	"node that leaves": anyNode(
		func(n *plan.Node) bool { return n.NodeClaim != nil && n.NodeClaim.DeletionTimestamp != nil },
	),
	"node without a claim": anyNode(func(n *plan.Node) bool { return n.NodeClaim == nil }),
	"cordoned node": anyNode(
		func(n *plan.Node) bool { return n.Node != nil && n.Node.Spec.Unschedulable },
	),
	"running pod with anti-affinity": anyNode(
		func(n *plan.Node) bool { return hasText(n.Pods, `"podAntiAffinity":{"required`) },
	),
	"daemon set that waits for its node's start": func(s *plan.Snapshot) bool {
		return hasText(s.DaemonSets, api.NodeInitializedLabelKey) || hasText(s.DaemonSets, api.NodeRegisteredLabelKey)
	},
	"spot": offering(
		func(o *catalog.Offering) bool { return o.CapacityType == api.CapacityTypeSpot },
	),
	"reserved":    offering(func(o *catalog.Offering) bool { return o.ReservationID != "" }),
	"unavailable": offering(func(o *catalog.Offering) bool { return !o.Available }),
}

func hasText(v any, text string) bool {
	have, err := json.Marshal(v)
	return err == nil && strings.Contains(string(have), text)
}

func anyPod(f func(*corev1.Pod) bool) func(*plan.Snapshot) bool {
	return func(s *plan.Snapshot) bool {
		return slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool { return f(&p) })
	}
}

func anyNode(f func(*plan.Node) bool) func(*plan.Snapshot) bool {
	return func(s *plan.Snapshot) bool {
		return slices.ContainsFunc(s.Nodes, func(n plan.Node) bool { return f(&n) })
	}
}

func podText(text string) func(*plan.Snapshot) bool {
	return func(s *plan.Snapshot) bool { return hasText(s.Pods, text) }
}

func poolText(text string) func(*plan.Snapshot) bool {
	return func(s *plan.Snapshot) bool { return hasText(s.NodePools, text) }
}

func spread(key string) func(*plan.Snapshot) bool {
	return anyPod(func(p *corev1.Pod) bool {
		return slices.ContainsFunc(
			p.Spec.TopologySpreadConstraints,
			func(c corev1.TopologySpreadConstraint) bool { return c.TopologyKey == key },
		)
	})
}

func offering(f func(*catalog.Offering) bool) func(*plan.Snapshot) bool {
	return func(s *plan.Snapshot) bool {
		for _, types := range s.InstanceTypes {
			for i := range types {
				for j := range types[i].Offerings {
					if f(&types[i].Offerings[j]) {
						return true
					}
				}
			}
		}
		return false
	}
}

// TestRandomUsesEveryFeature checks that the random clusters lack no feature that the planner
// supports.
func TestRandomUsesEveryFeature(t *testing.T) {
	missing := map[string]func(*plan.Snapshot) bool{}
	for name, has := range features {
		missing[name] = has
	}
	for seed := uint64(0); seed < 500 && len(missing) > 0; seed++ {
		s := Random(seed)
		for name, has := range missing {
			if has(s) {
				delete(missing, name)
			}
		}
	}
	for name := range missing {
		t.Errorf("no cluster of 500 has: %s", name)
	}
}

// TestRandomIsWithinItsSizes checks that clusters are as small as Random says, and that a seed
// always gives the same cluster. A cluster also survives its JSON form.
func TestRandomIsWithinItsSizes(t *testing.T) {
	for seed := range Seeds(300) {
		s := Random(seed)
		if n := len(s.Pods); n < 5 || n > 70 {
			t.Errorf("cluster %d has %d waiting pods", seed, n)
		}
		if len(s.Nodes) > 8 || len(s.NodePools) < 1 || len(s.NodePools) > 3 {
			t.Errorf("cluster %d has %d nodes, %d pools", seed, len(s.Nodes), len(s.NodePools))
		}
		if seed%50 == 0 && !same(s, Random(seed)) {
			t.Errorf("cluster %d is not the same twice", seed)
		}
		if seed%50 == 0 && !same(s, Clone(s)) {
			t.Errorf("cluster %d is another after it was written and read", seed)
		}
	}
}

func TestMinimiseKeepsTheFault(t *testing.T) {
	s := Random(1)
	name := s.Pods[len(s.Pods)/2].Name
	wrong := func(s *plan.Snapshot) bool {
		return slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool { return p.Name == name })
	}
	small := Minimise(s, wrong)
	if len(small.Pods) != 1 || small.Pods[0].Name != name ||
		len(small.Nodes)+len(small.NodePools)+len(small.DaemonSets) > 0 {
		t.Errorf("what is left: %s", Describe(small, nil))
	}
}
