package nodeclass

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	values "github.com/whittle-dev/whittle/shared/kubelet"
)

func TestEachConditionHasKarpentersReason(t *testing.T) {
	number := func(value int32) *int32 { return &value }
	kubelet := func(k api.KubeletConfiguration) func(*api.EC2NodeClass) {
		return func(c *api.EC2NodeClass) { c.Spec.Kubelet = &k }
	}
	both := func(changes ...func(*api.EC2NodeClass)) func(*api.EC2NodeClass) {
		return func(c *api.EC2NodeClass) {
			for _, change := range changes {
				change(c)
			}
		}
	}
	nothing := func(*api.EC2NodeClass) {}
	for _, test := range []struct {
		name                       string
		class                      func(*api.EC2NodeClass)
		facts                      func(*Facts)
		condition, reason, message string
	}{
		{"a tag of the launch's own", func(
			c *api.EC2NodeClass,
		) {
			c.Spec.Tags = map[string]string{"kubernetes.io/cluster/prod": "owned"}
		}, nil,
			api.ConditionTypeValidationSucceeded, api.ReasonTagValidationFailed, "spec.tags[kubernetes.io/cluster/prod]"},
		{"a signal that is none", kubelet(api.KubeletConfiguration{EvictionHard: map[string]string{"disk": "1"}}), nil,
			api.ConditionTypeValidationSucceeded, api.ReasonInvalidKubeletConfiguration, "spec.kubelet.evictionHard[disk]"},
		{"Bottlerocket's missing setting", both(
			family("Bottlerocket"), kubelet(api.KubeletConfiguration{PodsPerCore: number(3)}),
		), nil,
			api.ConditionTypeValidationSucceeded, api.ReasonUnsupportedKubeletConfiguration, "spec.kubelet.podsPerCore"},
		{"a setting that AL2 has no flag for", both(
			family("AL2"),
			kubelet(api.KubeletConfiguration{
				Other: map[string]json.RawMessage{"cpuManagerPolicy": json.RawMessage(`"static"`)},
			}),
		), nil,
			api.ConditionTypeValidationSucceeded, api.ReasonUnsupportedKubeletConfiguration, "spec.kubelet.cpuManagerPolicy"},
		{"an expression", kubelet(
			api.KubeletConfiguration{Other: map[string]json.RawMessage{"maxPods": json.RawMessage(`"vcpus * 10"`)}},
		), nil,
			api.ConditionTypeValidationSucceeded, api.ReasonKubeletExpressionsDisabled,
			"the NodeClassCEL feature gate is disabled: deploy with nodeClassCEL, or write a number or an amount such as 100m " +
				"or 200Mi in spec.kubelet.maxPods"},
		{"an expression without a value", kubelet(
			api.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "1 / 0"}},
		), func(f *Facts) {
			f.Expressions = Expressions{Enabled: true, Evaluation: &values.Evaluation{
				Reason: api.ReasonKubeletExpressionEvaluationFailed, Message: "division by zero",
			}}
		}, api.ConditionTypeValidationSucceeded, api.ReasonKubeletExpressionEvaluationFailed, "division by zero"},
		{"disks that Windows does not join", both(family("Windows2022"), func(c *api.EC2NodeClass) {
			policy := api.InstanceStorePolicyRAID0
			c.Spec.InstanceStorePolicy = &policy
		}), nil, api.ConditionTypeValidationSucceeded, api.ReasonValidationFailed, "spec.instanceStorePolicy"},
		{"a public address with several interfaces", func(c *api.EC2NodeClass) {
			yes := true
			c.Spec.AssociatePublicIPAddress = &yes
			c.Spec.NetworkInterfaces = []api.NetworkInterface{
				{InterfaceType: "interface"}, {DeviceIndex: 1, InterfaceType: "interface"},
			}
		}, nil, api.ConditionTypeValidationSucceeded, api.ReasonValidationFailed, "spec.associatePublicIPAddress"},
		{"17 KB", func(c *api.EC2NodeClass) {
			long := "#!/bin/sh\n" + strings.Repeat("#", 17<<10)
			c.Spec.UserData = &long
		}, nil,
			api.ConditionTypeValidationSucceeded, api.ReasonUserDataSizeLimitExceeded, "shorten spec.userData"},
		{"bad TOML", both(family("Bottlerocket"), func(c *api.EC2NodeClass) { bad := "x"; c.Spec.UserData = &bad }), nil,
			api.ConditionTypeValidationSucceeded, api.ReasonValidationFailed, "spec.userData"},
		{"a cluster without addresses", nothing, func(f *Facts) { f.Cluster.ServiceCIDR = "" },
			api.ConditionTypeValidationSucceeded, api.ReasonClusterCIDRResolutionFailed, "serviceIpv4Cidr"},
		{"nothing to launch into", nothing, func(f *Facts) { f.Subnets = nil },
			api.ConditionTypeValidationSucceeded, api.ReasonDependenciesNotReady, api.ConditionTypeSubnetsReady},
		{"EC2 refuses", nothing, func(f *Facts) {
			f.Authorization = Authorization{
				Asked: true, Problem: Problem{api.ReasonCreateFleetAuthCheckFailed, "not authorized"},
			}
		}, api.ConditionTypeValidationSucceeded, api.ReasonCreateFleetAuthCheckFailed, "not authorized"},
		{"an alias without images", nothing, func(f *Facts) {
			f.Images, f.ImagesProblem = nil,
				Problem{api.ReasonUnsupportedAlias, "no AL2"}
		},
			api.ConditionTypeAMIsReady, api.ReasonUnsupportedAlias, "no AL2"},
		{"no placement group", func(
			c *api.EC2NodeClass,
		) {
			c.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{Name: "x"}
		}, nil,
			api.ConditionTypePlacementGroupReady, api.ReasonPlacementGroupNotFound, "spec.placementGroupSelector"},
		{"a placement group that may not be read", func(
			c *api.EC2NodeClass,
		) {
			c.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{Name: "x"}
		},
			func(f *Facts) {
				f.PlacementGroupProblem = Problem{api.ReasonPlacementGroupResolutionFailed, "denied"}
			},
			api.ConditionTypePlacementGroupReady, api.ReasonPlacementGroupResolutionFailed, "denied"},
		{"reservations that may not be read", func(c *api.EC2NodeClass) {
			c.Spec.CapacityReservationSelectorTerms = []api.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		}, func(f *Facts) { f.CapacityReservationsProblem = Problem{"", "denied"} },
			api.ConditionTypeCapacityReservationsReady, api.ReasonCapacityReservationResolutionFailed, "denied"},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, facts := class("", complete, test.class), found()
			facts.Cluster = join().Cluster
			if test.facts != nil {
				test.facts(&facts)
			}
			status := Resolve(made, facts, time.Now())
			condition := api.GetCondition(status.Conditions, test.condition)
			if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != test.reason ||
				!strings.Contains(condition.Message, test.message) {
				t.Errorf("condition is %+v, want it false for %s with %q", condition, test.reason, test.message)
			}
			if api.ConditionTrue(status.Conditions, api.ConditionReady) {
				t.Error("the class is ready all the same")
			}
		})
	}
}

func TestAClassWaitsForTheValuesOfItsExpressions(t *testing.T) {
	made, facts := class("", complete, func(c *api.EC2NodeClass) {
		c.Spec.Kubelet = &api.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "vcpus * 10"}}
	}), found()
	facts.Cluster = join().Cluster
	facts.Expressions = Expressions{Enabled: true}
	status := Resolve(made, facts, time.Now())
	waits := api.GetCondition(status.Conditions, api.ConditionTypeValidationSucceeded)
	ready := api.GetCondition(status.Conditions, api.ConditionReady)
	if waits.Status != metav1.ConditionUnknown || waits.Reason != api.ReasonDependenciesNotReady ||
		!strings.Contains(waits.Message, "spec.kubelet") || ready.Status != metav1.ConditionUnknown {
		t.Errorf("without values: %+v, %+v", waits, ready)
	}
	facts.Expressions.Evaluation = &values.Evaluation{Types: map[string]values.Values{"m5.large": {}}}
	if status = Resolve(made, facts, time.Now()); !api.ConditionTrue(status.Conditions, api.ConditionReady) {
		t.Errorf("with values: %+v", status.Conditions)
	}
	// Without expressions nobody waits.
	made.Spec.Kubelet.KubeReserved["cpu"] = "100m"
	facts.Expressions = Expressions{}
	if status = Resolve(made, facts, time.Now()); !api.ConditionTrue(status.Conditions, api.ConditionReady) {
		t.Errorf("without expressions: %+v", status.Conditions)
	}
}

func TestADryRunsAnswerStandsUntilTheNext(t *testing.T) {
	made, facts := class("", complete), found()
	now := time.Now()
	reason := func() string {
		made.Status = Resolve(made, facts, now)
		return api.GetCondition(made.Status.Conditions, api.ConditionTypeValidationSucceeded).Reason
	}
	if got := reason(); got != api.ReasonDryRunDisabled || Stale(made) {
		t.Errorf("without a dry run: %s", got)
	}
	facts.Authorization = Authorization{Asked: true, Problem: Problem{api.ReasonRunInstancesAuthCheckFailed, "no"}}
	if got := reason(); got != api.ReasonRunInstancesAuthCheckFailed || !Stale(made) {
		t.Errorf("refused: %s", got)
	}
	facts.Authorization = Authorization{} // lifecycle asks nothing
	if got := reason(); got != api.ReasonRunInstancesAuthCheckFailed {
		t.Errorf("the refusal was forgotten: %s", got)
	}
	facts.Authorization = Authorization{Asked: true}
	if got := reason(); got != api.ConditionTypeValidationSucceeded || Stale(made) {
		t.Errorf("allowed: %s", got)
	}
	facts.Authorization = Authorization{}
	if got := reason(); got != api.ConditionTypeValidationSucceeded {
		t.Errorf("the permission was forgotten: %s", got)
	}
	made.Generation++
	if got := reason(); got != api.ReasonDryRunDisabled {
		t.Errorf("another spec: %s", got)
	}
}

func TestReservationsOfTheStatus(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ends := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(after)} }
	of := func(id, kind string, end *metav1.Time) CapacityReservation {
		return CapacityReservation{CapacityReservation: api.CapacityReservation{ID: id, ReservationType: kind, EndTime: end}}
	}
	facts := found()
	facts.CapacityReservations = []CapacityReservation{
		of("cr-4", api.CapacityReservationTypeCapacityBlock, ends(39*time.Minute)),
		of("cr-1", api.CapacityReservationTypeDefault, nil), of("cr-1", api.CapacityReservationTypeDefault, nil),
		of("cr-2", api.CapacityReservationTypeDefault, ends(time.Minute)),
		of("cr-3", api.CapacityReservationTypeCapacityBlock, ends(41*time.Minute)),
		of("cr-5", api.CapacityReservationTypeDefault, ends(-time.Second)),
	}
	var got []string
	for _, r := range Resolve(class("", complete), facts, now).CapacityReservations {
		got = append(got, r.ID+" "+r.State)
	}
	if text := strings.Join(got, ", "); text != "cr-1 active, cr-2 active, cr-3 active, cr-4 expiring" {
		t.Errorf("reservations are %s", text)
	}
}

func TestAClassThatGoesIsNotReady(t *testing.T) {
	made := class("", complete)
	made.Status = Resolve(made, found(), time.Now())
	made.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if !Stale(made) {
		t.Error("a class that is ready although it is being deleted is not stale")
	}
	made.Status = Resolve(made, found(), time.Now())
	if ready := api.GetCondition(made.Status.Conditions, api.ConditionReady); ready.Status != metav1.ConditionFalse ||
		ready.Reason != api.ReasonNodeClassTerminating {
		t.Errorf("ready is %+v", ready)
	}
	if Stale(made) {
		t.Error("it is resolved again on each pass")
	}
}

func TestAClassWithoutItsPlacementGroupIsNotAskedAbout(t *testing.T) {
	unasked := metav1.Condition{
		Type: api.ConditionTypeValidationSucceeded, Status: metav1.ConditionTrue, Reason: api.ReasonDryRunDisabled,
	}
	for status, want := range map[metav1.ConditionStatus]bool{metav1.ConditionTrue: true, metav1.ConditionFalse: false} {
		group := metav1.Condition{Type: api.ConditionTypePlacementGroupReady, Status: status}
		if got := NeedsAuthorization(api.EC2NodeClassStatus{Conditions: []metav1.Condition{unasked, group}}); got != want {
			t.Errorf("with the group's condition %s it is unasked: %t", status, got)
		}
	}
}
