package nodeclass

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func found() Facts {
	old, young := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return Facts{
		Subnets: []Subnet{
			{ID: "subnet-1", Zone: "us-east-1a", FreeAddresses: 10},
			{ID: "subnet-2", Zone: "us-east-1b", FreeAddresses: 90, PublicIPv4: true},
			{ID: "subnet-1", Zone: "us-east-1a", FreeAddresses: 10}, // selected by two terms
		},
		SecurityGroups: []api.SecurityGroup{{ID: "sg-1"}, {ID: "sg-1"}},
		Images: []Image{
			{ID: "ami-old", Architecture: "amd64", Created: old},
			{ID: "ami-young", Architecture: "amd64", Created: young},
			{ID: "ami-deprecated", Architecture: "amd64", Created: young.AddDate(1, 0, 0), Deprecated: true},
			{ID: "ami-arm", Architecture: "arm64", Created: old, Variants: []Variant{VariantStandard}},
			{ID: "ami-mac", Architecture: "", Created: young},
		},
		InstanceProfile: "profile",
	}
}

func TestAResolvedClassIsReady(t *testing.T) {
	class := class("", complete)
	if !Stale(class) {
		t.Error("a class that was never resolved is not stale")
	}
	status := Resolve(class, found(), time.Now())
	if len(status.Subnets) != 2 || status.Subnets[0].ID != "subnet-2" ||
		!status.Subnets[0].PublicIPv4 || status.Subnets[1].PublicIPv4 {
		t.Errorf("subnets are %v, want each once and the emptiest first", status.Subnets)
	}
	if len(status.SecurityGroups) != 1 {
		t.Errorf("groups are %v", status.SecurityGroups)
	}
	var images []string
	for _, image := range status.AMIs {
		images = append(images, image.ID)
	}
	if strings.Join(images, " ") != "ami-arm ami-young" {
		t.Errorf("images are %v, want the newest of each architecture that is not deprecated", images)
	}
	if !api.ConditionTrue(status.Conditions, api.ConditionReady) {
		t.Errorf("not ready: %+v", status.Conditions)
	}
	class.Status = status
	if Stale(class) {
		t.Error("a resolved class is stale")
	}
	class.Generation++
	if !Stale(class) {
		t.Error("a class whose spec has changed is not stale")
	}
}

// TestSubnetsOfOutpostsAreLeftOutAndNamed has a subnet with the name of a zone of the region.
func TestSubnetsOfOutpostsAreLeftOutAndNamed(t *testing.T) {
	facts := found()
	for i := range facts.Subnets {
		facts.Subnets[i].OutpostARN = "arn:aws:outposts:us-east-1:123456789012:outpost/op-1"
	}
	racks := facts.Subnets
	facts.Subnets = append([]Subnet{{ID: "subnet-9", Zone: "us-east-1a", FreeAddresses: 1}}, racks...)
	for _, test := range []struct {
		subnets []Subnet
		want    metav1.ConditionStatus
	}{{facts.Subnets, metav1.ConditionTrue}, {racks, metav1.ConditionFalse}} {
		facts.Subnets = test.subnets
		status := Resolve(class("", complete), facts, time.Now())
		for _, subnet := range status.Subnets {
			if subnet.ID != "subnet-9" {
				t.Errorf("%s of an Outpost is launched into", subnet.ID)
			}
		}
		got := api.GetCondition(status.Conditions, api.ConditionTypeSubnetsReady)
		if got.Status != test.want || !strings.Contains(got.Message, "Outposts are not supported") ||
			!strings.Contains(got.Message, racks[0].ID) {
			t.Errorf("of %d subnets: %+v", len(test.subnets), got)
		}
	}
}

func TestNothingUnverifiedIsStored(t *testing.T) {
	facts := found()
	facts.CapacityReservations = []CapacityReservation{{}}
	facts.PlacementGroup = &api.PlacementGroup{}
	for _, problem := range []*Problem{
		&facts.SubnetsProblem, &facts.SecurityGroupsProblem, &facts.ImagesProblem, &facts.InstanceProfileProblem,
		&facts.CapacityReservationsProblem, &facts.PlacementGroupProblem,
	} {
		problem.Message = "AccessDenied"
	}
	status := Resolve(class("", complete), facts, time.Now())
	status.Conditions = nil
	if !equality.Semantic.DeepEqual(status, api.EC2NodeClassStatus{}) {
		t.Errorf("stored is %+v", status)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for _, test := range []struct {
		name      string
		change    func(*Facts)
		condition string
		message   string
	}{
		{"no subnets", func(f *Facts) { f.Subnets = nil }, api.ConditionTypeSubnetsReady, "spec.subnetSelectorTerms"},
		{
			"no groups", func(f *Facts) { f.SecurityGroups = nil }, api.ConditionTypeSecurityGroupsReady,
			"spec.securityGroupSelectorTerms",
		},
		{"no images", func(f *Facts) { f.Images = nil }, api.ConditionTypeAMIsReady, "spec.amiSelectorTerms"},
		{"EC2 said no", func(f *Facts) { f.Images = nil; f.ImagesProblem.Message = "not authorized" },
			api.ConditionTypeAMIsReady, "not authorized"},
		{"no profile", func(f *Facts) { f.InstanceProfile = "" }, api.ConditionTypeInstanceProfileReady, "spec.role"},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts := found()
			test.change(&facts)
			status := Resolve(class(""), facts, time.Now())
			condition := api.GetCondition(status.Conditions, test.condition)
			if condition == nil || condition.Status != metav1.ConditionFalse ||
				!strings.Contains(condition.Message, test.message) {
				t.Errorf("condition is %+v", condition)
			}
			if api.ConditionTrue(status.Conditions, api.ConditionReady) {
				t.Error("the class is ready all the same")
			}
		})
	}
}

// complete gives the class the fields that every class needs.
func complete(c *api.EC2NodeClass) {
	c.Spec.Role = "node"
	c.Spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	c.Spec.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{{Tags: map[string]string{"a": "b"}}}
	c.Generation = 3
	c.Default()
}
