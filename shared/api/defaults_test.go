package api

import (
	"math"
	"reflect"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

func TestNodePoolDefaults(t *testing.T) {
	tests := []struct {
		name, spec, want string
	}{
		{
			"nothing set",
			`template: {spec: {requirements: []}}`,
			`
disruption: {budgets: [{nodes: 10%}], consolidateAfter: 0h, consolidationPolicy: WhenEmptyOrUnderutilized}
template: {spec: {expireAfter: 720h, nodeClassRef: null, requirements: []}}`,
		},
		{
			"everything set",
			`
disruption: {budgets: [{nodes: "1"}], consolidateAfter: Never, consolidationPolicy: WhenEmpty}
template: {spec: {expireAfter: Never, requirements: []}}`,
			`
disruption: {budgets: [{nodes: "1"}], consolidateAfter: Never, consolidationPolicy: WhenEmpty}
template: {spec: {expireAfter: Never, nodeClassRef: null, requirements: []}}`,
		},
		{
			"a budget without nodes",
			`
disruption: {budgets: [{reasons: [Empty]}], consolidateAfter: 5m}
template: {spec: {expireAfter: 0s, requirements: []}}`,
			`
disruption: {budgets: [{nodes: 10%, reasons: [Empty]}], consolidateAfter: 5m,
	consolidationPolicy: WhenEmptyOrUnderutilized}
template: {spec: {expireAfter: 0s, nodeClassRef: null, requirements: []}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var pool NodePool
			if err := yaml.UnmarshalStrict([]byte(test.spec), &pool.Spec); err != nil {
				t.Fatal(err)
			}
			pool.Default()
			once := pool.DeepCopy()
			pool.Default()
			if !reflect.DeepEqual(&pool, once) {
				t.Errorf("the second time it gave %+v, after %+v", pool.Spec, once.Spec)
			}
			sameYAML(t, pool.Spec, test.want)
		})
	}
}

func TestNoBudgetAtAllIsAChoice(t *testing.T) {
	pool := NodePool{Spec: NodePoolSpec{Disruption: Disruption{Budgets: []Budget{}}}}
	pool.Default()
	if len(pool.Spec.Disruption.Budgets) != 0 {
		t.Errorf("got the budgets %+v", pool.Spec.Disruption.Budgets)
	}
}

func TestNodeClaimDefaults(t *testing.T) {
	var claim NodeClaim
	claim.Default()
	if d := claim.Spec.ExpireAfter.Duration; d == nil || *d != DefaultExpireAfter {
		t.Errorf("it expires after %v", claim.Spec.ExpireAfter)
	}
}

func TestEC2NodeClassDefaults(t *testing.T) {
	class := EC2NodeClass{
		Status: EC2NodeClassStatus{
			CapacityReservations: []CapacityReservation{
				{ID: "cr-0a"}, {ID: "cr-0b", ReservationType: "capacity-block", State: "expiring"},
			},
		},
	}
	class.Default()
	sameYAML(
		t, class.Spec.MetadataOptions,
		`{httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 1, httpTokens: required}`,
	)
	if r := class.Status.CapacityReservations; r[0].ReservationType != "default" || r[0].State != "active" ||
		r[1].ReservationType != "capacity-block" || r[1].State != "expiring" {
		t.Errorf("the reservations are %+v", r)
	}
	hops := int64(2)
	class = EC2NodeClass{Spec: EC2NodeClassSpec{MetadataOptions: &MetadataOptions{HTTPPutResponseHopLimit: &hops}}}
	class.Default()
	sameYAML(
		t, class.Spec.MetadataOptions,
		`{httpEndpoint: enabled, httpProtocolIPv6: disabled, httpPutResponseHopLimit: 2, httpTokens: required}`,
	)
}

func sameYAML(t *testing.T, value any, want string) {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, wanted) {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestNillableDuration(t *testing.T) {
	tests := []struct {
		json          string
		want          time.Duration
		never, isZero bool
		written       string
	}{
		{`"720h"`, 720 * time.Hour, false, false, `"720h"`},
		{`"1h30m"`, 90 * time.Minute, false, false, `"1h30m"`},
		{`"0s"`, 0, false, false, `"0s"`},
		{`"8760000h"`, math.MaxInt64, false, false, `"8760000h"`},
		{`"Never"`, 0, true, false, `"Never"`},
		{`null`, 0, false, true, `null`},
	}
	for _, test := range tests {
		t.Run(test.json, func(t *testing.T) {
			d := NeverDuration()
			if err := d.UnmarshalJSON([]byte(test.json)); err != nil {
				t.Fatal(err)
			}
			if d.IsNever() != test.never || d.IsZero() != test.isZero {
				t.Errorf("never %v, unset %v, want %v, %v", d.IsNever(), d.IsZero(), test.never, test.isZero)
			}
			if (d.Duration == nil) != (test.never || test.isZero) || d.Duration != nil && *d.Duration != test.want {
				t.Errorf("got %v, want %v", d, test.want)
			}
			written, err := d.MarshalJSON()
			if err != nil || string(written) != test.written {
				t.Errorf("written as %s, %v, want %s", written, err, test.written)
			}
		})
	}
	for _, bad := range []string{`"30d"`, `""`, `720`, `"never"`, `{}`} {
		var d NillableDuration
		if err := d.UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s was read as %v", bad, d)
		}
	}
	if got := DurationOf(90 * time.Second).String(); got != "1m30s" {
		t.Errorf("90 seconds are %q", got)
	}
}

// TestUnsetDurationsAreLeftOut checks that an object which does not set a duration is
// not written as if it said Never.
func TestUnsetDurationsAreLeftOut(t *testing.T) {
	text, err := yaml.Marshal(NodeClaimTemplateSpec{ExpireAfter: NillableDuration{}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(text), "nodeClassRef: null\nrequirements: null\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
