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
