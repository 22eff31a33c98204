package nodeclass_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

func TestNotReady(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: "Because", Message: message}
	}
	subnets := condition(api.ConditionTypeSubnetsReady, metav1.ConditionFalse, "no subnet: check the tags")
	images := condition(api.ConditionTypeAMIsReady, metav1.ConditionFalse, "")
	valid := condition(api.ConditionTypeValidationSucceeded, metav1.ConditionUnknown, "EC2 is asked")
	ready := condition(api.ConditionReady, metav1.ConditionFalse, "SubnetsReady=False")
	for _, test := range []struct {
		name       string
		conditions []metav1.Condition
		want       string
	}{
		{"nothing is known", nil, "it has not been resolved yet, which takes a minute"},
		{
			"false conditions with their messages", []metav1.Condition{ready, subnets, valid, images},
			"SubnetsReady: no subnet: check the tags; AMIsReady: Because",
		},
		{"an unknown condition", []metav1.Condition{ready, valid}, "ValidationSucceeded: EC2 is asked"},
		{"only Ready", []metav1.Condition{ready}, "SubnetsReady=False"},
	} {
		t.Run(test.name, func(t *testing.T) {
			class := &api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
			class.Status.Conditions = test.conditions
			if got, want := nodeclass.NotReady(class), `EC2NodeClass "c" is not ready: `+test.want; got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}
