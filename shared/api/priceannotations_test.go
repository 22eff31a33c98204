package api_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestNodeFee(t *testing.T) {
	for text, want := range map[string]float64{"0.02": 0.02, "0": 0, "1000": 1000, ".5": 0.5} {
		if fee, err := feeOf(text); err != nil || fee != want {
			t.Errorf("%q is %v, %v", text, fee, err)
		}
	}
	if fee, err := (&api.NodePool{}).NodeFee(); err != nil || fee != 0 {
		t.Errorf("no annotation is %v, %v", fee, err)
	}
	for _, text := range []string{"", "free", "-0.02", "$0.02", "0,02", "NaN", "Inf", "1e3", "1001", "0x1p-2", " 0.02"} {
		fee, err := feeOf(text)
		if fee != 0 || err == nil {
			t.Errorf("%q is %v, %v", text, fee, err)
			continue
		}
		for _, part := range []string{
			`NodePool "web": metadata.annotations[whittle.dev/node-fee]: "` + text + `" `, "write US dollars an hour", "0.02",
		} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: the error %q does not say %q", text, err, part)
			}
		}
	}
}

func feeOf(text string) (float64, error) {
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Annotations: map[string]string{api.NodeFeeAnnotationKey: text},
	}}
	return pool.NodeFee()
}

func TestInterruptionCost(t *testing.T) {
	for text, want := range map[string]float64{"0.02": 0.02, "0": 0, "1000": 1000} {
		if cost, err := costOf(text).InterruptionCost(); err != nil || cost == nil || *cost != want {
			t.Errorf("%q is %v, %v", text, cost, err)
		}
	}
	if cost, err := (&api.NodePool{}).InterruptionCost(); err != nil || cost != nil {
		t.Errorf("no annotation is %v, %v", cost, err)
	}
	for _, text := range []string{"", "free", "-0.02", "$0.02", "0,02", "NaN", "Inf", "1e3", "1001"} {
		cost, err := costOf(text).InterruptionCost()
		if cost != nil || err == nil {
			t.Errorf("%q is %v, %v", text, cost, err)
			continue
		}
		for _, part := range []string{
			`NodePool "web": metadata.annotations[whittle.dev/interruption-cost]: "` + text + `" `, "counts as the default",
			"write US dollars for each interruption", "0.05",
		} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q: the error %q does not say %q", text, err, part)
			}
		}
	}
}

// Both annotations are told at once, so that nobody mends one to learn of the other.
func TestPriceErrors(t *testing.T) {
	pool := costOf("much")
	pool.Annotations[api.NodeFeeAnnotationKey] = "2 cents"
	err := pool.PriceErrors()
	for _, key := range []string{api.NodeFeeAnnotationKey, api.InterruptionCostAnnotationKey} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error %v does not name %s", err, key)
		}
	}
	if err := costOf("0.02").PriceErrors(); err != nil {
		t.Errorf("a good pool has %v", err)
	}
}

func costOf(text string) *api.NodePool {
	return &api.NodePool{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Annotations: map[string]string{api.InterruptionCostAnnotationKey: text},
	}}
}
