package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// offer has three types in two zones, spot and on demand; the price is in cents the type's cpu
// count, spot half of it, zone b a cent more. Nothing is known of the price of x.large on demand.
func offer() []InstanceType {
	var types []InstanceType
	for name, cpu := range map[string]int64{"m.large": 2, "m.xlarge": 4, "x.large": 8} {
		typ := InstanceType{
			Name: name,
			Requirements: scheduling.NewRequirements(
				scheduling.In(
					corev1.LabelInstanceTypeStable, name,
				),
				scheduling.In(api.LabelInstanceFamily, name[:1]),
				scheduling.In(
					api.LabelInstanceCPU,
					fmt.Sprint(cpu),
				),
				scheduling.In(corev1.LabelTopologyZone, "a", "b"),
				scheduling.In(api.CapacityTypeLabelKey, "spot", "on-demand"),
			),
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(cpu, resource.DecimalSI),
				corev1.ResourceMemory: resource.MustParse("8Gi"),
			},
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(cpu, resource.DecimalSI),
				corev1.ResourceMemory: resource.MustParse("7Gi"),
			},
		}
		for _, zone := range []string{"a", "b"} {
			for _, capacityType := range []string{"on-demand", "spot"} {
				price := float64(cpu) / 100
				if capacityType == "spot" {
					price /= 2
				}
				if zone == "b" {
					price += 0.01
				}
				offering := Offering{CapacityType: capacityType, Zone: zone, Price: price, Available: true}
				if name == "x.large" && capacityType == "on-demand" {
					offering = Offering{CapacityType: capacityType, Zone: zone, Unpriced: zone == "a"}
				}
				typ.Offerings = append(typ.Offerings, offering)
			}
		}
		sortOfferings(typ.Offerings)
		types = append(types, typ)
	}
	slices.SortFunc(types, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

func overlayOf(name string, weight int32, changes ...func(*api.NodeOverlaySpec)) api.NodeOverlay {
	o := api.NodeOverlay{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       api.NodeOverlaySpec{Requirements: []corev1.NodeSelectorRequirement{}},
	}
	if weight > 0 {
		o.Spec.Weight = &weight
	}
	for _, change := range changes {
		change(&o.Spec)
	}
	return o
}

func on(key string, operator corev1.NodeSelectorOperator, values ...string) func(*api.NodeOverlaySpec) {
	return func(s *api.NodeOverlaySpec) {
		s.Requirements = append(s.Requirements, corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values})
	}
}

func onType(names ...string) func(*api.NodeOverlaySpec) {
	return on(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, names...)
}

func price(text string) func(*api.NodeOverlaySpec) {
	return func(s *api.NodeOverlaySpec) { s.Price = &text }
}

func adjusted(text string) func(*api.NodeOverlaySpec) {
	return func(s *api.NodeOverlaySpec) { s.PriceAdjustment = &text }
}

func capacityOf(name, quantity string) func(*api.NodeOverlaySpec) {
	return func(s *api.NodeOverlaySpec) {
		if s.Capacity == nil {
			s.Capacity = corev1.ResourceList{}
		}
		s.Capacity[corev1.ResourceName(name)] = resource.MustParse(quantity)
	}
}

func poolOf(name string, labels map[string]string) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pool.Spec.Template.Labels = labels
	return pool
}

// pricesOf lists a type's offerings: a star is a price that an overlay made, a minus what is not
// available.
func pricesOf(types []InstanceType, name string) string {
	var parts []string
	for _, typ := range types {
		for _, o := range typ.Offerings {
			if typ.Name != name {
				continue
			}
			mark := ""
			if o.PriceOverlay {
				mark += "*"
			}
			if !o.Available {
				mark += "-"
			}
			parts = append(parts, fmt.Sprintf("%s/%s=%.4g%s", o.CapacityType, o.Zone, o.Price, mark))
		}
	}
	return strings.Join(parts, " ")
}

func resourcesOf(types []InstanceType, name string) string {
	for _, typ := range types {
		if typ.Name == name {
			var parts []string
			for _, key := range []corev1.ResourceName{"memory", "example.com/a", "example.com/b", "hugepages-2Mi"} {
				capacity, allocatable := typ.Capacity[key], typ.Allocatable[key]
				if !capacity.IsZero() || !allocatable.IsZero() {
					parts = append(parts, fmt.Sprintf("%s=%s/%s", key, capacity.String(), allocatable.String()))
				}
			}
			return fmt.Sprint(strings.Join(parts, " "), " ", typ.CapacityOverlay)
		}
	}
	return ""
}

func TestOverlays(t *testing.T) {
	const untouched = "spot/a=0.01 on-demand/a=0.02 spot/b=0.02 on-demand/b=0.03"
	const bare = "memory=8Gi/7Gi false"
	tests := []struct {
		name      string
		overlays  []api.NodeOverlay
		prices    string // of m.large
		resources string // of m.large
		problems  []string
	}{
		{"none", nil, untouched, bare, nil},
		{"nothing said", []api.NodeOverlay{overlayOf("o", 1, onType("m.large"))}, untouched, bare, nil},
		{
			"a price", []api.NodeOverlay{overlayOf("o", 1, onType("m.large"), price("1.5"))},
			"on-demand/a=1.5* spot/a=1.5* on-demand/b=1.5* spot/b=1.5*", bare, nil,
		},
		{
			"everything's price", []api.NodeOverlay{overlayOf("o", 0, price("0"))},
			"on-demand/a=0* spot/a=0* on-demand/b=0* spot/b=0*", bare, nil,
		},
		{
			"an amount more", []api.NodeOverlay{overlayOf("o", 1, adjusted("+0.01"))},
			"spot/a=0.02* on-demand/a=0.03* spot/b=0.03* on-demand/b=0.04*", bare, nil,
		},
		{
			"an amount less", []api.NodeOverlay{overlayOf("o", 1, adjusted("-0.015"))},
			"spot/a=0* on-demand/a=0.005* spot/b=0.005* on-demand/b=0.015*", bare, nil,
		},
		{
			"a part more", []api.NodeOverlay{overlayOf("o", 1, adjusted("+50%"))},
			"spot/a=0.015* on-demand/a=0.03* spot/b=0.03* on-demand/b=0.045*", bare, nil,
		},
		{
			"all of it less", []api.NodeOverlay{overlayOf("o", 1, adjusted("-100%"))},
			"on-demand/a=0* spot/a=0* on-demand/b=0* spot/b=0*", bare, nil,
		},
		{"of one capacity type", []api.NodeOverlay{
			overlayOf("o", 1, on(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, "spot"), price("0.025")),
		},
			"on-demand/a=0.02 spot/a=0.025* spot/b=0.025* on-demand/b=0.03", bare, nil},
		{"not in one zone", []api.NodeOverlay{
			overlayOf("o", 1, on(corev1.LabelTopologyZone, corev1.NodeSelectorOpNotIn, "a"), adjusted("-50%")),
		},
			"spot/a=0.01 spot/b=0.01* on-demand/b=0.015* on-demand/a=0.02", bare, nil},
		{
			"in no zone",
			[]api.NodeOverlay{
				overlayOf(
					"o", 1, on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "c"), price("1"),
					capacityOf("example.com/a", "1"),
				),
			},
			untouched, bare, nil,
		},
		{
			"by number",
			[]api.NodeOverlay{overlayOf("o", 1, on(api.LabelInstanceCPU, corev1.NodeSelectorOpLt, "4"), price("1"))},
			"on-demand/a=1* spot/a=1* on-demand/b=1* spot/b=1*", bare, nil,
		},
		{
			"another number",
			[]api.NodeOverlay{overlayOf("o", 1, on(api.LabelInstanceCPU, api.NodeSelectorOpGte, "4"), price("1"))},
			untouched, bare, nil,
		},
		{
			"a label that types have",
			[]api.NodeOverlay{overlayOf("o", 1, on(api.LabelInstanceGPUCount, corev1.NodeSelectorOpExists), price("1"))},
			untouched, bare, nil,
		},
		{
			"a label that types lack",
			[]api.NodeOverlay{overlayOf("o", 1, on(api.LabelInstanceGPUCount, corev1.NodeSelectorOpDoesNotExist), price("1"))},
			"on-demand/a=1* spot/a=1* on-demand/b=1* spot/b=1*", bare, nil,
		},
		{
			"the pool's label",
			[]api.NodeOverlay{overlayOf("o", 1, on("team", corev1.NodeSelectorOpIn, "red", "green"), price("1"))},
			"on-demand/a=1* spot/a=1* on-demand/b=1* spot/b=1*", bare, nil,
		},
		{
			"another pool's label",
			[]api.NodeOverlay{overlayOf("o", 1, on("team", corev1.NodeSelectorOpIn, "blue"), price("1"))}, untouched,
			bare, nil,
		},
		{
			"the pool",
			[]api.NodeOverlay{overlayOf("o", 1, on(api.NodePoolLabelKey, corev1.NodeSelectorOpIn, "default"), price("1"))},
			"on-demand/a=1* spot/a=1* on-demand/b=1* spot/b=1*", bare, nil,
		},
		{
			"another pool",
			[]api.NodeOverlay{overlayOf("o", 1, on(api.NodePoolLabelKey, corev1.NodeSelectorOpNotIn, "default"), price("1"))},
			untouched, bare, nil,
		},
		{"the heavier price", []api.NodeOverlay{
			overlayOf("light", 1, price("1")),
			overlayOf("heavy", 2, on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "a"), adjusted("+1")),
		},
			"on-demand/b=1* spot/b=1* spot/a=1.01* on-demand/a=1.02*", bare, nil},
		{
			"unset weighs nothing",
			[]api.NodeOverlay{overlayOf("unset", 0, price("1")), overlayOf("z", 1, price("2"))},
			"on-demand/a=2* spot/a=2* on-demand/b=2* spot/b=2*", bare, nil,
		},
		{
			"a resource", []api.NodeOverlay{overlayOf("o", 1, capacityOf("example.com/a", "3"))}, untouched,
			"memory=8Gi/7Gi example.com/a=3/3 true", nil,
		},
		{"resources of several", []api.NodeOverlay{
			overlayOf("light", 1, capacityOf("example.com/a", "3"), capacityOf("example.com/b", "4")),
			overlayOf("heavy", 2, capacityOf("example.com/a", "7")),
		},
			untouched, "memory=8Gi/7Gi example.com/a=7/7 example.com/b=4/4 true", nil},
		{
			"huge pages", []api.NodeOverlay{overlayOf("o", 1, capacityOf("hugepages-2Mi", "2Gi"))}, untouched,
			"memory=8Gi/5Gi hugepages-2Mi=2Gi/2Gi true", nil,
		},
		{
			"more huge pages than memory", []api.NodeOverlay{overlayOf("o", 1, capacityOf("hugepages-2Mi", "20Gi"))},
			untouched, "memory=8Gi/0 hugepages-2Mi=20Gi/20Gi true", nil,
		},
		{
			"a resource where one offering matches",
			[]api.NodeOverlay{
				overlayOf("o", 1, on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "b"), capacityOf("example.com/a", "3")),
			},
			untouched, "memory=8Gi/7Gi example.com/a=3/3 true", nil,
		},
		{"the same weight, the same price", []api.NodeOverlay{
			overlayOf("a", 5, price("1"), capacityOf("example.com/a", "3")),
			overlayOf("b", 5, on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "a"), price("2")),
		},
			"spot/b=0.02 on-demand/b=0.03 on-demand/a=2* spot/a=2*", bare,
			[]string{
				`Conflict: nodeoverlay "a": spec.weight: 5 is also that of nodeoverlay "b", and both set the price of spot m.large in a for nodepool "default": give one of them another weight or narrow spec.requirements`,
			}},
		{"the same weight, the same resource", []api.NodeOverlay{
			overlayOf("a", 0, price("1"), capacityOf("example.com/a", "3")),
			overlayOf("b", 0, capacityOf("example.com/a", "4")),
		},
			untouched, "memory=8Gi/7Gi example.com/a=4/4 true",
			[]string{
				`Conflict: nodeoverlay "a": spec.weight: 0 is also that of nodeoverlay "b", and both set example.com/a of m.large for nodepool "default": give one of them another weight or narrow spec.requirements`,
			}},
		{"the same weight, under a heavier one", []api.NodeOverlay{
			overlayOf("a", 1, price("1")), overlayOf("b", 1, price("2")), overlayOf("c", 2, price("3")),
		},
			"on-demand/a=3* spot/a=3* on-demand/b=3* spot/b=3*", bare,
			[]string{
				`Conflict: nodeoverlay "a": spec.weight: 1 is also that of nodeoverlay "b", and both set the price of spot m.large in a for nodepool "default": give one of them another weight or narrow spec.requirements`,
			}},
		{"the same weight, one ignored before", []api.NodeOverlay{
			overlayOf("a", 1, capacityOf("example.com/b", "1")),
			overlayOf("b", 1, capacityOf("example.com/a", "2"), capacityOf("example.com/b", "2")),
			overlayOf("c", 1, capacityOf("example.com/a", "3")),
		},
			untouched, "memory=8Gi/7Gi example.com/a=3/3 example.com/b=1/1 true",
			[]string{
				`Conflict: nodeoverlay "b": spec.weight: 1 is also that of nodeoverlay "c", and both set example.com/a of m.large for nodepool "default": give one of them another weight or narrow spec.requirements`,
			}},
		{"the same weight, other things", []api.NodeOverlay{
			overlayOf("a", 1, on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "a"), price("1")),
			overlayOf("b", 1, on(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, "b"), price("2")),
			overlayOf("c", 1, capacityOf("example.com/a", "3")),
		},
			"on-demand/a=1* spot/a=1* on-demand/b=2* spot/b=2*", "memory=8Gi/7Gi example.com/a=3/3 true", nil},
		{"not valid", []api.NodeOverlay{
			overlayOf("bad", 9, price("-1"), capacityOf("cpu", "3")), overlayOf("o", 1, price("1")),
		}, "on-demand/a=1* spot/a=1* on-demand/b=1* spot/b=1*", bare,
			[]string{
				"RuntimeValidation: NodeOverlay \"bad\": spec.price: \"-1\" is not a price: write US dollars an hour without a sign, such as 0.25\nNodeOverlay \"bad\": spec.capacity[cpu]: \"3\" cannot be overlaid: an overlay adds extended resources only, remove it",
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			pool, types := poolOf("default", map[string]string{"team": "red"}), offer()
			result, problems := ApplyOverlays(types, &pool, test.overlays)
			if got := pricesOf(result, "m.large"); got != test.prices {
				t.Errorf("prices %s\nwant   %s", got, test.prices)
			}
			if got := resourcesOf(result, "m.large"); got != test.resources {
				t.Errorf("resources %s\nwant      %s", got, test.resources)
			}
			var told []string
			for _, p := range problems {
				told = append(told, p.Reason+": "+p.Message)
			}
			if !slices.Equal(told, test.problems) {
				t.Errorf("problems %q\nwant     %q", told, test.problems)
			}
			if !reflect.DeepEqual(types, offer()) {
				t.Error("the types that were given have changed")
			}
		})
	}
}

// TestOverlaySuppliesAPrice: what EC2 names no price for can be bought once a person names it.
func TestOverlaySuppliesAPrice(t *testing.T) {
	const untouched = "on-demand/a=0- on-demand/b=0- spot/a=0.04 spot/b=0.05"
	for name, test := range map[string]struct {
		overlay api.NodeOverlay
		want    string
	}{
		"a price": {
			overlayOf("o", 1, onType("m.large", "x.large"), price("0.03")),
			"on-demand/a=0.03* spot/a=0.03* on-demand/b=0.03*- spot/b=0.03*",
		},
		"by the old name": {
			overlayOf("o", 1, on(corev1.LabelInstanceType, corev1.NodeSelectorOpIn, "x.large"), price("0.03")),
			"on-demand/a=0.03* spot/a=0.03* on-demand/b=0.03*- spot/b=0.03*",
		},
		"an adjustment": {
			overlayOf("o", 1, onType("x.large"), adjusted("+0.01")),
			"on-demand/a=0.01*- on-demand/b=0.01*- spot/a=0.05* spot/b=0.06*",
		},
		"a second condition": {
			overlayOf("o", 1, onType("x.large"), on(api.CapacityTypeLabelKey, corev1.NodeSelectorOpExists), price("1")),
			"on-demand/a=1*- spot/a=1* on-demand/b=1*- spot/b=1*",
		},
		"another condition": {
			overlayOf("o", 1, on(api.LabelInstanceFamily, corev1.NodeSelectorOpIn, "x"), price("1")),
			"on-demand/a=1*- spot/a=1* on-demand/b=1*- spot/b=1*",
		},
		"another instance": {overlayOf("o", 1, onType("m.large"), price("1")), untouched},
		"all other instances": {
			overlayOf("o", 1, on(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpNotIn, "m.large"), price("1")),
			"on-demand/a=1*- spot/a=1* on-demand/b=1*- spot/b=1*",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool := poolOf("default", nil)
			result, problems := ApplyOverlays(offer(), &pool, []api.NodeOverlay{test.overlay})
			if got := pricesOf(result, "x.large"); got != test.want || len(problems) > 0 {
				t.Errorf("prices %s\nwant   %s (%v)", got, test.want, problems)
			}
		})
	}
}

// TestOverlayConflictCountsEverywhere: an overlay that conflicts in one pool is ignored in all.
func TestOverlayConflictCountsEverywhere(t *testing.T) {
	pools := []api.NodePool{poolOf("p1", nil), poolOf("p2", map[string]string{"team": "red"})}
	overlays := []api.NodeOverlay{
		overlayOf("all", 1, price("1")),
		overlayOf("red", 1, on("team", corev1.NodeSelectorOpIn, "red"), price("2")),
	}
	byPool, problems := Overlays(pools, func(*api.NodePool) []InstanceType { return offer() }, overlays)
	if len(problems) != 1 || problems[0].Overlay != "all" || !strings.Contains(problems[0].Message, `nodepool "p2"`) {
		t.Errorf("problems %+v, want one of all in p2", problems)
	}
	if !reflect.DeepEqual(byPool["p1"], offer()) {
		t.Errorf("p1 has the prices %s", pricesOf(byPool["p1"], "m.large"))
	}
	if got := pricesOf(byPool["p2"], "m.large"); got != "on-demand/a=2* spot/a=2* on-demand/b=2* spot/b=2*" {
		t.Errorf("p2 has the prices %s", got)
	}
	// Where the two never meet, both count.
	alone, problems := ApplyOverlays(offer(), &pools[0], overlays)
	if got := pricesOf(alone, "m.large"); got != "on-demand/a=1* spot/a=1* on-demand/b=1* spot/b=1*" || len(problems) > 0 {
		t.Errorf("p1 alone has the prices %s, %v", got, problems)
	}
}

// TestOverlaysWhateverTheOrder shuffles pools and overlays made at random: the result and what is
// said of it stay, and the types given are not changed.
func TestOverlaysWhateverTheOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	conflicts := 0
	for round := range 300 {
		pools := []api.NodePool{
			poolOf("p1", nil), poolOf("p2", map[string]string{"team": "red"}),
			poolOf("p3", map[string]string{"team": "blue"}),
		}
		var overlays []api.NodeOverlay
		for i := range 1 + random.IntN(6) {
			o := overlayOf(fmt.Sprintf("o%d", i), int32(random.IntN(3)))
			for range random.IntN(3) {
				switch random.IntN(4) {
				case 0:
					on(corev1.LabelTopologyZone, corev1.NodeSelectorOperator(pick("In", "NotIn")), pick("a", "b"))(&o.Spec)
				case 1:
					on("team", corev1.NodeSelectorOperator(pick("In", "NotIn")), pick("red", "blue"))(&o.Spec)
				case 2:
					onType(pick("m.large", "x.large"), pick("m.large", "m.xlarge"))(&o.Spec)
				case 3:
					on(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, pick("spot", "on-demand"))(&o.Spec)
				}
			}
			switch random.IntN(3) {
			case 0:
				price(pick("0.001", "1", "not a price"))(&o.Spec)
			case 1:
				adjusted(pick("+10%", "-20%", "+0.01", "-1"))(&o.Spec)
			}
			if random.IntN(2) == 0 {
				capacityOf(pick("example.com/a", "example.com/b", "hugepages-2Mi"), pick("1Gi", "2Gi"))(&o.Spec)
			}
			overlays = append(overlays, o)
		}
		given := offer()
		text := func() string {
			byPool, problems := Overlays(pools, func(*api.NodePool) []InstanceType { return given }, overlays)
			for _, p := range problems {
				if p.Reason == api.ReasonOverlayConflict {
					conflicts++
				}
			}
			written, err := json.Marshal([]any{byPool, problems})
			if err != nil {
				t.Fatal(err)
			}
			return string(written)
		}
		want := text()
		for range 4 {
			random.Shuffle(len(pools), func(i, j int) { pools[i], pools[j] = pools[j], pools[i] })
			random.Shuffle(len(overlays), func(i, j int) { overlays[i], overlays[j] = overlays[j], overlays[i] })
			if got := text(); got != want {
				t.Fatalf("round %d:\ngot  %s\nwant %s", round, got, want)
			}
		}
		if !reflect.DeepEqual(given, offer()) {
			t.Fatalf("round %d: the types that were given have changed", round)
		}
	}
	if conflicts == 0 {
		t.Error("no conflict came up")
	}
}

// BenchmarkOverlays applies 20 overlays to 10 pools of 900 types.
func BenchmarkOverlays(b *testing.B) {
	var types []InstanceType
	for i := range 300 {
		for _, typ := range offer() {
			typ.Name = fmt.Sprintf("%s-%d", typ.Name, i)
			types = append(types, typ)
		}
	}
	var pools []api.NodePool
	for i := range 10 {
		pools = append(pools, poolOf(fmt.Sprint("p", i), map[string]string{"team": fmt.Sprint(i)}))
	}
	var overlays []api.NodeOverlay
	for i := range 20 {
		overlays = append(
			overlays,
			overlayOf(
				fmt.Sprint("o", i), int32(i+1), on("team", corev1.NodeSelectorOpIn, fmt.Sprint(i%10), fmt.Sprint(i%7)),
				adjusted("-10%"), capacityOf("example.com/a", "1"),
			),
		)
	}
	b.ReportAllocs()
	for b.Loop() {
		Overlays(pools, func(*api.NodePool) []InstanceType { return types }, overlays)
	}
}
