package disruption_test

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/nodecost"
)

func TestSaved(t *testing.T) {
	known := &catalog.Catalog{
		InstanceTypes: []catalog.InstanceTypeInfo{
			{InstanceType: "large", OnDemandPrice: 1},
			{InstanceType: "small", OnDemandPrice: 0.25},
			{InstanceType: "unpriced"},
		},
	}
	claim := func(name, instanceType string, annotations map[string]string) disruption.Node {
		return disruption.Node{
			Claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations, Labels: map[string]string{
				corev1.LabelInstanceTypeStable: instanceType, api.CapacityTypeLabelKey: api.CapacityTypeOnDemand,
			}}},
		}
	}
	by := func(names string) map[string]string {
		return map[string]string{disruption.ReplacedByAnnotationKey: names}
	}
	replaces := func(names string) map[string]string {
		return map[string]string{disruption.ReplacesAnnotationKey: names}
	}
	for name, test := range map[string]struct {
		nodes []disruption.Node
		want  []float64 // of the first nodes
	}{
		"nothing replaces it": {[]disruption.Node{claim("a", "large", nil)}, []float64{1}},
		"one for one": {
			[]disruption.Node{claim("a", "large", by("b")), claim("b", "small", replaces("a"))}, []float64{0.75},
		},
		"a dearer one": {
			[]disruption.Node{claim("a", "small", by("b")), claim("b", "large", replaces("a"))}, []float64{-0.75},
		},
		"two share one": {
			[]disruption.Node{claim("a", "large", by("c")), claim("b", "small", by("c")), claim("c", "small", replaces("a,b"))},
			[]float64{0.875, 0.125},
		},
		"it awaits somebody else's": {
			[]disruption.Node{claim("a", "large", by("b")), claim("b", "small", replaces("z"))}, []float64{1},
		},
		"of an attempt that failed": {
			[]disruption.Node{
				claim("a", "large", by("c")), claim("b", "small", replaces("a")), claim("c", "small", replaces("a")),
			},
			[]float64{0.75},
		},
		"its price is not known": {
			[]disruption.Node{claim("a", "unpriced", by("b")), claim("b", "small", replaces("a"))}, []float64{0},
		},
		"the other's is not": {
			[]disruption.Node{claim("a", "large", by("b")), claim("b", "unpriced", replaces("a"))}, []float64{0},
		},
		"the type is not in the table": {[]disruption.Node{claim("a", "gone", nil)}, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &disruption.Cluster{Nodes: test.nodes}
			for i, want := range test.want {
				if got := s.Saved(&s.Nodes[i], nodecost.Of(known, nil, nil).PriceOfClaim); math.Abs(got-want) > 1e-9 {
					t.Errorf("%s saves %g, want %g", s.Nodes[i].Claim.Name, got, want)
				}
			}
		})
	}
}
