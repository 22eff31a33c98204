package gang_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/gang"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	zoneA = "us-east-1a"
	zoneB = "us-east-1b"
	zoneC = "us-east-1c"
)

// together makes a pod a member of a gang that needs one value of a label.
func together(name, key string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		of(name, 0)(pod)
		pod.Annotations = map[string]string{api.RequiredTopologyAnnotationKey: key}
	}
}

// inZones sells a type of four cores in zones at their prices.
func inZones(prices map[string]float64) catalog.InstanceType {
	t := stagetest.Type("four", 4, 16, 1, zoneA, zoneB, zoneC)
	for i := range t.Offerings {
		price, sold := prices[t.Offerings[i].Zone]
		t.Offerings[i].Price, t.Offerings[i].Available = price, sold
	}
	return t
}

// zonesOf counts the pods of the plan's new nodes by the zones that these can be in.
func zonesOf(decided *plan.Plan) map[string]int {
	found := map[string]int{}
	for i := range decided.NodeClaims {
		zones := map[string]bool{}
		for _, offering := range decided.NodeClaims[i].Offerings {
			zones[offering.Zone] = true
		}
		for zone := range zones {
			found[zone] += len(decided.NodeClaims[i].Pods)
		}
	}
	return found
}

// TestAGangComesToOneZone gives gangs whose zones differ in price, and in what they can hold.
func TestAGangComesToOneZone(t *testing.T) {
	all := map[string]float64{zoneA: 0.3, zoneB: 0.2, zoneC: 0.4}
	for _, test := range []struct {
		name   string
		prices map[string]float64
		change func(*plan.Snapshot)
		zone   string // empty for no place
		says   string
	}{
		{"the cheapest", all, nil, zoneB, ""},
		{"the only one with capacity", map[string]float64{zoneC: 0.4}, nil, zoneC, ""},
		{"by Kueue's annotation", all, func(s *plan.Snapshot) {
			for i := range s.Pods {
				s.Pods[i].Annotations = map[string]string{api.KueueRequiredTopologyAnnotationKey: corev1.LabelTopologyZone}
			}
		}, zoneB, ""},
		{"where one of its pods runs", all, func(s *plan.Snapshot) {
			s.Nodes = append(s.Nodes, stagetest.Node("runs", zoneC, 3,
				stagetest.Pod("a-9", "3", "1Gi", together("a", corev1.LabelTopologyZone))))
		}, zoneC, ""},
		{"with room on nodes that run", all, func(s *plan.Snapshot) {
			s.Nodes = append(s.Nodes, stagetest.Node("one", zoneC, 4), stagetest.Node("two", zoneC, 4))
		}, zoneC, ""},
		{"no zone has room for all", all, func(s *plan.Snapshot) {
			s.NodePools[0].Spec.Limits = limited("8").NodePools[0].Spec.Limits
		}, "", `needs 3 pods at a time on nodes with topology.kubernetes.io/zone=us-east-1a, of which 0 run and 1 more`},
		{"a label that nobody has", all, func(s *plan.Snapshot) {
			for i := range s.Pods {
				s.Pods[i].Annotations = map[string]string{api.RequiredTopologyAnnotationKey: "example.com/rack"}
			}
		}, "", `asks for nodes with one value of the label "example.com/rack", which no node and no NodePool has: ` +
			`correct the annotation "whittle.dev/required-topology"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot([]catalog.InstanceType{inZones(test.prices)},
				stagetest.Pods(3, "a", "3", "1Gi", together("a", corev1.LabelTopologyZone))...)
			s.Pods = append(s.Pods, stagetest.Pod("other", "3", "1Gi"))
			s.Gangs = []plan.Gang{needs("a", 3)}
			if test.change != nil {
				test.change(s)
			}
			decided := gang.Whole(planner.Solve)(s)
			placed := places(s, decided)["a"]
			if (placed == 3) != (test.zone != "") || placed > 0 && placed < 3 {
				t.Fatalf("%d pods of the gang have a place: %+v", placed, decided.Unplaced)
			}
			if test.zone != "" && zonesOf(decided)[test.zone] == 0 {
				t.Errorf("the new nodes are in %v, want %s", zonesOf(decided), test.zone)
			}
			said := ""
			if len(decided.Unplaced) > 0 {
				said = decided.Unplaced[0].Reasons[0].String()
			}
			if !strings.Contains(said, test.says) {
				t.Errorf("it says %q, want %q", said, test.says)
			}
			for i := range s.Pods {
				if s.Pods[i].Spec.NodeSelector != nil {
					t.Error("the plan changed the pods that it was given")
				}
			}
		})
	}
}

// TestAGangComesToOneReservation has two reservations, of which the dearer one is large enough.
func TestAGangComesToOneReservation(t *testing.T) {
	small, large := inZones(nil), inZones(nil)
	small.Name, large.Name = "small", "large"
	reserve := func(of *catalog.InstanceType, id string, count int, price float64) {
		of.Requirements[corev1.LabelInstanceTypeStable] = scheduling.In(corev1.LabelInstanceTypeStable, of.Name)
		of.Requirements[api.LabelCapacityReservationID] = scheduling.In(api.LabelCapacityReservationID, id)
		of.Requirements[api.CapacityTypeLabelKey] = scheduling.In(api.CapacityTypeLabelKey, api.CapacityTypeReserved)
		of.Offerings = []catalog.Offering{{
			CapacityType: api.CapacityTypeReserved, Zone: zoneA, ReservationID: id, ReservationCapacity: count, Price: price,
			Available:    true,
			Requirements: scheduling.NewRequirements(scheduling.In(api.LabelCapacityReservationID, id)),
		}}
	}
	reserve(&small, "cr-small", 2, 0.001)
	reserve(&large, "cr-large", 3, 0.002)
	s := stagetest.Snapshot([]catalog.InstanceType{small, large},
		stagetest.Pods(3, "a", "3", "1Gi", together("a", api.LabelCapacityReservationID))...)
	s.Gangs = []plan.Gang{needs("a", 3)}
	decided := gang.Whole(planner.Solve)(s)
	if len(decided.Unplaced) > 0 || len(decided.NodeClaims) != 3 {
		t.Fatalf("%d nodes, unplaced %+v", len(decided.NodeClaims), decided.Unplaced)
	}
	for i := range decided.NodeClaims {
		if got := decided.NodeClaims[i].Offerings[0].ReservationID; got != "cr-large" {
			t.Errorf("a node comes from %s", got)
		}
	}
}

// TestPodsThatMoveKeepTheirDomain plans for pods of a node that leaves.
func TestPodsThatMoveKeepTheirDomain(t *testing.T) {
	moves := stagetest.Pod("a-1", "3", "1Gi", together("a", corev1.LabelTopologyZone))
	moves.Spec.NodeName = "leaves"
	s := stagetest.Snapshot([]catalog.InstanceType{inZones(map[string]float64{zoneA: 0.3, zoneB: 0.2, zoneC: 0.4})}, moves,
		stagetest.Pod("free", "3", "1Gi"))
	s.Nodes = append(s.Nodes, stagetest.Node("leaves", zoneC, 0))
	s.Nodes[len(s.Nodes)-1].Node.Name = "leaves"
	decided := planner.Solve(gang.Keep(s))
	if got := zonesOf(decided); got[zoneA] != 1 || got[zoneC] != 2 {
		t.Errorf("the pods come to %v", got)
	}
	runs := stagetest.Pod("a-2", "3", "1Gi", together("a", corev1.LabelTopologyZone))
	s.Nodes = append(s.Nodes, stagetest.Node("stays", zoneB, 1, runs, stagetest.Pod("other", "1", "1Gi")))
	kept := gang.Keep(s).Nodes[1].Pods
	if kept[0].Spec.NodeSelector[corev1.LabelTopologyZone] != zoneB || kept[1].Spec.NodeSelector != nil ||
		s.Nodes[1].Pods[0].Spec.NodeSelector != nil {
		t.Errorf("the pods on a node ask for %v and %v", kept[0].Spec.NodeSelector, kept[1].Spec.NodeSelector)
	}
}

// TestLabelsOfManyGangsAreBounded has one tenant's gangs name 30 labels with 16 values each, and another's
// one. Plans are made for a part of the labels, and the other tenant has its turn.
func TestLabelsOfManyGangsAreBounded(t *testing.T) {
	var pods []corev1.Pod
	var gangs []plan.Gang
	for i := range 31 {
		name, key := fmt.Sprintf("g%02d", i), fmt.Sprintf("example.com/label-%02d", i)
		pod := stagetest.Pod(name, "1", "1Gi", together(name, key))
		group := needs(name, 1)
		if i == 30 {
			pod.Namespace, group.Namespace = "other", "other"
		}
		pods, gangs = append(pods, pod), append(gangs, group)
	}
	s := stagetest.Snapshot([]catalog.InstanceType{inZones(map[string]float64{zoneA: 1})}, pods...)
	s.Gangs = gangs
	for i := range 16 {
		node := plan.Node{Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{}}}}
		for j := range 31 {
			node.Node.Labels[fmt.Sprintf("example.com/label-%02d", j)] = fmt.Sprint(i)
		}
		node.Node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
			corev1.ResourcePods: resource.MustParse("10")}
		s.Nodes = append(s.Nodes, node)
	}
	plans := 0
	decided := gang.Whole(func(s *plan.Snapshot) *plan.Plan { plans++; return planner.Solve(s) })(s)
	if plans > 4*16+10 {
		t.Errorf("%d plans", plans)
	}
	told := 0
	for _, left := range decided.Unplaced {
		if strings.Contains(left.Reasons[0].Message, "too many labels at a time") {
			told++
		}
		if left.Pod.Namespace == "other" {
			t.Errorf("the other tenant's pod has no place: %v", left.Reasons)
		}
	}
	if told != 27 {
		t.Errorf("%d pods are told that they wait, want 27", told)
	}
}
