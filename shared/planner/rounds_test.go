package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func prefersZone(zones ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		var terms []corev1.PreferredSchedulingTerm
		for i, zone := range zones {
			terms = append(terms, corev1.PreferredSchedulingTerm{Weight: int32(100 - i), Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
				}}})
		}
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}
}

func prefersAwayFrom(key, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
					{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selecting(name)}}},
			},
		}
	}
}

func anyway(key string, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		spreadOver(key, 1, name)(p)
		p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
	}
}

// TestPreferences plans deployments with preferences that can be met, that can be met for some
// pods, and not at all, under both policies.
func TestPreferences(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	inZone := func(name string) func(*corev1.Pod) { return prefersZone(name) }
	for _, test := range []struct {
		name   string
		count  int
		change []func(*corev1.Pod)
		pool   []func(*api.NodePool)
		// nodes are the new nodes under Respect and Ignore; -1 leaves a number open
		respected, ignored int
		zones              []string
	}{
		{name: "a zone that is there", count: 4, change: []func(*corev1.Pod){inZone("us-east-1b")}, respected: -1,
			ignored: -1, zones: []string{"us-east-1b"}},
		{name: "a zone that is not", count: 4, change: []func(*corev1.Pod){inZone("eu-west-1a")}, respected: -1, ignored: -1},
		{name: "the second best zone", count: 4, change: []func(*corev1.Pod){prefersZone("eu-west-1a", "us-east-1c")},
			respected: -1, ignored: -1, zones: []string{"us-east-1c"}},
		{name: "away from its like over hosts", count: 5,
			change: []func(*corev1.Pod){app("web"), prefersAwayFrom(host, "web")}, respected: 5, ignored: -1},
		{name: "away from its like over zones, for the first three", count: 8,
			change: []func(*corev1.Pod){app("web"), prefersAwayFrom(zone, "web")}, respected: -1, ignored: -1},
		{name: "spread anyway", count: 6, change: []func(*corev1.Pod){app("web"), anyway(zone, "web")}, respected: 3,
			ignored: -1},
		{name: "a taint that is better avoided", count: 2, pool: []func(*api.NodePool){func(p *api.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}}
		}}, respected: -1, ignored: -1},
	} {
		for _, policy := range []plan.PreferencePolicy{plan.PreferencesRespected, plan.PreferencesIgnored} {
			t.Run(test.name+" "+string(policy), func(t *testing.T) {
				s := realSnapshot(t, newPool("default", test.pool...))
				s.PreferencePolicy = policy
				for i := range test.count {
					s.Pods = append(s.Pods, newPod(fmt.Sprintf("p-%02d", i), "200m", "256Mi", test.change...))
				}
				solved := planner.Solve(s)
				verify(t, s, solved)
				if len(solved.Unplaced) > 0 {
					t.Fatalf("unplaced: %v", solved.Unplaced)
				}
				want := test.respected
				if policy == plan.PreferencesIgnored {
					want = test.ignored
				}
				if want >= 0 && len(solved.NodeClaims) != want {
					t.Errorf("%d new nodes, want %d", len(solved.NodeClaims), want)
				}
				if policy == plan.PreferencesRespected {
					for i, zone := range test.zones {
						if got := solved.NodeClaims[i].NodeClaim.Labels[corev1.LabelTopologyZone]; got != zone {
							t.Errorf("zone %q, want %q", got, zone)
						}
					}
				}
			})
		}
	}
}

// TestAvoidedPool takes the pool without the taint that its pods had better avoid, though it is
// dearer.
func TestAvoidedPool(t *testing.T) {
	tainted := newPool("cheap", func(p *api.NodePool) {
		p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}}
	})
	dear := newPool("dear", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand))
	s := realSnapshot(t, tainted, dear)
	s.Pods = []corev1.Pod{newPod("p", "1", "1Gi")}
	if solved := planner.Solve(s); len(solved.NodeClaims) != 1 ||
		solved.NodeClaims[0].NodeClaim.Labels[api.NodePoolLabelKey] != "dear" {
		t.Errorf("planned %+v", solved)
	}
	s.PreferencePolicy = plan.PreferencesIgnored
	if solved := planner.Solve(s); len(solved.NodeClaims) != 1 ||
		solved.NodeClaims[0].NodeClaim.Labels[api.NodePoolLabelKey] != "cheap" {
		t.Errorf("with preferences ignored: planned %+v", solved)
	}
}

// TestSpreadUnderLimits has room for nodes in limits for a few pods only: what is placed must still
// be level.
func TestSpreadUnderLimits(t *testing.T) {
	for cpu := int64(2); cpu <= 24; cpu += 2 {
		s := realSnapshot(t, newPool("default", func(p *api.NodePool) {
			p.Spec.Limits = api.Limits{corev1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI)}
		}))
		for i := range 12 {
			s.Pods = append(
				s.Pods,
				newPod(fmt.Sprintf("p-%02d", i), "1500m", "1Gi", app("web"), spreadOver(corev1.LabelTopologyZone, 1, "web")),
			)
		}
		solved := planner.Solve(s)
		verify(t, s, solved)
		perZone, _ := placesOf(s, solved)
		least, most := 12, 0
		for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
			least, most = min(least, perZone[zone]), max(most, perZone[zone])
		}
		if most-least > 1 || len(solved.Unplaced) == 12 {
			t.Errorf("limit %d cpu: by zone %v, %d unplaced", cpu, perZone, len(solved.Unplaced))
		}
	}
}

// TestNamespaceSelector keeps a pod from the zone of pods in namespaces that a term selects by
// label.
func TestNamespaceSelector(t *testing.T) {
	s := realSnapshot(t, newPool("default"))
	s.Namespaces = []corev1.Namespace{
		{
			ObjectMeta: metav1.ObjectMeta{Name: "prod", Labels: map[string]string{"stage": "prod"}},
		}, {ObjectMeta: metav1.ObjectMeta{Name: "test", Labels: map[string]string{"stage": "test"}}},
	}
	for i, namespace := range []string{"prod", "test"} {
		zone := "us-east-1" + string(rune('a'+i))
		running := newPod("r-"+namespace, "3900m", "1Gi", app("db"))
		running.Namespace = namespace
		s.Nodes = append(s.Nodes, standingNode("n-"+zone, zone, running))
	}
	s.Pods = []corev1.Pod{
		newPod("p", "1", "1Gi", awayFrom(corev1.LabelTopologyZone, "db"), zoneOf("us-east-1a"), func(p *corev1.Pod) {
			terms := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			terms[0].NamespaceSelector = &metav1.LabelSelector{
				MatchLabels: map[string]string{"stage": "test"},
			}
		}),
	}
	if solved := planner.Solve(s); len(solved.Unplaced) != 0 {
		t.Errorf("unplaced: %v", solved.Unplaced)
	}
	s.Pods[0].Spec.NodeSelector[corev1.LabelTopologyZone] = "us-east-1b"
	if solved := planner.Solve(s); len(solved.Unplaced) != 1 {
		t.Errorf("planned beside what it must not be near: %+v", solved)
	}
}

// TestVolumes places pods where their volumes are, and on nodes that can still attach them.
func TestVolumes(t *testing.T) {
	class := "gp3"
	claim := func(name, volume string) corev1.PersistentVolumeClaim {
		c := corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:   "default",
				Name:        name,
				Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
			},
		}
		c.Spec.StorageClassName, c.Spec.VolumeName = &class, volume
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		c.Status.Phase = corev1.ClaimBound
		return c
	}
	volume := func(name, zone string) corev1.PersistentVolume {
		v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v.Spec.StorageClassName = class
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{
			Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
				}}}},
		}
		v.Status.Phase = corev1.VolumeBound
		return v
	}
	mounts := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(
				p.Spec.Volumes,
				corev1.Volume{
					Name: "data",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
					},
				},
			)
		}
	}
	s := realSnapshot(t, newPool("default"))
	s.Nodes = []plan.Node{standingNode("a", "us-east-1a"), standingNode("b", "us-east-1b")}
	for i := range 4 {
		name := fmt.Sprintf("data-%d", i)
		s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, claim(name, "pv-"+name))
		s.PersistentVolumes = append(s.PersistentVolumes, volume("pv-"+name, "us-east-1"+string(rune('a'+i%4))))
		s.Pods = append(s.Pods, newPod("p-"+name, "500m", "512Mi", mounts(name)))
	}
	s.Pods = append(s.Pods, newPod("lost", "500m", "512Mi", mounts("nothing")))
	solved := planner.Solve(s)
	nodes := map[string]string{}
	for _, n := range solved.Nominations {
		nodes[n.Pod.Name] = n.NodeName
	}
	if nodes["p-data-0"] != "a" || nodes["p-data-1"] != "b" {
		t.Errorf("existing nodes got %v", nodes)
	}
	if len(solved.NodeClaims) != 1 || solved.NodeClaims[0].NodeClaim.Labels[corev1.LabelTopologyZone] != "us-east-1c" ||
		solved.NodeClaims[0].Pods[0].Name != "p-data-2" {
		t.Errorf("new nodes: %+v", solved.NodeClaims)
	}
	if len(solved.Unplaced) != 2 || !strings.Contains(solved.Unplaced[0].Reasons[0].Message, "nothing") ||
		solved.Unplaced[1].Pod.Name != "p-data-3" {
		t.Errorf("unplaced: %+v", solved.Unplaced)
	}
}
