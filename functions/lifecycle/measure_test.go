package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodecost"
)

func TestThePriceOfNodesIsMeasured(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	known := &catalog.Catalog{Time: now.Add(-time.Hour), SpotPriceTime: now, InstanceTypes: []catalog.InstanceTypeInfo{
		{InstanceType: "m5.large", OnDemandPrice: 0.5, SpotPrices: map[string]float64{"us-east-1a": 0.125}},
	}}
	var pool api.NodePool
	pool.Name, pool.Annotations = "default", map[string]string{api.NodeFeeAnnotationKey: "0.25"}
	claim := func(kind, instance string) api.NodeClaim {
		var made api.NodeClaim
		made.Labels = map[string]string{api.CapacityTypeLabelKey: kind, corev1.LabelInstanceTypeStable: "m5.large",
			corev1.LabelTopologyZone: "us-east-1a", api.NodePoolLabelKey: "default"}
		made.Status.ProviderID = instance
		return made
	}
	claims := []api.NodeClaim{claim("spot", "aws:///us-east-1a/i-1"), claim("spot", "aws:///us-east-1a/i-2"),
		claim("on-demand", "aws:///us-east-1a/i-3"), claim("spot", "")}
	for name, test := range map[string]struct {
		known *catalog.Catalog
		want  map[string]float64
		line  string
	}{
		// The pool's fee is $0.25/h.
		"with prices": {known, map[string]float64{
			"Nodes/spot": 2, "Nodes/on-demand": 1, "Nodes/reserved": 0, "DollarsPerHour/": 0.75 + 3*0.25, "SavedDollarsPerHour/": 0.75,
			"CatalogAgeSeconds/": 3600,
		}, "spot 2 on-demand 1 reserved 0 price 1.5 saved 0.75"},
		"without a catalogue": {nil, map[string]float64{
			"Nodes/spot": 2, "Nodes/on-demand": 1, "Nodes/reserved": 0, "CatalogAgeSeconds/": (7 * 24 * time.Hour).Seconds(),
		}, "spot 2 on-demand 1 reserved 0"},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]float64{}
			sums := sumsOf(claims, test.known, nodecost.Of(test.known, nil, []api.NodePool{pool}))
			for _, value := range sums.metrics(test.known, now) {
				got[string(value.Name)+"/"+value.Series] = value.Numbers[0]
			}
			for key, want := range test.want {
				if number, there := got[key]; !there || number != want {
					t.Errorf("%s is %v, want %v", key, number, want)
				}
			}
			if len(got) != len(test.want) {
				t.Errorf("measured %v", got)
			}
			line := strings.TrimSpace(fmt.Sprintln(sums.fields(test.known)...))
			if line != test.line {
				t.Errorf("the line has %s, want %s", line, test.line)
			}
		})
	}
}

// TestThePriceOfAPoolIsMeasuredWhereASettingAsksForIt writes through a Recorder of two named pools, of which one
// has no node. A third pool has nodes and no name in the setting.
func TestThePriceOfAPoolIsMeasuredWhereASettingAsksForIt(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	known := &catalog.Catalog{Time: now, InstanceTypes: []catalog.InstanceTypeInfo{
		{InstanceType: "m5.large", OnDemandPrice: 0.5},
	}}
	var claims []api.NodeClaim
	for i, pool := range []string{"default", "default", "gpu"} {
		var made api.NodeClaim
		made.Labels = map[string]string{api.CapacityTypeLabelKey: "on-demand", corev1.LabelInstanceTypeStable: "m5.large",
			corev1.LabelTopologyZone: "us-east-1a", api.NodePoolLabelKey: pool}
		made.Status.ProviderID = fmt.Sprint("aws:///us-east-1a/i-", i)
		claims = append(claims, made)
	}
	for name, test := range map[string]struct {
		pools []string
		known *catalog.Catalog
		want  []string
	}{
		"two pools": {[]string{"default", "new"}, known, []string{
			`"NodePool":"default","NodePoolDollarsPerHour":1,"NodePoolNodes":2`,
			`"NodePool":"new","NodePoolDollarsPerHour":0,"NodePoolNodes":0`,
		}},
		"without a catalogue": {[]string{"default"}, nil, []string{`"NodePool":"default","NodePoolNodes":2`}},
		"no setting":          {nil, known, nil},
	} {
		var out strings.Builder
		recorder := metrics.NewRecorder("prod", &out, func() time.Time { return now }).Limited(metrics.DetailOff).
			ForPools(test.pools)
		sums := sumsOf(claims, test.known, nodecost.Of(test.known, nil, nil))
		recorder.Write(append(sums.metrics(test.known, now),
			sums.ofPools([]string{"default", "new", "gpu"}, test.known != nil)...)...)
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: lacks %s:\n%s", name, want, out.String())
			}
		}
		if lines := strings.Count(out.String(), "\n"); lines != len(test.want) || strings.Contains(out.String(), "gpu") {
			t.Errorf("%s: %d lines:\n%s", name, lines, out.String())
		}
	}
}
