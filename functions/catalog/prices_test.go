package catalog

import (
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// run reads the catalogue once, an hour after the last run.
func (r *region) run(t *testing.T) (Summary, *catalog.Catalog) {
	t.Helper()
	if r.now == nil {
		r.now = func() time.Time { return noon }
	}
	now := r.now().Add(time.Hour)
	r.now = func() time.Time { return now }
	r.mutex.Lock()
	clear(r.calls)
	r.mutex.Unlock()
	summary, err := r.Handle(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return summary, stored(t)
}

func TestPricesThatCannotBeReadStayWhatTheyWere(t *testing.T) {
	r := newRegion(t)
	_, before := r.run(t)
	r.refused["GetProducts"] = 0
	r.service.FailCalls(ec2.CallFailure{Action: "DescribeSpotPriceHistory", Code: "InternalError"})
	summary, after := r.run(t)
	if !after.Time.Equal(before.Time.Add(time.Hour)) || !after.SpotPriceTime.Equal(before.Time) ||
		!after.Prices.OnDemandTime.Equal(before.Time) {
		t.Errorf(
			"facts of %s, spot prices of %s, on-demand prices of %s: want the new time and the old one twice", after.Time,
			after.SpotPriceTime, after.Prices.OnDemandTime,
		)
	}
	for _, name := range []string{"m5.large", "c6i.metal"} {
		was, is := infoOf(t, before, name), infoOf(t, after, name)
		if is.OnDemandPrice != was.OnDemandPrice || is.BuiltinPrice || !reflect.DeepEqual(is.SpotPrices, was.SpotPrices) {
			t.Errorf(
				"%s cost %v and %v, and now %v and %v", name, was.OnDemandPrice, was.SpotPrices, is.OnDemandPrice, is.SpotPrices,
			)
		}
	}
	if summary.SpotPrices == 0 || summary.BuiltinPrices != 0 {
		t.Errorf("summary is %+v", summary)
	}
	if ages := after.PriceAges(r.now()); !strings.Contains(ages, "on-demand prices of 60 minutes ago; spot prices of 60 "+
		"minutes ago") {
		t.Error(ages)
	}
}

func TestAnEmptyPriceListKeepsThePrices(t *testing.T) {
	r := newRegion(t)
	r.run(t)
	r.move(t, "mars-north-1") // which no product is of
	if info := infoOf(t, second(r.run(t)), "m5.large"); info.OnDemandPrice != 0.096 {
		t.Errorf("m5.large costs %v", info.OnDemandPrice)
	}
}

func second(_ Summary, snapshot *catalog.Catalog) *catalog.Catalog { return snapshot }

// Nodes can launch even where no price list answers.
func TestTheFirstCatalogueHasBuiltinPrices(t *testing.T) {
	for _, test := range []struct {
		name, region, currency, builtinRegion string
		refuse                                bool
		price                                 float64
	}{
		{"price list refused", "us-east-1", "", "us-east-1", true, 0.096},
		{"GovCloud, whose prices are built in", "us-gov-west-1", "", "us-gov-west-1", false, 0.121},
		{"the other region of China", "cn-northwest-1", "CNY", "cn-north-1", true, 0},
		{"a region without built-in prices", "eusc-de-east-1", "", "us-east-1", false, 0.096},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRegion(t)
			r.move(t, test.region)
			r.refused["DescribeSpotPriceHistory"] = 0
			if test.refuse {
				r.refused["GetProducts"] = 0
			}
			summary, snapshot := r.run(t)
			info := infoOf(t, snapshot, "m5.large")
			if !info.BuiltinPrice || test.price > 0 && info.OnDemandPrice != test.price || info.OnDemandPrice <= 0 ||
				len(info.SpotPrices) != 0 {
				t.Errorf("m5.large costs %v (built in: %v), spot %v", info.OnDemandPrice, info.BuiltinPrice, info.SpotPrices)
			}
			if prices := snapshot.Prices; prices.Builtin != summary.BuiltinPrices || prices.Builtin == 0 ||
				prices.BuiltinRegion != test.builtinRegion || prices.BuiltinTime.IsZero() ||
				!prices.OnDemandTime.IsZero() || prices.Currency != test.currency || !snapshot.SpotPriceTime.IsZero() {
				t.Errorf("prices are %+v, spot of %s, summary %+v", prices, snapshot.SpotPriceTime, summary)
			}
			if !test.refuse && r.calls["GetProducts"] != 0 {
				t.Error("a price list was asked that does not serve the region")
			}
			// The price list's prices replace them once it answers.
			if test.region == "us-east-1" {
				delete(r.refused, "GetProducts")
				delete(r.refused, "DescribeSpotPriceHistory")
				if _, snapshot := r.run(t); snapshot.Prices.Builtin != 0 || infoOf(t, snapshot, "m5.large").BuiltinPrice ||
					snapshot.SpotPriceTime.IsZero() {
					t.Errorf("prices are %+v", snapshot.Prices)
				}
			}
		})
	}
}

// A failed page keeps the old prices of its types. Earlier pages count.
func TestAPageThatFailsLosesNothingElse(t *testing.T) {
	r := newRegion(t)
	_, before := r.run(t)
	// All prices rise by a tenth, but only the first pages arrive.
	r.edit = func(body string) string {
		body = regexp.MustCompile(`<spotPrice>[0-9.]+</spotPrice>`).ReplaceAllString(body, "<spotPrice>7.5</spotPrice>")
		return regexp.MustCompile(`\\"USD\\":\\"[0-9.]+\\"`).ReplaceAllString(body, `\"USD\":\"9.5\"`)
	}
	r.refused["GetProducts"], r.refused["DescribeSpotPriceHistory"] = 3, 2
	_, after := r.run(t)
	changed, kept := 0, 0
	spotChanged, spotKept := 0, 0
	for i, info := range after.InstanceTypes {
		was := before.InstanceTypes[i]
		switch info.OnDemandPrice {
		case 9.5:
			changed++
		case was.OnDemandPrice:
			kept++
		default:
			t.Errorf("%s cost %v and now costs %v", info.InstanceType, was.OnDemandPrice, info.OnDemandPrice)
		}
		for zone, price := range was.SpotPrices {
			switch info.SpotPrices[zone] {
			case 7.5:
				spotChanged++
			case price:
				spotKept++
			default:
				t.Errorf("%s in %s cost %v and now costs %v", info.InstanceType, zone, price, info.SpotPrices[zone])
			}
		}
	}
	if changed == 0 || kept == 0 || spotChanged == 0 || spotKept == 0 {
		t.Errorf("on demand %d changed and %d kept, spot %d and %d: want some of each", changed, kept, spotChanged, spotKept)
	}
	if !after.SpotPriceTime.Equal(before.Time) || !after.Prices.OnDemandTime.Equal(before.Time) {
		t.Errorf(
			"times are %s and %s: prices that were not read whole are as old as the oldest", after.SpotPriceTime,
			after.Prices.OnDemandTime,
		)
	}
}

// TestAnswersThatAreNoPricesLoseNothingElse makes one type invalid in each answer.
func TestAnswersThatAreNoPricesLoseNothingElse(t *testing.T) {
	spot := regexp.MustCompile(
		`(<instanceType>m5\.large</instanceType>(?:<[a-zA-Z]+>[^<]*</[a-zA-Z]+>)*?<spotPrice>)[0-9.]+(</spotPrice>)`,
	)
	listed := regexp.MustCompile(
		`(per On Demand Linux m5\.large Instance Hour[^}]*?\\"pricePerUnit\\":\{\\"USD\\":\\")[0-9.]+`,
	)
	r := newRegion(t)
	_, whole := r.run(t)
	for name, price := range map[string]string{
		"zero": "0.000000", "negative": "-1.0", "no number": "soon", "infinite": "Inf",
	} {
		t.Run(name, func(t *testing.T) {
			edits := 0
			r.edit = func(body string) string {
				r.mutex.Lock()
				defer r.mutex.Unlock()
				edits += len(spot.FindAllString(body, -1)) + len(listed.FindAllString(body, -1))
				return listed.ReplaceAllString(spot.ReplaceAllString(body, "${1}"+price+"${2}"), "${1}"+price)
			}
			_, snapshot := r.run(t)
			if edits < 2 {
				t.Fatalf("%d prices were spoilt: the answers have another form", edits)
			}
			for _, info := range snapshot.InstanceTypes {
				was := infoOf(t, whole, info.InstanceType)
				if info.InstanceType == "m5.large" {
					// The on-demand price keeps its last value. The zone without a spot price has
					// no offering.
					if info.OnDemandPrice != was.OnDemandPrice || len(info.SpotPrices) >= len(was.SpotPrices) {
						t.Errorf(
							"m5.large costs %v and %v, before %v and %v", info.OnDemandPrice, info.SpotPrices, was.OnDemandPrice,
							was.SpotPrices,
						)
					}
					continue
				}
				if info.OnDemandPrice != was.OnDemandPrice || len(info.SpotPrices) != len(was.SpotPrices) {
					t.Fatalf(
						"%s costs %v and %v, before %v and %v", info.InstanceType, info.OnDemandPrice, info.SpotPrices, was.OnDemandPrice,
						was.SpotPrices,
					)
				}
			}
			if !snapshot.SpotPriceTime.Equal(snapshot.Time) {
				t.Errorf("spot prices are of %s", snapshot.SpotPriceTime)
			}
		})
	}
}

// Prices of types that EC2 does not describe are ignored. A type without processors has no entry.
func TestTypesThatAreUnknownOrUnusable(t *testing.T) {
	r := newRegion(t)
	_, whole := r.run(t)
	r.edit = func(body string) string {
		if strings.Contains(body, "<DescribeInstanceTypesResponse") {
			// One type keeps its name only. Another gets a name that the price list does not know.
			body = regexp.MustCompile(
				`(?s)(<instanceType>m5\.large</instanceType>.*?<defaultVCpus>)\d+`,
			).ReplaceAllString(body, "${1}0")
			body = strings.ReplaceAll(body, "<instanceType>m5.xlarge</instanceType>", "<instanceType>m5.enormous</instanceType>")
		}
		return body
	}
	summary, snapshot := r.run(t)
	if summary.InstanceTypes != len(whole.InstanceTypes)-1 || summary.WithoutPrice != 1 {
		t.Errorf("summary is %+v, want one type less than %d and one without a price", summary, len(whole.InstanceTypes))
	}
	if info := infoOf(t, snapshot, "m5.enormous"); info.OnDemandPrice != 0 || len(info.Zones) != 0 {
		t.Errorf("%+v", info)
	}
	infoOf(t, snapshot, "m5.2xlarge")
}

func TestPricesOfVolumes(t *testing.T) {
	r := newRegion(t)
	_, whole := r.run(t)
	if !reflect.DeepEqual(whole.VolumePrices, catalog.BuiltinVolumePrices()) {
		t.Errorf("volumes cost %v, want those of us-east-1", whole.VolumePrices)
	}
	r.edit = func(body string) string {
		return strings.ReplaceAll(body, `\"USD\":\"0.0800000000\"`, `\"USD\":\"0.0952000000\"`)
	}
	_, dearer := r.run(t)
	if dearer.VolumePrices["VolumeUsage.gp3"] != 0.0952 {
		t.Errorf("gp3 costs %v", dearer.VolumePrices["VolumeUsage.gp3"])
	}
	// Where the list does not answer, the last prices stay.
	r.refused["GetProducts"] = 0
	if _, kept := r.run(t); !reflect.DeepEqual(kept.VolumePrices, dearer.VolumePrices) {
		t.Errorf("volumes cost %v, before %v", kept.VolumePrices, dearer.VolumePrices)
	}
}

// Prices in a Local Zone stand in the price list under the group of the zone.
func TestLocalZonesHaveTheirOwnPrices(t *testing.T) {
	const group, zone = "us-east-1-dfw-1", "us-east-1-dfw-1a"
	r := newRegionWith(t, []string{zone}, []string{group})
	_, snapshot := r.run(t)
	info := infoOf(t, snapshot, "m5.large")
	if price := math.Round(info.ZonePrices[zone]*1e4) / 1e4; len(info.ZonePrices) != 1 || price != 0.1152 {
		t.Errorf("m5.large costs %v in zones of their own, want 1.2 of %v in one", info.ZonePrices, info.OnDemandPrice)
	}
	labels := func(zone string) map[string]string {
		return map[string]string{
			corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: zone,
			api.CapacityTypeLabelKey: api.CapacityTypeOnDemand,
		}
	}
	there, _ := snapshot.Price(labels(zone))
	here, _ := snapshot.Price(labels("us-east-1a"))
	if there <= here || here != 0.096 {
		t.Errorf("a node costs %v in the Local Zone and %v in the region", there, here)
	}
	r.refused["GetProducts"] = 0
	if kept := infoOf(t, second(r.run(t)), "m5.large"); kept.ZonePrices[zone] != info.ZonePrices[zone] {
		t.Errorf("without an answer, m5.large costs %v there", kept.ZonePrices)
	}
}
