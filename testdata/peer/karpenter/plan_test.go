package karpenter

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/testdata/peer/workload"
)

// snapshot is a workload's with 60 pods on demand.
func snapshot(t *testing.T, name string) *plan.Snapshot {
	types, err := workload.InstanceTypes()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workload.All() {
		if w.Name == name {
			return w.Snapshot(60, []string{api.CapacityTypeOnDemand}, types)
		}
	}
	t.Fatalf("no workload %q", name)
	return nil
}

func solve(t *testing.T, s *plan.Snapshot, limit time.Duration) *Plan {
	in, err := NewInput(t.Context(), s, 2)
	if err != nil {
		t.Fatal(err)
	}
	results, err := in.Solve(t.Context(), limit)
	if err != nil {
		t.Fatal(err)
	}
	p, err := results.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestClaimsArePricedAtTheirCheapestOffering(t *testing.T) {
	s := snapshot(t, "batch")
	prices := map[[3]string]float64{}
	for _, types := range s.InstanceTypes {
		for i := range types {
			for _, o := range types[i].Offerings {
				prices[[3]string{types[i].Name, o.Zone, o.CapacityType}] = o.Price
			}
		}
	}
	p := solve(t, s, time.Minute)
	var sum float64
	pods := 0
	for _, claim := range p.NodeClaims {
		if claim.CapacityType != api.CapacityTypeOnDemand || claim.NodePool != "default" {
			t.Errorf("a claim of %q is %s", claim.NodePool, claim.CapacityType)
		}
		if want := prices[[3]string{claim.InstanceType, claim.Zone, claim.CapacityType}]; claim.PricePerHour != want ||
			want == 0 {
			t.Errorf("%s in %s costs %g, not %g", claim.InstanceType, claim.Zone, want, claim.PricePerHour)
		}
		sum += claim.PricePerHour
		pods += len(claim.Pods)
	}
	if pods != 60 || p.Placed != 60 || sum != p.PricePerHour() || p.TimedOut {
		t.Errorf(
			"%d pods on claims, %d placed, price %g of %g, timed out %t",
			pods,
			p.Placed,
			p.PricePerHour(),
			sum,
			p.TimedOut,
		)
	}
}

func TestTheLimitEndsTheSearch(t *testing.T) {
	p := solve(t, snapshot(t, "batch"), time.Nanosecond)
	if !p.TimedOut || p.Placed != 0 || len(p.NodeClaims) != 0 {
		t.Errorf("timed out %t with %d placed on %d claims", p.TimedOut, p.Placed, len(p.NodeClaims))
	}
}

// TestExistingNodesTakePods: a pod that only a running node can hold (it asks for its host name)
// finds it, and none is launched.
func TestExistingNodesTakePods(t *testing.T) {
	s := snapshot(t, "existing nodes")
	s.Pods = s.Pods[4:5]
	s.Pods[0].Spec.NodeSelector = map[string]string{corev1.LabelHostname: s.Nodes[1].Node.Name}
	if p := solve(t, s, time.Minute); p.Placed != 1 || len(p.NodeClaims) != 0 {
		t.Errorf("%d placed, %d claims, %v", p.Placed, len(p.NodeClaims), p.LeftOut)
	}
}

// TestClaimsOnTheirWayTakePods: with all joined nodes gone, those that have only been launched are
// left.
func TestClaimsOnTheirWayTakePods(t *testing.T) {
	s := snapshot(t, "existing nodes")
	var launched []plan.Node
	for _, n := range s.Nodes {
		if n.Node == nil {
			launched = append(launched, n)
		}
	}
	s.Nodes, s.Pods = launched, s.Pods[4:5]
	if p := solve(t, s, time.Minute); len(launched) == 0 || p.Placed != 1 || len(p.NodeClaims) != 0 {
		t.Errorf("of %d launched nodes: %d placed, %d claims, %v", len(launched), p.Placed, len(p.NodeClaims), p.LeftOut)
	}
}

func TestVolumesDecideTheZone(t *testing.T) {
	s := snapshot(t, "volumes")
	zones := map[string]string{}
	for i := range s.PersistentVolumeClaims {
		claim := &s.PersistentVolumeClaims[i]
		for _, volume := range s.PersistentVolumes {
			if volume.Name == claim.Spec.VolumeName {
				zones[claim.Namespace+"/"+claim.Name] = volume.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
			}
		}
	}
	for _, claim := range solve(t, s, time.Minute).NodeClaims {
		for _, pod := range claim.Pods {
			if zone, ok := zones[pod]; ok && zone != claim.Zone {
				t.Errorf("%s has its volume in %s and goes to %s", pod, zone, claim.Zone)
			}
			if _, ok := zones[pod]; !ok && claim.Zone == "us-east-1c" {
				t.Errorf("%s goes to %s, which its storage class does not allow", pod, claim.Zone)
			}
		}
	}
}

func TestPodsWithoutTheirVolumeAreLeftOut(t *testing.T) {
	s := snapshot(t, "volumes")
	s.Pods = s.Pods[:2]
	s.PersistentVolumeClaims = s.PersistentVolumeClaims[1:]
	p := solve(t, s, time.Minute)
	if reason := p.LeftOut["default/"+s.Pods[0].Name]; p.Placed != 1 || reason == "" {
		t.Errorf("%d placed, left out %v", p.Placed, p.LeftOut)
	}
}

func TestWeightsAndLimitsHold(t *testing.T) {
	s := snapshot(t, "node pools")
	byPool := map[string]int{}
	p := solve(t, s, time.Minute)
	for _, claim := range p.NodeClaims {
		byPool[claim.NodePool]++
	}
	if p.Placed != 60 || byPool["data"] == 0 || byPool["preferred"] == 0 {
		t.Errorf("%d placed, claims by pool %v, left out %v", p.Placed, byPool, p.LeftOut)
	}
	s = snapshot(t, "node pools")
	s.NodePools = s.NodePools[:1]
	s.NodePools[0].Spec.Limits[corev1.ResourceCPU] = resource.MustParse("500m")
	if p := solve(t, s, time.Minute); p.Placed != 0 || len(p.LeftOut) != 60 {
		t.Errorf("beyond the limit: %d placed, %d left out", p.Placed, len(p.LeftOut))
	}
}
