package membership_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func claim(name, id, node string, conditions ...string) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		api.NodePoolLabelKey: "default", api.LabelInstanceCPU: "4", api.LabelInstanceMemory: "16384",
		corev1.LabelTopologyZone: "us-east-1a", corev1.LabelInstanceTypeStable: "m5.xlarge",
	}}}
	made.Status.ProviderID, made.Status.NodeName = id, node
	made.Status.Capacity = list("4", "14Gi", "58")
	for _, kind := range conditions {
		made.Status.Conditions = append(made.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
	}
	return made
}

func node(name, id string, change ...func(*corev1.Node)) corev1.Node {
	made := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		api.NodePoolLabelKey: "default", api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
		corev1.LabelTopologyZone: "us-east-1a", corev1.LabelInstanceTypeStable: "m5.xlarge",
		api.LabelInstanceCPU: "4", api.LabelInstanceMemory: "16384",
	}}}
	made.Spec.ProviderID = id
	made.Status.Capacity, made.Status.Allocatable = list("4", "15Gi", "58"), list("3920m", "14Gi", "58")
	for _, f := range change {
		f(&made)
	}
	return made
}

func list(cpu, memory, pods string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse(pods), corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
	}
}

func names(nodes []*corev1.Node) string {
	var all []string
	for _, node := range nodes {
		all = append(all, node.Name)
	}
	return strings.Join(all, " ")
}

func TestWhoseNodeItIs(t *testing.T) {
	for _, test := range []struct {
		name     string
		nodeName string // in the claim's status
		hostName string // as EC2 tells it
		nodes    []string
		// own and others are what Nodes returns. of is what Node returns, disputed what Disputed does.
		own, others, of, disputed string
		inFlight                  bool
	}{
		{name: "no node yet", inFlight: true},
		{name: "one node before the registration", nodes: []string{"a"}, own: "a", of: "a"},
		{name: "the instance's id, as another mapping names it", hostName: "b", nodes: []string{"i-1"}, own: "i-1", of: "i-1"},
		{name: "its host name is another", hostName: "b", nodes: []string{"a"}, others: "a", of: "a"},
		{
			name: "two nodes before the registration", nodes: []string{"a", "b"}, own: "a b", disputed: "a b",
			inFlight: true,
		},
		{
			name: "EC2 tells two nodes apart", hostName: "b", nodes: []string{"a", "b"}, own: "b", others: "a",
			disputed: "a b", inFlight: true,
		},
		{
			name: "the registered one of two", nodeName: "b", nodes: []string{"a", "b"}, own: "b", others: "a", of: "b",
			disputed: "a",
		},
		{
			name: "another node in place of the registered one", nodeName: "b", nodes: []string{"a"}, others: "a",
			disputed: "a", inFlight: true,
		},
		{name: "the name that was registered counts", nodeName: "a", hostName: "b", nodes: []string{"a"}, own: "a", of: "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			claims := []api.NodeClaim{claim("c", "aws:///z/i-1", test.nodeName), claim("unlaunched", "", "")}
			nodes := []corev1.Node{node("foreign", "i-2"), node("without", "")}
			for _, name := range test.nodes {
				nodes = append(nodes, node(name, "aws:///z/i-1"))
			}
			m := membership.Join(claims, nodes)
			own, others := m.Nodes(&claims[0], test.hostName)
			if names(own) != test.own || names(others) != test.others {
				t.Errorf("own %q, others %q, want %q and %q", names(own), names(others), test.own, test.others)
			}
			of := ""
			if node := m.Node(&claims[0]); node != nil {
				of = node.Name
			}
			if of != test.of || m.InFlight(&claims[0]) != test.inFlight {
				t.Errorf("its node is %q, in flight %v", of, m.InFlight(&claims[0]))
			}
			if got := strings.Join(m.Disputed(&claims[0]), " "); got != test.disputed {
				t.Errorf("disputed by %q, want %q", got, test.disputed)
			}
			for i := range nodes {
				isOwn, stranger := nodes[i].Name == test.of, nodes[i].Spec.ProviderID == "aws:///z/i-1" && nodes[i].Name != test.of
				if (m.Claim(&nodes[i]) != nil) != isOwn || (m.Stranger(&nodes[i]) != nil) != stranger {
					t.Errorf("%s has the claim %v and is a stranger to %v", nodes[i].Name, m.Claim(&nodes[i]), m.Stranger(&nodes[i]))
				}
			}
			if m.Node(&claims[1]) != nil || m.InFlight(&claims[1]) {
				t.Error("a claim without an instance has a node")
			}
		})
	}
}

func TestOfTwoClaimsForOneInstanceTheFirstHasIt(t *testing.T) {
	claims := []api.NodeClaim{claim("second", "aws:///z/i-1", ""), claim("first", "aws:///z/i-1", "")}
	nodes := []corev1.Node{node("a", "aws:///z/i-1")}
	m := membership.Join(claims, nodes)
	if got := m.Claim(&nodes[0]); got == nil || got.Name != "first" || m.InFlight(&claims[0]) {
		t.Errorf("the node is %v's", got)
	}
}

// A kubelet may write everything in its node's status.
func TestANodeIsBelievedAsFarAsItsClaimKnows(t *testing.T) {
	says := func(name corev1.ResourceName, quantity string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Capacity[name] = resource.MustParse(quantity)
			n.Status.Allocatable[name] = resource.MustParse(quantity)
		}
	}
	for _, test := range []struct {
		name      string
		change    func(*corev1.Node)
		resource  corev1.ResourceName
		want      string
		untrusted bool
	}{
		{name: "processors", change: says("cpu", "1000"), resource: "cpu", want: "4", untrusted: true},
		{name: "fewer processors", change: says("cpu", "2"), resource: "cpu", want: "2"},
		{name: "memory", change: says("memory", "4000Gi"), resource: "memory", want: "16384Mi", untrusted: true},
		{name: "less overhead than estimated", change: says("memory", "16Gi"), resource: "memory", want: "16Gi"},
		{name: "pods that the user's own data allow", change: says("pods", "110"), resource: "pods", want: "110"},
		{name: "pods", change: says("pods", "5000"), resource: "pods", want: "250"},
		{name: "a larger disk than estimated", change: says("ephemeral-storage", "21Gi"), resource: "ephemeral-storage", want: "21Gi"},
		{name: "a disk", change: says("ephemeral-storage", "900Gi"), resource: "ephemeral-storage", want: "22Gi"},
		{name: "graphics processors", change: says("nvidia.com/gpu", "8"), resource: "nvidia.com/gpu", want: "0"},
		{name: "what only a device plugin knows", change: says("example.com/fuse", "8"), resource: "example.com/fuse", want: "8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, n := claim("c", "aws:///z/i-1", "a", api.ConditionTypeRegistered), node("a", "aws:///z/i-1", test.change)
			before := *n.DeepCopy()
			bounded := membership.Bounded(&c, &n)
			for what, got := range map[string]corev1.ResourceList{
				"capacity": bounded.Status.Capacity, "allocatable": bounded.Status.Allocatable,
			} {
				if quantity := got[test.resource]; quantity.Cmp(resource.MustParse(test.want)) != 0 {
					t.Errorf("%s of %s is %s, want %s", what, test.resource, quantity.String(), test.want)
				}
			}
			why := bounded.Annotations[scheduling.UntrustedAnnotationKey]
			if (why != "") != test.untrusted || scheduling.IsClosedToPods(&c, bounded) != test.untrusted {
				t.Errorf("untrusted %q, want %v", why, test.untrusted)
			}
			if (len(membership.Overstated(&c, &n)) > 0) != test.untrusted {
				t.Errorf("overstated %q", membership.Overstated(&c, &n))
			}
			if before.Status.Capacity.Cpu().Cmp(*n.Status.Capacity.Cpu()) != 0 || len(n.Annotations) != 0 {
				t.Error("the node that was given is changed")
			}
		})
	}
}

func TestWithoutACapacityInTheClaimTheNodeIsBelieved(t *testing.T) {
	c, n := claim("c", "aws:///z/i-1", "a", api.ConditionTypeRegistered), node("a", "aws:///z/i-1")
	c.Status.Capacity, c.Labels = nil, map[string]string{api.NodePoolLabelKey: "default"}
	n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("8")
	if bounded := membership.Bounded(&c, &n); bounded != &n {
		t.Errorf("bounded %v", bounded.Status.Capacity)
	}
	if got := membership.Capacity(&c, &n); got.Cpu().String() != "4" {
		t.Errorf("counts with %v", got)
	}
}

// Limits count what the claim says, whatever the node says.
func TestWhatCountsAgainstLimits(t *testing.T) {
	c := claim("c", "aws:///z/i-1", "a")
	for _, said := range []string{"0", "4", "1000000"} {
		n := node("a", "aws:///z/i-1", func(n *corev1.Node) { n.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(said) })
		n.Status.Capacity["nvidia.com/gpu"], n.Status.Capacity["example.com/fuse"] = resource.MustParse("8"), resource.MustParse("2")
		got := membership.Capacity(&c, &n)
		fuse := got["example.com/fuse"]
		if _, gpu := got["nvidia.com/gpu"]; got.Cpu().String() != "4" || gpu || fuse.String() != "2" {
			t.Errorf("a node that says %s counts with %v", said, got)
		}
	}
	if got := membership.Capacity(&c, nil); got.Cpu().String() != "4" {
		t.Errorf("without a node it counts with %v", got)
	}
	n := node("a", "")
	if got := membership.Capacity(nil, &n); got.Cpu().String() != "4" {
		t.Errorf("without a claim it counts with %v", got)
	}
}

func TestLabelsThatTheKubeletHasChangedAreTheClaims(t *testing.T) {
	c := claim("c", "aws:///z/i-1", "a", api.ConditionTypeRegistered, api.ConditionTypeInitialized)
	n := node("a", "aws:///z/i-1", func(n *corev1.Node) {
		n.Labels = map[string]string{
			api.NodePoolLabelKey: "other", corev1.LabelTopologyZone: "us-east-1b", "team": "red",
			api.NodeRegisteredLabelKey: "true",
		}
	})
	bounded := membership.Bounded(&c, &n)
	for key, want := range map[string]string{
		api.NodePoolLabelKey: "default", corev1.LabelTopologyZone: "us-east-1a", "team": "red",
		api.NodeInitializedLabelKey: "true",
	} {
		if bounded.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, bounded.Labels[key], want)
		}
	}
	restored := membership.Labels(&c, &n)
	if len(restored) != 2 || restored[api.NodePoolLabelKey] != "default" || restored[api.NodeInitializedLabelKey] != "true" {
		t.Errorf("lifecycle restores %v", restored)
	}
	unregistered := claim("c", "aws:///z/i-1", "")
	if got := membership.Bounded(&unregistered, &n); got != &n {
		t.Errorf("before the registration it has %v", got.Labels)
	}
	honest := node("a", "aws:///z/i-1")
	if slices.Contains([]bool{membership.Labels(&c, &honest) == nil, membership.Bounded(&c, &honest) == &honest}, false) {
		t.Error("an honest node is changed")
	}
}

func TestANodeThatWasReadByItsNameIsCompared(t *testing.T) {
	c, own, other := claim("c", "aws:///z/i-1", "a"), node("a", "aws:///z/i-1"), node("b", "aws:///z/i-1")
	anew := node("a", "i-2")
	if !membership.Is(&c, &own) || membership.Is(&c, &other) || membership.Is(&c, &anew) {
		t.Error("another node is taken for the claim's")
	}
}
