package rollout_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/rollout"
	"github.com/whittle-dev/whittle/shared/api"
)

// TestOpenRolls has pools of one class, which follows the newest image or not.
func TestOpenRolls(t *testing.T) {
	for name, test := range map[string]struct {
		alias   string
		budgets []api.Budget
		open    bool
	}{
		"everything at once":   {"al2023@latest", []api.Budget{{Nodes: "100%"}}, true},
		"no budget":            {"bottlerocket@latest", nil, true},
		"a tenth":              {"al2023@latest", []api.Budget{{Nodes: "10%"}}, false},
		"five":                 {"al2023@latest", []api.Budget{{Nodes: "100%"}, {Nodes: "5"}}, false},
		"a budget for drift":   {"al2023@latest", []api.Budget{{Nodes: "100%"}, {Nodes: "1", Reasons: []api.DisruptionReason{"Drifted"}}}, false},
		"a budget for another": {"al2023@latest", []api.Budget{{Nodes: "0", Reasons: []api.DisruptionReason{"Empty"}}}, true},
		"a version":            {"al2023@v20261120", []api.Budget{{Nodes: "100%"}}, false},
		"a broken budget":      {"al2023@latest", []api.Budget{{Nodes: "many"}}, false},
	} {
		class := api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
		class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: test.alias}}
		pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
		pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "c"}
		pool.Spec.Disruption.Budgets = test.budgets
		other := pool
		other.Name, other.Spec.Template.Spec.NodeClassRef = "other", &api.NodeClassReference{Name: "gone"}
		got := rollout.Open([]api.NodePool{pool, other}, []api.EC2NodeClass{class}, time.Unix(0, 0))
		if (len(got) == 1) != test.open || len(got) > 1 {
			t.Errorf("%s: %q, want a warning: %t", name, got, test.open)
		}
		if test.open && len(got) == 1 && !strings.Contains(got[0], `NodePool "p" at once`) {
			t.Errorf("%s: %q", name, got[0])
		}
	}
}
