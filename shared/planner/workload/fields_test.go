package workload_test

import (
	"reflect"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// field is what is known of one field of Kubernetes' API: a change of it that makes a pod another one for
// the planner, or the reason why no change does.
type field struct {
	change func(*corev1.Pod)
	why    string
	// unused says why no random cluster has a value of a field that matters.
	unused string
}

const (
	inside  = "it acts once the pod runs"
	later   = "admission or the kubelet act on it, after or before the plan"
	elsewho = "it decides whether the pod waits, or in which order, before groups are made"
	noNode  = "a volume of this kind can be used on any node, and no limit of volumes counts it"
)

// TestThePlannerKnowsEachField holds a table of the fields that pods have against the planner: pods that
// differ in one that matters are different to it, and random clusters use it. A field of a later Kubernetes
// fails the test until somebody has decided what it means.
func TestThePlannerKnowsEachField(t *testing.T) {
	checkFields(t, func(p *corev1.Pod) any { return &p.Spec }, nil, map[string]field{
		"Containers":     {change: asking("2")},
		"InitContainers": {change: initRequesting},
		"NodeSelector":   {change: selecting("x")},
		"Affinity":       {change: stagetest.Away(corev1.LabelHostname, "web")},
		"Tolerations": {change: func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
		}},
		"TopologySpreadConstraints": {change: stagetest.Spread(corev1.LabelTopologyZone, 1, "web")},
		"Overhead":                  {change: func(p *corev1.Pod) { p.Spec.Overhead = cpu("1") }},
		"Resources": {change: func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: cpu("2")}
		}},
		"Volumes": {change: withVolume(corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}})},
		"ResourceClaims": {change: func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		}},
		"EphemeralContainers": {why: inside}, "RestartPolicy": {why: inside}, "TerminationGracePeriodSeconds": {why: inside},
		"ActiveDeadlineSeconds": {why: inside}, "DNSPolicy": {why: inside}, "ServiceAccountName": {why: inside},
		"DeprecatedServiceAccount": {why: inside}, "AutomountServiceAccountToken": {why: inside},
		"HostNetwork": {why: "the host ports that it gives containers are written by admission"},
		"HostPID":     {why: inside}, "HostIPC": {why: inside}, "ShareProcessNamespace": {why: inside},
		"SecurityContext": {why: inside}, "ImagePullSecrets": {why: inside}, "Hostname": {why: inside},
		"Subdomain": {why: inside}, "HostAliases": {why: inside}, "DNSConfig": {why: inside}, "ReadinessGates": {why: inside},
		"EnableServiceLinks": {why: inside}, "SetHostnameAsFQDN": {why: inside}, "HostUsers": {why: inside},
		"HostnameOverride": {why: inside}, "RuntimeClassName": {why: later}, "OS": {why: later},
		"PriorityClassName": {why: later}, "NodeName": {why: elsewho}, "SchedulerName": {why: elsewho},
		"Priority": {why: elsewho}, "PreemptionPolicy": {why: elsewho}, "SchedulingGates": {why: elsewho},
		"SchedulingGroup": {why: "gangs are those of scheduler-plugins; gang.Whole names others"},
	})
	checkFields(t, func(p *corev1.Pod) any { return &p.Spec.Containers[0] }, nil, map[string]field{
		"Resources": {change: asking("2")},
		"Ports": {change: func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
		}},
		"Name": {why: inside}, "Image": {why: inside}, "Command": {why: inside}, "Args": {why: inside},
		"WorkingDir": {why: inside}, "EnvFrom": {why: inside}, "Env": {why: inside}, "ResizePolicy": {why: inside},
		"RestartPolicy": {why: "it makes a sidecar of an init container, and this is none"}, "RestartPolicyRules": {why: inside},
		"VolumeMounts": {why: inside}, "VolumeDevices": {why: inside}, "LivenessProbe": {why: inside},
		"ReadinessProbe": {why: inside}, "StartupProbe": {why: inside}, "Lifecycle": {why: inside},
		"TerminationMessagePath": {why: inside}, "TerminationMessagePolicy": {why: inside}, "ImagePullPolicy": {why: inside},
		"SecurityContext": {why: inside}, "Stdin": {why: inside}, "StdinOnce": {why: inside}, "TTY": {why: inside},
	})
}

// TestThePlannerKnowsEachVolume does the same for the kinds of volumes.
func TestThePlannerKnowsEachVolume(t *testing.T) {
	source := func(p *corev1.Pod) any { return &p.Spec.Volumes[0].VolumeSource }
	table := map[string]field{
		"PersistentVolumeClaim": {change: withVolume(corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}})},
		"Ephemeral": {change: withVolume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}})},
		"AWSElasticBlockStore": {change: withVolume(corev1.VolumeSource{
			AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"}})},
		"PortworxVolume": {change: withVolume(corev1.VolumeSource{
			PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: "1"}})},
	}
	for _, name := range []string{"HostPath", "EmptyDir", "GCEPersistentDisk", "GitRepo", "Secret", "NFS", "ISCSI",
		"Glusterfs", "RBD", "FlexVolume", "Cinder", "CephFS", "Flocker", "DownwardAPI", "FC", "AzureFile", "ConfigMap",
		"VsphereVolume", "Quobyte", "AzureDisk", "PhotonPersistentDisk", "Projected", "ScaleIO", "StorageOS", "CSI", "Image"} {
		table[name] = field{why: noNode}
	}
	checkFields(t, source, withVolume(corev1.VolumeSource{}), table)
}

// TestThePlannerKnowsEachConstraint does the same for what relates pods to nodes and to each other. Each
// change of these matters.
func TestThePlannerKnowsEachConstraint(t *testing.T) {
	number, ignore := int32(3), corev1.NodeInclusionPolicyIgnore
	spread := func(change func(*corev1.TopologySpreadConstraint)) field {
		return field{change: func(p *corev1.Pod) { change(&p.Spec.TopologySpreadConstraints[0]) }}
	}
	checkFields(t, func(p *corev1.Pod) any { return &p.Spec.TopologySpreadConstraints[0] },
		stagetest.Spread(corev1.LabelTopologyZone, 1, "web"), map[string]field{
			"MaxSkew":     spread(func(c *corev1.TopologySpreadConstraint) { c.MaxSkew = 2 }),
			"TopologyKey": spread(func(c *corev1.TopologySpreadConstraint) { c.TopologyKey = corev1.LabelHostname }),
			"WhenUnsatisfiable": spread(func(c *corev1.TopologySpreadConstraint) {
				c.WhenUnsatisfiable = corev1.ScheduleAnyway
			}),
			"LabelSelector": spread(func(c *corev1.TopologySpreadConstraint) { c.LabelSelector = &metav1.LabelSelector{} }),
			"MinDomains":    spread(func(c *corev1.TopologySpreadConstraint) { c.MinDomains = &number }),
			"NodeAffinityPolicy": spread(func(c *corev1.TopologySpreadConstraint) {
				c.NodeAffinityPolicy = &ignore
			}),
			"NodeTaintsPolicy": spread(func(c *corev1.TopologySpreadConstraint) {
				honor := corev1.NodeInclusionPolicyHonor
				c.NodeTaintsPolicy = &honor
			}),
			"MatchLabelKeys": spread(func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = []string{"version"} }),
		})
	term := func(change func(*corev1.PodAffinityTerm)) field {
		return field{change: func(p *corev1.Pod) { change(termOf(p)) }}
	}
	checkFields(t, func(p *corev1.Pod) any { return termOf(p) }, stagetest.Away(corev1.LabelHostname, "web"),
		map[string]field{
			"LabelSelector":     term(func(t *corev1.PodAffinityTerm) { t.LabelSelector = &metav1.LabelSelector{} }),
			"Namespaces":        term(func(t *corev1.PodAffinityTerm) { t.Namespaces = []string{"other"} }),
			"TopologyKey":       term(func(t *corev1.PodAffinityTerm) { t.TopologyKey = corev1.LabelTopologyZone }),
			"NamespaceSelector": term(func(t *corev1.PodAffinityTerm) { t.NamespaceSelector = &metav1.LabelSelector{} }),
			"MatchLabelKeys":    term(func(t *corev1.PodAffinityTerm) { t.MatchLabelKeys = []string{"version"} }),
			"MismatchLabelKeys": term(func(t *corev1.PodAffinityTerm) { t.MismatchLabelKeys = []string{"version"} }),
		})
	toleration := func(change func(*corev1.Toleration)) field {
		return field{change: func(p *corev1.Pod) { change(&p.Spec.Tolerations[0]) }}
	}
	checkFields(t, func(p *corev1.Pod) any { return &p.Spec.Tolerations[0] }, func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpEqual, Value: "b"}}
	}, map[string]field{
		"Key":               toleration(func(t *corev1.Toleration) { t.Key = "c" }),
		"Operator":          toleration(func(t *corev1.Toleration) { t.Operator, t.Value = corev1.TolerationOpExists, "" }),
		"Value":             toleration(func(t *corev1.Toleration) { t.Value = "c" }),
		"Effect":            toleration(func(t *corev1.Toleration) { t.Effect = corev1.TaintEffectNoExecute }),
		"TolerationSeconds": {why: "it says how long a pod stays on a node, and not whether it comes there"},
	})
}

// usedByPods are the fields of waiting pods that random clusters use.
var usedByPods = sync.OnceValue(func() map[string]bool {
	return plantest.UsedFields(func(s *plan.Snapshot) any { return s.Pods })
})

// TestThePlannerKnowsEachPartOfAnAffinity does the same for the lists of constraints, and for what a container
// takes of its node.
func TestThePlannerKnowsEachPartOfAnAffinity(t *testing.T) {
	affinity := func(change func(*corev1.Affinity)) field {
		return field{change: func(p *corev1.Pod) { change(p.Spec.Affinity) }}
	}
	every := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{}, PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{},
		}
	}
	terms := []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: stagetest.Selecting("web")}}
	weighted := []corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: terms[0]}}
	node := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpExists},
	}}
	nodeAffinity := func(a *corev1.Affinity) {
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{node},
		}
	}
	podAffinity := func(a *corev1.Affinity) {
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
	}
	antiAffinity := func(a *corev1.Affinity) {
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
	}
	checkFields(t, func(p *corev1.Pod) any { return p.Spec.Affinity }, every, map[string]field{
		"NodeAffinity": affinity(nodeAffinity), "PodAffinity": affinity(podAffinity), "PodAntiAffinity": affinity(antiAffinity),
	})
	checkFields(t, func(p *corev1.Pod) any { return p.Spec.Affinity.NodeAffinity }, every, map[string]field{
		"RequiredDuringSchedulingIgnoredDuringExecution": affinity(nodeAffinity),
		"PreferredDuringSchedulingIgnoredDuringExecution": affinity(func(a *corev1.Affinity) {
			a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{
				{Weight: 1, Preference: node},
			}
		}),
	})
	checkFields(t, func(p *corev1.Pod) any { return p.Spec.Affinity.PodAffinity }, every, map[string]field{
		"RequiredDuringSchedulingIgnoredDuringExecution": affinity(podAffinity),
		"PreferredDuringSchedulingIgnoredDuringExecution": affinity(func(a *corev1.Affinity) {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = weighted
		}),
	})
	checkFields(t, func(p *corev1.Pod) any { return p.Spec.Affinity.PodAntiAffinity }, every, map[string]field{
		"RequiredDuringSchedulingIgnoredDuringExecution": affinity(antiAffinity),
		"PreferredDuringSchedulingIgnoredDuringExecution": affinity(func(a *corev1.Affinity) {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = weighted
		}),
	})
	checkFields(t, func(p *corev1.Pod) any { return &p.Spec.Containers[0].Resources }, nil, map[string]field{
		"Requests": {change: asking("2")}, "Limits": {why: later}, "Claims": {why: "the pod's list of claims has it"},
	})
	port := func(change func(*corev1.ContainerPort)) field {
		return field{change: func(p *corev1.Pod) { change(&p.Spec.Containers[0].Ports[0]) }}
	}
	checkFields(t, func(p *corev1.Pod) any { return &p.Spec.Containers[0].Ports[0] }, func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
	}, map[string]field{
		"HostPort": port(func(c *corev1.ContainerPort) { c.HostPort = 81 }),
		"HostIP":   port(func(c *corev1.ContainerPort) { c.HostIP = "10.0.0.1" }),
		"Protocol": port(func(c *corev1.ContainerPort) { c.Protocol = corev1.ProtocolUDP }),
		"Name":     {why: inside}, "ContainerPort": {why: inside},
	})
}

// checkFields holds the table against the type that at returns a pointer to. with makes the pods that are
// changed, and may be nil.
func checkFields(t *testing.T, at func(*corev1.Pod) any, with func(*corev1.Pod), table map[string]field) {
	t.Helper()
	made := func() corev1.Pod {
		pod := stagetest.Pod("web", "1", "1Gi", stagetest.App("web"))
		pod.Labels["version"] = "v1"
		if with != nil {
			with(&pod)
		}
		return pod
	}
	base := made()
	typ := reflect.TypeOf(at(&base)).Elem()
	used := usedByPods()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		known, ok := table[name]
		if !ok {
			t.Errorf("%s.%s is not in the table: does it matter for a plan?", typ.Name(), name)
			continue
		}
		delete(table, name)
		other := made()
		other.Name, other.UID = "other", "other"
		want := 1
		if known.change != nil {
			known.change(&other)
			want = 2
			if set := used[typ.Name()+"."+name]; set == (known.unused != "") {
				t.Errorf("%s.%s: a random cluster uses it: %v, want another answer (%q)", typ.Name(), name, set, known.unused)
			}
		} else {
			plantest.GiveValue(reflect.ValueOf(at(&other)).Elem().Field(i), 2)
		}
		if got := len(workload.Read(&plan.Snapshot{Pods: []corev1.Pod{made(), other}}).Groups); got != want {
			t.Errorf("%s.%s: pods that differ in it make %d groups, want %d (%s)", typ.Name(), name, got, want, known.why)
		}
	}
	for name := range table {
		t.Errorf("%s has no field %s", typ.Name(), name)
	}
}

func cpu(cores string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}
}

func asking(cores string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = cpu(cores) }
}

func initRequesting(p *corev1.Pod) {
	p.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Requests: cpu("4")}}}
}

func withVolume(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}} }
}

func termOf(p *corev1.Pod) *corev1.PodAffinityTerm {
	return &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
}
