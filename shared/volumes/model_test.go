package volumes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodeaffinity "k8s.io/component-helpers/scheduling/corev1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// nodes of two zones and two racks, one node for each host.
func nodes() []corev1.Node {
	var list []corev1.Node
	for i := range 6 {
		name := fmt.Sprint("h", i)
		list = append(list, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			hostname: name, zone: []string{"a", "b"}[i%2], "rack": []string{"1", "2", "3"}[i%3], corev1.LabelTopologyRegion: "r",
		}}})
	}
	return list
}

func randomCluster(random *rand.Rand) (*cluster, *corev1.Pod) {
	c := &cluster{}
	chance := func(n int) bool { return random.IntN(n) == 0 }
	expressions := func() []string {
		var list []string
		if chance(2) {
			list = append(list, zone+"="+[]string{"a", "b", "a,b", "c"}[random.IntN(4)])
		}
		if chance(2) {
			list = append(list, "rack="+[]string{"1", "2", "1,3"}[random.IntN(3)])
		}
		if chance(3) {
			list = append(list, hostname+"="+[]string{"h0", "h1", "h2,h3", "gone"}[random.IntN(4)])
		}
		return list
	}
	for i, provisioner := range []string{csi, none, csi, none} {
		var topologies []string
		for range random.IntN(3) {
			topologies = append(
				topologies,
				[]string{zone + "=a", zone + "=b&rack=1", "rack=2,3", "topology.ebs.csi.aws.com/zone=b"}[random.IntN(4)],
			)
		}
		c.classes = append(c.classes, class(fmt.Sprint("class", i), provisioner, topologies...))
	}
	for i := range 2 + random.IntN(8) {
		v := volume(fmt.Sprint("pv", i), available(fmt.Sprint("class", random.IntN(4))))
		v.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse([]string{"5Gi", "10Gi", "20Gi"}[random.IntN(3)])
		for range random.IntN(3) {
			at(expressions()...)(&v)
		}
		if chance(3) {
			local(&v)
		}
		if chance(5) {
			labelled(zone, []string{"a", "b", "a__b"}[random.IntN(3)])(&v)
		}
		if chance(6) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: fmt.Sprint("claim", random.IntN(3))}
		}
		c.volumes = append(c.volumes, v)
	}
	var names []string
	for i := range 1 + random.IntN(3) {
		name := fmt.Sprint("claim", i)
		names = append(names, name)
		switch {
		case chance(3):
			bound := &c.volumes[random.IntN(len(c.volumes))]
			bound.Status.Phase = corev1.VolumeBound
			bound.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "somebody's"}
			c.claims = append(c.claims, claim(name, boundTo(bound.Name)))
		default:
			change := func(*corev1.PersistentVolumeClaim) {}
			if chance(6) {
				change = func(p *corev1.PersistentVolumeClaim) { p.Annotations = map[string]string{selectedNode: "h1"} }
			}
			c.claims = append(c.claims, claim(name, ofClass(fmt.Sprint("class", random.IntN(4))), change))
		}
	}
	return c, pod(names...)
}

// schedulable says whether the scheduler's volume checks let the pod's claims onto the node, by
// trying every way to give out the volumes.
func (c *cluster) schedulable(node *corev1.Node) bool {
	reachable := func(v *corev1.PersistentVolume) bool {
		if label, ok := v.Labels[zone]; ok && label != "a__b" && label != node.Labels[zone] {
			return false
		}
		if v.Spec.NodeAffinity == nil {
			return true
		}
		// The scheduler translates the key of the EBS driver; these volumes have none of it.
		match, err := nodeaffinity.MatchNodeSelectorTerms(node, v.Spec.NodeAffinity.Required)
		return match && err == nil
	}
	var give func(i int, taken []string) bool
	give = func(i int, taken []string) bool {
		if i == len(c.claims) {
			return true
		}
		p := &c.claims[i]
		if p.Spec.VolumeName != "" {
			j := slices.IndexFunc(c.volumes, func(v corev1.PersistentVolume) bool { return v.Name == p.Spec.VolumeName })
			return reachable(&c.volumes[j]) && give(i+1, taken)
		}
		j := slices.IndexFunc(c.classes, func(s storagev1.StorageClass) bool { return s.Name == *p.Spec.StorageClassName })
		s := &c.classes[j]
		made := len(s.AllowedTopologies) == 0
		for _, term := range s.AllowedTopologies {
			met := true
			for _, e := range term.MatchLabelExpressions {
				met = met && slices.Contains(e.Values, node.Labels[scheduling.NormalizeKey(e.Key)])
			}
			made = made || met
		}
		if selected, ok := p.Annotations[selectedNode]; ok && provisions(s) {
			return node.Name == selected && made && give(i+1, taken)
		}
		var own, free []*corev1.PersistentVolume
		for k := range c.volumes {
			v := &c.volumes[k]
			size := v.Spec.Capacity[corev1.ResourceStorage]
			if v.Spec.StorageClassName != s.Name || size.Cmp(resource.MustParse("10Gi")) < 0 {
				continue
			}
			// A volume whose own affinity no node can meet is left out before anything else.
			if v.Spec.NodeAffinity != nil &&
				!slices.ContainsFunc(v.Spec.NodeAffinity.Required.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
					return len(t.MatchExpressions) > 0 &&
						(v.Labels[zone] == "" || !slices.ContainsFunc(t.MatchExpressions, func(e corev1.NodeSelectorRequirement) bool {
							return e.Key == zone && v.Labels[zone] != "a__b" && !slices.Contains(e.Values, v.Labels[zone]) ||
								e.Key == zone && v.Labels[zone] == "a__b" && e.Values[0] == "c"
						}))
				}) {
				continue
			}
			switch {
			case v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Name == p.Name:
				own = append(own, v)
			case v.Spec.ClaimRef == nil:
				free = append(free, v)
			}
		}
		if len(own) > 0 {
			free = own[:1]
		}
		for _, v := range free {
			if reachable(v) && !slices.Contains(taken, v.Name) && give(i+1, append(slices.Clone(taken), v.Name)) {
				return true
			}
		}
		// Where nothing stands ready at all, what makes local volumes of disks is trusted to.
		return (provisions(s) || len(free) == 0) && made && give(i+1, taken)
	}
	return give(0, nil)
}

// String is what decides, for the messages of a test.
func (c *cluster) String() string {
	var text strings.Builder
	for i := range c.claims {
		p := &c.claims[i]
		fmt.Fprintf(
			&text, "claim %s of volume %q, class %s, %v\n", p.Name, p.Spec.VolumeName,
			attributesClass(p.Spec.StorageClassName), p.Annotations,
		)
	}
	for i := range c.volumes {
		v := &c.volumes[i]
		fmt.Fprintf(
			&text, "volume %s of class %s, local %t, %v, claimed by %v, at %v\n", v.Name, v.Spec.StorageClassName,
			v.Spec.Local != nil, v.Labels, v.Spec.ClaimRef, v.Spec.NodeAffinity,
		)
	}
	for i := range c.classes {
		s := &c.classes[i]
		fmt.Fprintf(&text, "class %s of %s at %v\n", s.Name, s.Provisioner, s.AllowedTopologies)
	}
	return text.String()
}

// TestNeedIsWhatTheSchedulerChecks compares, for random claims, the nodes that the alternatives
// allow with those that the scheduler would take.
func TestNeedIsWhatTheSchedulerChecks(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	list := nodes()
	placed, refused := 0, 0
	for range 6000 {
		c, p := randomCluster(random)
		need, err := c.index().Of(p)
		alternatives := need.Alternatives
		if need.ExistingAlternatives != nil {
			alternatives = need.ExistingAlternatives
		}
		for i := range list {
			have := scheduling.FromLabels(list[i].Labels)
			have.Add(scheduling.In("metadata.name", list[i].Name))
			got := err == nil && (alternatives == nil || slices.ContainsFunc(alternatives, func(a scheduling.Requirements) bool {
				return have.IsCompatible(a, scheduling.UndefinedIsAbsent)
			}))
			want := c.schedulable(&list[i])
			if got != want {
				t.Fatalf(
					"node %s in zone %s, rack %s: got %t, want %t\nneed %s (%v)\n%s", list[i].Name, list[i].Labels[zone],
					list[i].Labels["rack"], got, want, text(alternatives), err, c,
				)
			}
			if want {
				placed++
			} else {
				refused++
			}
		}
		for _, a := range append(need.Alternatives, need.ExistingAlternatives...) {
			if isEmpty(a) && (len(need.Alternatives) != 1 || need.ExistingAlternatives == nil) {
				t.Fatalf("an alternative that no node can meet: %s", a)
			}
		}
	}
	if placed < 10000 || refused < 10000 {
		t.Errorf("%d nodes were taken and %d refused: too few to tell", placed, refused)
	}
}

// TestManyVolumes holds that a pod's claims are combined in no time where a cluster has thousands
// of disks to choose from.
func TestManyVolumes(t *testing.T) {
	c := &cluster{classes: []storagev1.StorageClass{class("disk", none)}}
	for i := range 2000 {
		for j := range 2 {
			c.volumes = append(
				c.volumes,
				volume(fmt.Sprint("pv", i, "-", j), local, available("disk"), at(fmt.Sprint(hostname, "=h", i))),
			)
		}
	}
	for i := range 3 {
		c.claims = append(c.claims, claim(fmt.Sprint("claim", i), ofClass("disk")))
	}
	index := c.index()
	start := time.Now()
	need, err := index.Of(pod("claim0", "claim1"))
	if err != nil || len(need.ExistingAlternatives) != 1 {
		t.Fatalf("got %d alternatives (%v), want one with all hosts", len(need.ExistingAlternatives), err)
	}
	if hosts, _ := need.ExistingAlternatives[0][hostname].Values(); len(hosts) != 2000 {
		t.Errorf("got %d hosts, want all 2000", len(hosts))
	}
	if _, err := index.Of(pod("claim0", "claim1", "claim2")); err == nil {
		t.Error("three claims find room on hosts with two disks")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}
