package nodeclass

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestARefusedLaunchStands holds each way in which a word about a class may end.
func TestARefusedLaunchStands(t *testing.T) {
	began := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	good := func() Facts {
		return Facts{
			Subnets:        []Subnet{{ID: "subnet-1", FreeAddresses: 10}, {ID: "subnet-2", FreeAddresses: 20}},
			SecurityGroups: []api.SecurityGroup{{ID: "sg-1"}}, Images: []Image{{ID: "ami-1", Architecture: "amd64"}},
			InstanceProfile: "nodes",
			Authorization:   Authorization{Asked: true},
		}
	}
	resolved := func(class *api.EC2NodeClass, facts Facts, now time.Time) *api.EC2NodeClass {
		class.Status = Resolve(class, facts, now)
		return class
	}
	refusal := func(conditionType string) Refusal {
		return Refusal{Condition: conditionType, Reason: api.ReasonLaunchRefused, Message: "gone (mend it)"}
	}
	refused := func(conditionType string) *api.EC2NodeClass {
		made := class("")
		complete(made)
		made.Generation = 1
		resolved(made, good(), began)
		if !api.ConditionTrue(made.Status.Conditions, api.ConditionReady) || !Launchable(made) {
			t.Fatalf("the class is not ready: %+v", made.Status.Conditions)
		}
		var changed bool
		if made.Status.Conditions, changed = Refuse(made, refusal(conditionType), began); !changed {
			t.Fatal("nothing has changed")
		}
		return made
	}
	for _, conditionType := range []string{
		api.ConditionTypeSubnetsReady, api.ConditionTypeAMIsReady, api.ConditionTypeSecurityGroupsReady,
		api.ConditionTypeInstanceProfileReady, api.ConditionTypeValidationSucceeded,
	} {
		for _, test := range []struct {
			name   string
			after  time.Duration
			change func(*api.EC2NodeClass, *Facts)
			stands bool
		}{
			{"as it is", time.Minute, func(*api.EC2NodeClass, *Facts) {}, true},
			{
				"with other free addresses", time.Minute,
				func(_ *api.EC2NodeClass, f *Facts) { f.Subnets[0].FreeAddresses = 30 }, true,
			},
			{
				"when nobody has asked", time.Minute,
				func(_ *api.EC2NodeClass, f *Facts) { f.Authorization = Authorization{} }, true,
			},
			{"just before its time is over", RefusalHolds - time.Second, func(*api.EC2NodeClass, *Facts) {}, true},
			{"when its time is over", RefusalHolds, func(*api.EC2NodeClass, *Facts) {}, false},
			{"after a change of the spec", time.Minute, func(c *api.EC2NodeClass, _ *Facts) { c.Generation++ }, false},
			{"with another subnet", time.Minute, func(_ *api.EC2NodeClass, f *Facts) { f.Subnets = f.Subnets[1:] }, false},
			{"with another group", time.Minute, func(_ *api.EC2NodeClass, f *Facts) { f.SecurityGroups[0].ID = "sg-2" }, false},
			{"with another image", time.Minute, func(_ *api.EC2NodeClass, f *Facts) { f.Images[0].ID = "ami-2" }, false},
			{"with another profile", time.Minute, func(_ *api.EC2NodeClass, f *Facts) { f.InstanceProfile = "others" }, false},
			{
				"after a launch", time.Minute,
				func(c *api.EC2NodeClass, _ *Facts) { c.Status.Conditions, _ = ClearRefusals(c, began) }, false,
			},
		} {
			t.Run(conditionType+" "+test.name, func(t *testing.T) {
				made, facts := refused(conditionType), good()
				test.change(made, &facts)
				resolved(made, facts, began.Add(test.after))
				got := api.GetCondition(made.Status.Conditions, conditionType)
				if stands := got.Status == metav1.ConditionFalse; stands != test.stands ||
					stands == api.ConditionTrue(made.Status.Conditions, api.ConditionReady) {
					t.Fatalf("%+v", made.Status.Conditions)
				}
				if test.stands &&
					(got.Reason != api.ReasonLaunchRefused || got.Message != "gone (mend it)" ||
						!got.LastTransitionTime.Time.Equal(began)) {
					t.Errorf("%+v", got)
				}
				if !Launchable(made) {
					t.Error("what was planned is not tried again")
				}
			})
		}
	}
	t.Run("told twice it is one word, and its time does not begin anew", func(t *testing.T) {
		made := refused(api.ConditionTypeSubnetsReady)
		if _, changed := Refuse(made, refusal(api.ConditionTypeSubnetsReady), began.Add(time.Minute)); changed {
			t.Error("it is written again")
		}
	})
	t.Run("what is found to be wrong comes first", func(t *testing.T) {
		made, facts := refused(api.ConditionTypeSubnetsReady), good()
		facts.Subnets = nil
		resolved(made, facts, began.Add(time.Minute))
		if got := api.GetCondition(
			made.Status.Conditions, api.ConditionTypeSubnetsReady,
		); got.Reason != api.ReasonSubnetsNotFound || Launchable(made) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a class that was never refused is not absolved", func(t *testing.T) {
		made := class("")
		complete(made)
		if _, changed := ClearRefusals(resolved(made, good(), began), began); changed {
			t.Error("it is written")
		}
	})
}

// TestAnInstanceThatEndsRefusesTheClass is about instances that EC2 launches and ends at once. A
// further launch proves nothing then.
func TestAnInstanceThatEndsRefusesTheClass(t *testing.T) {
	began := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	facts := Facts{
		Subnets: []Subnet{{ID: "subnet-1"}}, SecurityGroups: []api.SecurityGroup{{ID: "sg-1"}},
		Images: []Image{{ID: "ami-1", Architecture: "amd64"}}, InstanceProfile: "nodes",
		Authorization: Authorization{Asked: true},
	}
	made := class("")
	complete(made)
	made.Generation = 1
	made.Status = Resolve(made, facts, began)
	launched := func(class *api.EC2NodeClass) *api.NodeClaim {
		hash, err := Hash(class, []byte("ca"))
		if err != nil {
			t.Fatal(err)
		}
		return &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			api.AnnotationEC2NodeClassHash: hash, api.AnnotationEC2NodeClassHashVersion: api.EC2NodeClassHashVersion,
		}}}
	}
	claim := launched(made)
	refused := func(class *api.EC2NodeClass, now time.Time) bool {
		conditions, changed, err := RefuseEnded(class, claim, []byte("ca"), "the key is disabled", now)
		if err != nil {
			t.Fatal(err)
		}
		class.Status.Conditions = conditions
		return changed
	}
	if !refused(made, began) {
		t.Fatal("nothing has changed")
	}
	got := api.GetCondition(made.Status.Conditions, api.ConditionTypeValidationSucceeded)
	if got.Status != metav1.ConditionFalse || got.Reason != api.ReasonInstanceEnded || got.Message != "the key is disabled" ||
		api.ConditionTrue(made.Status.Conditions, api.ConditionReady) {
		t.Errorf("%+v", made.Status.Conditions)
	}
	if refused(made, began.Add(time.Second)) {
		t.Error("the second instance of a batch writes the class again")
	}
	if _, changed := ClearRefusals(made, began.Add(time.Minute)); changed {
		t.Error("a launch clears the refusal, although its instance may end as well")
	}
	for _, test := range []struct {
		after time.Duration
		ready bool
	}{{time.Minute, false}, {RefusalHolds - time.Second, false}, {RefusalHolds, true}} {
		after := *made
		after.Status = Resolve(made, facts, began.Add(test.after))
		if ready := api.ConditionTrue(after.Status.Conditions, api.ConditionReady); ready != test.ready {
			t.Errorf("after %s the class is ready: %t", test.after, ready)
		}
	}
	corrected := made.DeepCopy()
	corrected.Generation, corrected.Spec.UserData = 2, pointer("#!/bin/sh")
	corrected.Status = Resolve(corrected, facts, began.Add(time.Minute))
	if refused(corrected, began.Add(time.Minute)) || !api.ConditionTrue(corrected.Status.Conditions, api.ConditionReady) {
		t.Error("an instance of the earlier spec refuses the corrected class")
	}
}
