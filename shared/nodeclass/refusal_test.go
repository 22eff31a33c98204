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
	refused := func(conditionType string) *api.EC2NodeClass {
		made := class("")
		complete(made)
		made.Generation = 1
		resolved(made, good(), began)
		if !api.ConditionTrue(made.Status.Conditions, api.ConditionReady) || !Launchable(made) {
			t.Fatalf("the class is not ready: %+v", made.Status.Conditions)
		}
		var changed bool
		if made.Status.Conditions, changed = Refuse(made, conditionType, "gone (mend it)", began); !changed {
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
			{"just before its time is over", refusalHolds - time.Second, func(*api.EC2NodeClass, *Facts) {}, true},
			{"when its time is over", refusalHolds, func(*api.EC2NodeClass, *Facts) {}, false},
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
		if _, changed := Refuse(made, api.ConditionTypeSubnetsReady, "gone (mend it)", began.Add(time.Minute)); changed {
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
