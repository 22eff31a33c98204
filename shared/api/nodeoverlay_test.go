package api

import (
	"math"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodeOverlayValidate(t *testing.T) {
	text := func(s string) *string { return &s }
	number := func(n int32) *int32 { return &n }
	require := func(key string, operator corev1.NodeSelectorOperator, values ...string) NodeOverlaySpec {
		return NodeOverlaySpec{Requirements: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	of := func(name, quantity string) NodeOverlaySpec {
		return NodeOverlaySpec{Capacity: corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(quantity)}}
	}
	tests := []struct {
		name string
		spec NodeOverlaySpec
		want []string // each in its own problem; none: valid
	}{
		{"nothing", NodeOverlaySpec{}, nil},
		{"all of it", NodeOverlaySpec{
			Requirements: []corev1.NodeSelectorRequirement{
				{Key: LabelInstanceFamily, Operator: corev1.NodeSelectorOpIn, Values: []string{"m5"}},
				{Key: NodePoolLabelKey, Operator: corev1.NodeSelectorOpExists},
				{Key: LabelInstanceCPU, Operator: NodeSelectorOpLte, Values: []string{"8"}},
				{Key: "team", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}},
			},
			PriceAdjustment: text("-12.5%"),
			Capacity:        corev1.ResourceList{"example.com/device": resource.MustParse("2")}, Weight: number(10000),
		}, nil},
		{
			"no requirements", NodeOverlaySpec{},
			[]string{"spec.requirements: is missing: write the conditions, or [] for every instance type"},
		},
		{
			"both prices", NodeOverlaySpec{Price: text("1"), PriceAdjustment: text("+1")},
			[]string{`spec.priceAdjustment: "+1" cannot be together with price: remove one`},
		},
		{"a signed price", NodeOverlaySpec{Price: text("+1")}, []string{`spec.price: "+1" is not a price`}},
		{"a price of an exponent", NodeOverlaySpec{Price: text("1e3")}, []string{`spec.price: "1e3" is not a price`}},
		{
			"an unsigned adjustment", NodeOverlaySpec{PriceAdjustment: text("10%")},
			[]string{`spec.priceAdjustment: "10%" is not a change of a price, it has no sign`},
		},
		{"more than all", NodeOverlaySpec{PriceAdjustment: text("-100.5%")}, []string{`is more than the whole price`}},
		{
			"no weight", NodeOverlaySpec{Weight: number(0)},
			[]string{"spec.weight: 0 is out of range: use a number from 1 to 10000, or none"},
		},
		{"too heavy", NodeOverlaySpec{Weight: number(10001)}, []string{"spec.weight: 10001 is out of range"}},
		{
			"In without values", require("team", corev1.NodeSelectorOpIn),
			[]string{"spec.requirements[0].values: is empty: the operator In"},
		},
		{
			"NotIn without values", require("team", corev1.NodeSelectorOpNotIn),
			[]string{"spec.requirements[0].values: is empty: the operator NotIn"},
		},
		{
			"a bound that is none", require(LabelInstanceCPU, corev1.NodeSelectorOpGt, "many"),
			[]string{`spec.requirements[0].values[0]: "many" is no integer`},
		},
		{
			"an unknown operator", require("team", "Near"),
			[]string{`spec.requirements[0].operator: "Near" is not an operator`},
		},
		{
			"the host's name", require(corev1.LabelHostname, corev1.NodeSelectorOpExists),
			[]string{`spec.requirements[0].key: "kubernetes.io/hostname" cannot be chosen`},
		},
		{
			"a tenancy", require(LabelInstanceTenancy, corev1.NodeSelectorOpExists),
			[]string{`spec.requirements[0].key: "karpenter.k8s.aws/instance-tenancy" cannot be used in an overlay`},
		},
		{
			"a reservation", require(LabelCapacityReservationID, corev1.NodeSelectorOpExists),
			[]string{"cannot be used in an overlay"},
		},
		{
			"a placement group", require(LabelPlacementGroupPartition, corev1.NodeSelectorOpExists),
			[]string{"cannot be used in an overlay"},
		},
		{
			"no capacity type", require(CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "free"),
			[]string{`has no value that "karpenter.sh/capacity-type" can have`},
		},
		{
			"cpu", of("cpu", "1"),
			[]string{`spec.capacity[cpu]: "1" cannot be overlaid: an overlay adds extended resources only`},
		},
		{"pods", of("pods", "10"), []string{"extended resources only"}},
		{"a GPU that is shared", of(ResourceNVIDIAGPU, "4"), nil},
		{"a GPU of another maker", of(ResourceAMDGPU, "4"), nil},
		{"an accelerator", of(ResourceAWSNeuron, "1"), []string{"EC2 gives its amount for each instance type"}},
		{"less than none", of("example.com/a", "-1"), []string{`spec.capacity[example.com/a]: "-1" is negative`}},
		{"no resource's name", of("a b", "1"), []string{"is not a resource name"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.spec.Requirements == nil && test.name != "no requirements" {
				test.spec.Requirements = []corev1.NodeSelectorRequirement{}
			}
			err := (&NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "o"}, Spec: test.spec}).Validate()
			var problems []string
			if err != nil {
				problems = strings.Split(err.Error(), "\n")
			}
			if len(problems) != len(test.want) {
				t.Fatalf("problems %q, want %d", problems, len(test.want))
			}
			for i, want := range test.want {
				if !strings.HasPrefix(problems[i], `NodeOverlay "o": `) || !strings.Contains(problems[i], want) {
					t.Errorf("problem %q, want %q in it", problems[i], want)
				}
			}
		})
	}
}

func TestPriceAdjustment(t *testing.T) {
	tests := []struct {
		text        string
		price, want float64
	}{
		{"+0.1", 1, 1.1}, {"-0.1", 1, 0.9}, {"-.25", 1, 0.75}, {"-2", 1, 0}, {"+10%", 2, 2.2}, {"-10%", 2, 1.8},
		{"-100%", 2, 0}, {"-100.0%", 2, 0}, {"+250%", 1, 3.5},
		{"+0", 0.5, 0.5}, {"-0%", 0.5, 0.5}, {"+10%", 0, 0},
	}
	for _, test := range tests {
		a, err := ParsePriceAdjustment(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if got := a.Apply(test.price); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("%q makes %v of %v, want %v", test.text, got, test.price, test.want)
		}
	}
	for _, text := range []string{
		"", "+", "-", "%", "+%", "1", "1%", "+-1", "+1.", "+1e3", "-101%", "+0x1", "+Inf", "+NaN", "+1 %", "+1%%",
		"+1_0", "+" + strings.Repeat("9", 400),
	} {
		if a, err := ParsePriceAdjustment(text); err == nil {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}

// TestPricePatterns holds the schema's patterns to what is read: the API server takes the same
// texts, but for numbers beyond all measure.
func TestPricePatterns(t *testing.T) {
	fields := readCRD(t, Group, NodeOverlayResource).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	price, adjustment := regexp.MustCompile(fields["price"].Pattern), regexp.MustCompile(fields["priceAdjustment"].Pattern)
	var texts []string
	for _, sign := range []string{"", "+", "-", "--"} {
		for _, number := range []string{
			"", "0", "5", "99", "100", "100.0", "100.5", "101", "250", "0.25", ".5", "5.", ".", "1e3", " 1", "0x1",
		} {
			for _, unit := range []string{"", "%", "%%"} {
				texts = append(texts, sign+number+unit)
			}
		}
	}
	for _, text := range texts {
		if _, err := ParseOverlayPrice(text); (err == nil) != price.MatchString(text) {
			t.Errorf("price %q: read with the error %v, but the pattern says otherwise", text, err)
		}
		if _, err := ParsePriceAdjustment(text); (err == nil) != adjustment.MatchString(text) {
			t.Errorf("priceAdjustment %q: read with the error %v, but the pattern says otherwise", text, err)
		}
	}
}

// FuzzOverlayPrices looks for texts and prices that make less than nothing, or no number, of a
// price.
func FuzzOverlayPrices(f *testing.F) {
	for _, seed := range []string{
		"+0.1", "-0.1", "+10%", "-100%", "0.25", "-.5", "+179769313486231570000%", "1.", ".", "1e9",
		"99999999999999999999",
	} {
		f.Add(seed, 0.096)
	}
	f.Add("+1%", math.MaxFloat64)
	f.Fuzz(func(t *testing.T, text string, price float64) {
		if absolute, err := ParseOverlayPrice(text); err == nil && !(absolute >= 0 && absolute <= math.MaxFloat64) {
			t.Errorf("%q is the price %v", text, absolute)
		}
		a, err := ParsePriceAdjustment(text)
		if err != nil {
			return
		}
		got := a.Apply(price)
		if !(got >= 0 && got <= math.MaxFloat64) {
			t.Errorf("%q makes %v of %v", text, got, price)
		}
		if !(price >= 0 && price <= math.MaxFloat64) {
			return
		}
		if a.Amount >= 0 && got < price || a.Amount <= 0 && got > price {
			t.Errorf("%q makes %v of %v: the wrong way", text, got, price)
		}
	})
}
