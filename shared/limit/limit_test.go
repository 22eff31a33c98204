package limit_test

import (
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func quota(name string, selector *metav1.LabelSelector) api.CapacityQuota {
	made := api.CapacityQuota{}
	made.Name, made.Spec.Selector = name, selector
	made.Spec.Limits.Resources = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8")}
	return made
}

func TestAFaultyQuotaBoundsNothingAndSaysSo(t *testing.T) {
	broken := quota("broken", &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Near", Values: []string{"red"}}},
	})
	unread := quota("unread", nil)
	unread.Unreadable = map[string]string{"spec.selector.matchLabels.team": "a number"}
	partly := quota("partly", nil)
	partly.Unreadable = map[string]string{"spec.limits.resources.memory": "1e1.5"}
	empty := quota("empty", nil)
	empty.Spec.Limits.Resources = nil
	quotas := []api.CapacityQuota{quota("fine", nil), broken, unread, partly, empty}

	var bounding []string
	for _, l := range limit.Of(nil, limit.OfQuotas(quotas)) {
		bounding = append(bounding, l.Owner())
	}
	want := ` of capacityquota "fine",  of capacityquota "partly"`
	if got := strings.Join(bounding, ", "); got != want {
		t.Errorf("limits are%s, want%s", got, want)
	}
	says := map[string]string{
		"broken": "spec.selector.matchExpressions", "unread": "bounds nothing", "partly": "spec.limits.resources.memory",
		"empty": "spec.limits.resources is empty",
	}
	faults := limit.Faults(quotas)
	if len(faults) != len(says) {
		t.Errorf("%d faults, want %d", len(faults), len(says))
	}
	for _, fault := range faults {
		if !strings.Contains(fault.Message, says[fault.Quota.Name]) {
			t.Errorf("the fault of %s is %q, want %q in it", fault.Quota.Name, fault.Message, says[fault.Quota.Name])
		}
	}
}

// offerings are one of each capacity type, the spot one at half the price.
func offerings(price float64) []catalog.Offering {
	return []catalog.Offering{
		{Zone: "a", CapacityType: api.CapacityTypeOnDemand, Price: price, Available: true},
		{Zone: "a", CapacityType: api.CapacityTypeSpot, Price: price / 2, Available: true},
	}
}

func types() limit.Types {
	arm := scheduling.FromLabels(map[string]string{corev1.LabelArchStable: "arm64"})
	intel := scheduling.FromLabels(map[string]string{corev1.LabelArchStable: "amd64"})
	return limit.Types{"web": {
		{Name: "small", Offerings: offerings(1), Requirements: arm},
		{Name: "large", Offerings: offerings(3), Requirements: intel},
	}}
}

// claim is one that may become these types.
func claim(names ...string) *api.NodeClaim {
	made := &api.NodeClaim{}
	made.Labels = map[string]string{api.NodePoolLabelKey: "web"}
	made.Spec.Requirements = append(made.Spec.Requirements, api.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: names,
	})
	return made
}

func TestANodeCountsWithTheMostThatItMayCost(t *testing.T) {
	spot := claim("small", "large")
	spot.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeSpot
	unknown := claim("huge")
	for name, test := range map[string]struct {
		node plan.Node
		want float64
	}{
		"one type":               {plan.Node{NodeClaim: claim("small")}, 1},
		"two types":              {plan.Node{NodeClaim: claim("small", "large")}, 3},
		"two types of spot":      {plan.Node{NodeClaim: spot}, 1.5},
		"a type without a price": {plan.Node{NodeClaim: unknown}, 0},
		"a known price":          {plan.Node{NodeClaim: claim("small"), PricePerHour: 0.25}, 0.25},
		"no claim":               {plan.Node{Node: &corev1.Node{}}, 0},
	} {
		if got := limit.Price(&test.node, types()); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: $%v/h, want $%v/h", name, got, test.want)
		}
	}
}

// TestNoBillHasTheRisk has a spot offering of $1.50 an hour, a third of which is for interruptions.
func TestNoBillHasTheRisk(t *testing.T) {
	types := limit.Types{"web": {{Name: "small", Offerings: []catalog.Offering{{
		Zone: "a", CapacityType: api.CapacityTypeSpot, Price: 1.5, Risk: 0.5, Available: true,
	}}}}}
	if got := limit.Price(&plan.Node{NodeClaim: claim("small")}, types); math.Abs(got-1) > 1e-9 {
		t.Errorf("it counts with $%v/h, want $1/h", got)
	}
	of := &types["web"][0]
	if got := limit.ListPrice(of, &of.Offerings[0]); math.Abs(got-1) > 1e-9 {
		t.Errorf("a new node takes $%v/h, want $1/h", got)
	}
}

func TestTheSelectorDecidesWhichNodesCount(t *testing.T) {
	labelled := func(labels map[string]string) *corev1.Node {
		made := &corev1.Node{}
		made.Labels = labels
		return made
	}
	select1 := func(key, value string) *limit.Limit {
		return limit.Of(nil, limit.OfQuotas([]api.CapacityQuota{
			quota("q", &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}),
		}))[0]
	}
	red, blue := labelled(map[string]string{"team": "red"}), labelled(map[string]string{"team": "blue"})
	redClaim := claim("small")
	redClaim.Labels["team"] = "red"
	ofTeam, ofIntel := select1("team", "red"), select1(corev1.LabelArchStable, "amd64")
	all := limit.Of(nil, limit.OfQuotas([]api.CapacityQuota{quota("q", nil)}))[0]
	ceiling := limit.Of(nil, []plan.Limit{limit.OfCluster(1)})[0]
	for name, test := range map[string]struct {
		limit *limit.Limit
		node  plan.Node
		want  bool
	}{
		"a node of the label":              {ofTeam, plan.Node{Node: red}, true},
		"a node without it":                {ofTeam, plan.Node{Node: labelled(nil)}, false},
		"the claim decides, not its node":  {ofTeam, plan.Node{NodeClaim: redClaim, Node: blue}, true},
		"a claim that may become the type": {ofIntel, plan.Node{NodeClaim: claim("small", "large")}, true},
		"a claim that may not":             {ofIntel, plan.Node{NodeClaim: claim("small")}, false},
		"all nodes, no claim":              {all, plan.Node{Node: labelled(nil)}, true},
		"the ceiling, no claim":            {ceiling, plan.Node{Node: labelled(nil)}, false},
		"the ceiling, a claim":             {ceiling, plan.Node{NodeClaim: claim("small")}, true},
	} {
		if got := test.limit.Counts(&test.node, types()); got != test.want {
			t.Errorf("%s: counts %v, want %v", name, got, test.want)
		}
	}
}
