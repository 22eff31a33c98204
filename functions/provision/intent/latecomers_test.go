package intent_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

func TestPodsOfALaterPlanJoinTheListOfANodeOnItsWay(t *testing.T) {
	claim := func(name, list string, change ...func(*api.NodeClaim)) plan.Node {
		made := &api.NodeClaim{}
		made.Name, made.Status.ProviderID = name, "aws:///eu-central-1a/i-"+name
		if list != "" {
			made.Annotations = map[string]string{api.NominatedPodsAnnotationKey: list}
		}
		for _, apply := range change {
			apply(made)
		}
		return plan.Node{NodeClaim: made}
	}
	snapshot := &plan.Snapshot{Nodes: []plan.Node{
		claim("coming", "a"),
		claim("empty", ""),
		claim("joined", "", func(c *api.NodeClaim) {
			c.Status.Conditions = []metav1.Condition{{Type: api.ConditionTypeRegistered, Status: metav1.ConditionTrue}}
		}),
		claim("unlaunched", "", func(c *api.NodeClaim) { c.Status.ProviderID = "" }),
		claim("leaving", "left", func(c *api.NodeClaim) { c.DeletionTimestamp = &metav1.Time{} }),
		claim("of-a-gang", "", func(c *api.NodeClaim) {
			c.Annotations = map[string]string{api.GangAnnotationKey: "default/gang"}
		}),
	}}
	var nominations []plan.Nomination
	for _, n := range [][2]string{
		{"c", "coming"}, {"b", "coming"}, {"a", "coming"}, {"a", "empty"}, {"left", "empty"}, {"", "empty"},
		{"d", "joined"}, {"e", "unlaunched"}, {"f", "leaving"}, {"g", "of-a-gang"}, {"h", ""},
	} {
		nominations = append(nominations, plan.Nomination{
			Pod: plan.PodRef{Namespace: "default", Name: n[0], UID: n[0]}, NodeClaimName: n[1],
		})
	}
	got := map[string]string{}
	for _, one := range intent.Latecomers(snapshot, nominations) {
		got[one.Claim.Name] = one.List
	}
	// A pod whose node leaves is planned again. One that another claim names stays there.
	if want := map[string]string{"coming": "a,b,c", "empty": "left"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got the lists %v, want %v", got, want)
	}
}
