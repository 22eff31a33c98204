package snapshot_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

func TestNodesOfShiftedZonesAreShielded(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	shared := map[string]string{"team": "a"}
	node := func(name, zone string) corev1.Node {
		made := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: shared}}
		made.Spec.ProviderID = "aws:///zone/i-" + name
		if zone != "" {
			made.Labels = map[string]string{api.LabelTopologyZoneID: zone}
		}
		return made
	}
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{api.LabelTopologyZoneID: "use1-az1"}}}
	claim.Status.ProviderID = "aws:///zone/i-by-claim"
	objects := snapshot.Objects{
		Nodes: []corev1.Node{
			node("away", "use1-az1"), node("here", "use1-az2"), node("by-claim", ""), node("over", "use1-az3"),
		},
		NodeClaims: []api.NodeClaim{claim},
	}
	objects.ShieldShifted(map[string]time.Time{"use1-az1": now.Add(time.Hour), "use1-az3": now}, now)
	for i, want := range []bool{true, false, true, false} {
		got := &objects.Nodes[i]
		until, marked := got.Annotations[protection.ZoneShiftedAnnotationKey]
		if marked != want || got.Spec.Unschedulable != want || want && until != "2026-03-01T13:00:00Z" {
			t.Errorf("node %s is marked: %t %s, cordoned: %t", got.Name, marked, until, got.Spec.Unschedulable)
		}
	}
	if len(shared) != 1 {
		t.Errorf("the nodes' shared map became %v", shared)
	}
}

func TestPoolsOfAZone(t *testing.T) {
	pool := func(name, class string, terms ...api.NodeSelectorRequirementWithMinValues) api.NodePool {
		made := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		made.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
			Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: class,
		}
		made.Spec.Template.Spec.Requirements = terms
		return made
	}
	class := api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "both"}}
	class.Status.Subnets = []api.Subnet{{Zone: "us-east-1a", ZoneID: "use1-az1"}, {Zone: "us-east-1b", ZoneID: "use1-az2"}}
	in := func(key, value string) api.NodeSelectorRequirementWithMinValues {
		return api.NodeSelectorRequirementWithMinValues{
			Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value},
		}
	}
	pools := []api.NodePool{
		pool("any", "both"), pool("a", "both", in(corev1.LabelTopologyZone, "us-east-1a")),
		pool("b", "both", in(corev1.LabelTopologyZone, "us-east-1b")),
		pool("az2", "both", in(api.LabelTopologyZoneID, "use1-az2")), pool("classless", "none"),
	}
	var names []string
	for _, found := range snapshot.PoolsInZone(pools, []api.EC2NodeClass{class}, "use1-az1") {
		names = append(names, found.Name)
	}
	if len(names) != 2 || names[0] != "any" || names[1] != "a" {
		t.Errorf("the pools of the zone are %v, want any and a", names)
	}
}
