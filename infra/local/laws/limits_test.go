package laws_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/laws"
	"github.com/whittle-dev/whittle/shared/api"
)

func TestWhatLeavesDoesNotCountAgainstLimits(t *testing.T) {
	made := func(name, replaces string) *api.NodeClaim {
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if replaces != "" {
			claim.Annotations = map[string]string{api.ReplacesAnnotationKey: replaces}
		}
		return claim
	}
	leaves := made("leaves", "old")
	leaves.DeletionTimestamp = &metav1.Time{}
	for want, claims := range map[string][]*api.NodeClaim{
		"a,b":    {made("a", ""), made("b", "gone")},
		"new":    {made("old", ""), made("new", "old,other"), made("other", "")},
		"old":    {made("old", ""), leaves},
		"itself": {made("itself", "itself")},
	} {
		var names []string
		for name, stays := range maps.All(laws.Staying(claims)) {
			if stays {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, ","); got != want {
			t.Errorf("%q count, want %q", got, want)
		}
	}
}
