package nodeclaim

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestUrgentViewsComeFirst(t *testing.T) {
	drained := with(api.ConditionTypeDrained, metav1.ConditionTrue, time.Second)
	for _, test := range []struct {
		name string
		make []func(*api.NodeClaim)
		want int
	}{
		{"pods have to leave", []func(*api.NodeClaim){initialized, deleted(time.Second)}, 0},
		{"the end of a claim that was never launched", []func(*api.NodeClaim){unlaunched, deleted(time.Second)}, 0},
		{"a node is to join", nil, 1},
		{"a drain goes on", []func(*api.NodeClaim){initialized, deleted(time.Second),
			with(api.ConditionTypeDrained, metav1.ConditionUnknown, time.Second)}, 2},
		{"a drained node ends", []func(*api.NodeClaim){initialized, deleted(time.Second), drained}, 1},
		{"a node is rebooted", []func(*api.NodeClaim){initialized,
			with(api.ConditionTypeRebooting, metav1.ConditionTrue, time.Second)}, 1},
		{"a node that was rebooted", []func(*api.NodeClaim){initialized,
			with(api.ConditionTypeRebooting, metav1.ConditionFalse, time.Second)}, 3},
		{"a node that runs", []func(*api.NodeClaim){initialized}, 3},
	} {
		if got := (&View{Claim: claim(test.make...)}).Urgency(); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestTheDrainThatWasOrderedFirstComesFirst(t *testing.T) {
	longAgo, lately, joins := View{Claim: claim(initialized, deleted(time.Minute))}, View{Claim: claim(initialized,
		deleted(time.Second))}, View{Claim: claim()}
	if longAgo.Compare(lately) >= 0 || lately.Compare(longAgo) <= 0 || lately.Compare(lately) != 0 {
		t.Error("not by the time of the order")
	}
	if lately.Compare(joins) >= 0 || joins.Compare(longAgo) <= 0 {
		t.Error("not by urgency first")
	}
	goesOn := View{Claim: claim(initialized, deleted(time.Minute),
		with(api.ConditionTypeDrained, metav1.ConditionUnknown, time.Second))}
	if joins.Compare(goesOn) >= 0 || goesOn.Compare(joins) <= 0 {
		t.Error("a node that joins waits for drains that may have no end")
	}
}

func TestPodsAreReadExceptWhileTheInstanceTerminates(t *testing.T) {
	told := []func(*api.NodeClaim){initialized, deleted(time.Minute),
		with(api.ConditionTypeInstanceTerminating, metav1.ConditionTrue, time.Second)}
	listed := func(state string) []Instance { return []Instance{{ID: "i-1", State: state}} }
	for _, test := range []struct {
		name string
		view View
		want bool
	}{
		{"a drain", View{Claim: claim(initialized, deleted(time.Second)), InstancesListed: true,
			Instances: listed("running")}, true},
		{"terminated and still running", View{Claim: claim(told...), InstancesListed: true, Instances: listed("running")},
			false},
		{"shutting down", View{Claim: claim(told...), InstancesListed: true, Instances: listed("shutting-down")}, false},
		{"EC2 does not answer", View{Claim: claim(told...)}, false},
		{"stopped by somebody else", View{Claim: claim(told...), InstancesListed: true, Instances: listed("stopped")}, true},
		{"not listed", View{Claim: claim(told...), InstancesListed: true}, false},
		{"not known", View{Claim: claim(told...), Absent: true}, true},
		{"a node that runs", View{Claim: claim(initialized)}, false},
		{"a drain before a reboot", View{Claim: ordered(time.Second, "5m0s")}, true},
		{"a reboot", View{Claim: ordered(time.Minute, "5m0s", issued(time.Second))}, false},
	} {
		if got := test.view.WantsPods(); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
