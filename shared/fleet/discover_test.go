package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (a *account) discoverer() *fleet.Discoverer {
	return &fleet.Discoverer{
		EC2: a.ec2, SSM: a.ssm, Profiles: fleet.Profiles{IAM: a.iam, Cluster: "prod", Region: region}, Kubernetes: kubernetes,
		Now: time.Now(),
	}
}

// class is one as Karpenter's guide has it.
func class() *api.EC2NodeClass {
	class := &api.EC2NodeClass{}
	class.Name = "default"
	class.Spec.Role = "nodes"
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latest"}}
	class.Spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "prod"}}}
	class.Spec.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{
		{Tags: map[string]string{"karpenter.sh/discovery": "prod"}},
	}
	return class
}

func discover(t *testing.T, a *account, class *api.EC2NodeClass) nodeclass.Facts {
	t.Helper()
	facts, err := a.discoverer().Discover(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func TestDiscoverFindsWhatTheClassSelects(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	facts := discover(t, a, class())
	if problems(facts) != "" {
		t.Fatalf("problems: %+v", facts)
	}
	zones := map[string]string{}
	for _, subnet := range facts.Subnets {
		zones[subnet.Zone] = subnet.ZoneID
		if subnet.ID == "" || subnet.FreeAddresses <= 0 {
			t.Errorf("subnet %+v", subnet)
		}
	}
	if len(zones) != 3 || zones["us-east-1a"] != "use1-az1" || zones["us-east-1c"] != "use1-az3" {
		t.Errorf("zones are %v", zones)
	}
	if len(facts.SecurityGroups) != 1 || facts.SecurityGroups[0].ID != a.group(t) || facts.SecurityGroups[0].Name == "" {
		t.Errorf("security groups are %+v", facts.SecurityGroups)
	}
	for _, want := range []struct {
		architecture, kubernetes string
	}{{"x86_64", "amd64"}, {"arm64", "arm64"}} {
		if !slices.ContainsFunc(facts.Images, func(image nodeclass.Image) bool {
			return image.ID == a.image(t, want.architecture) && image.Architecture == want.kubernetes &&
				slices.Contains(image.Variants, nodeclass.VariantStandard) && !image.Created.IsZero()
		}) {
			t.Errorf("no standard image for %s among %+v", want.kubernetes, facts.Images)
		}
	}
	status := nodeclass.Resolve(class(), facts, time.Now())
	for _, condition := range []string{
		api.ConditionTypeSubnetsReady, api.ConditionTypeSecurityGroupsReady, api.ConditionTypeAMIsReady,
		api.ConditionTypeInstanceProfileReady,
	} {
		if !api.ConditionTrue(status.Conditions, condition) {
			t.Errorf("%s: %+v", condition, api.GetCondition(status.Conditions, condition))
		}
	}
}

// Who may write a parameter of the account must not choose an image of another account for all nodes.
func TestAnOwnParameterNamesAnImageOfTheAccount(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	image := func(name, owner string) string {
		id, err := a.service.RegisterImage(ec2.Image{
			Name: name, Family: ec2.FamilyAL2023, Architecture: "arm64", OwnerID: owner, Public: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	own, foreign := image("golden", ""), image("golden", "999999999999")
	for _, test := range []struct {
		name, parameter, value, owner string
		found                         bool
	}{
		{"an image of the account", "/images/golden", own, "", true},
		{"one of Amazon", "/images/amazon", a.image(t, "arm64"), "", true},
		{"one of another account", "/images/foreign", foreign, "", false},
		{"one of another account in a name like AWS's", "/mine/aws/service/foreign", foreign, "", false},
		{"one of another account that the term names", "/images/named", foreign, "999999999999", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			a.parameters.Set(test.parameter, test.value)
			changed := class()
			changed.Spec.AMIFamily = aws.String("AL2023")
			changed.Spec.AMISelectorTerms = []api.AMISelectorTerm{{SSMParameter: test.parameter, Owner: test.owner}}
			facts := discover(t, a, changed)
			if found := len(facts.Images) == 1; found != test.found {
				t.Errorf("images %+v", facts.Images)
			}
			if message := facts.ImagesProblem.Message; !test.found && (!strings.Contains(message, test.parameter) ||
				!strings.Contains(message, "name the owner")) {
				t.Errorf("problem %q", message)
			}
		})
	}
}

func TestDiscoverBySelectorsOfEachKind(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	subnets, standard := a.subnets(t), a.image(t, "arm64")
	name := ""
	for _, image := range discover(t, a, class()).Images {
		if image.ID == standard {
			name = image.Name
		}
	}
	parameter := "/aws/service/eks/optimized-ami/" + kubernetes + "/amazon-linux-2023/arm64/standard/recommended/image_id"
	for _, test := range []struct {
		name   string
		change func(*api.EC2NodeClassSpec)
		check  func(nodeclass.Facts) bool
	}{
		{"a subnet by id", func(spec *api.EC2NodeClassSpec) {
			spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{ID: subnets["us-east-1b"]}}
		},
			func(facts nodeclass.Facts) bool {
				return len(facts.Subnets) == 1 && facts.Subnets[0].Zone == "us-east-1b"
			}},
		{"subnets by any value of a tag", func(spec *api.EC2NodeClassSpec) {
			spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "*"}}}
		}, func(facts nodeclass.Facts) bool { return len(facts.Subnets) == 3 }},
		{"subnets by another cluster's tag", func(spec *api.EC2NodeClassSpec) {
			spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "staging"}}}
		}, func(facts nodeclass.Facts) bool { return len(facts.Subnets) == 0 && facts.SubnetsProblem.Message == "" }},
		{"subnets by two tags of which one is missing", func(spec *api.EC2NodeClassSpec) {
			spec.SubnetSelectorTerms = []api.SubnetSelectorTerm{
				{Tags: map[string]string{"karpenter.sh/discovery": "prod", "tier": "private"}},
			}
		}, func(facts nodeclass.Facts) bool { return len(facts.Subnets) == 0 && facts.SubnetsProblem.Message == "" }},
		{"a group by id", func(spec *api.EC2NodeClassSpec) {
			spec.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{{ID: a.group(t)}}
		}, func(facts nodeclass.Facts) bool { return len(facts.SecurityGroups) == 1 }},
		{"a group by name", func(spec *api.EC2NodeClassSpec) {
			spec.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{{Name: "no such group"}}
		}, func(facts nodeclass.Facts) bool {
			return len(facts.SecurityGroups) == 0 && facts.SecurityGroupsProblem.Message == ""
		}},
		{"an image by id", func(spec *api.EC2NodeClassSpec) { spec.AMISelectorTerms = []api.AMISelectorTerm{{ID: standard}} },
			func(facts nodeclass.Facts) bool { return oneImage(facts, standard) }},
		{"an image by name", func(spec *api.EC2NodeClassSpec) { spec.AMISelectorTerms = []api.AMISelectorTerm{{Name: name}} },
			func(facts nodeclass.Facts) bool { return oneImage(facts, standard) }},
		{"an image by parameter", func(spec *api.EC2NodeClassSpec) {
			spec.AMISelectorTerms = []api.AMISelectorTerm{{SSMParameter: parameter}}
		}, func(facts nodeclass.Facts) bool { return oneImage(facts, standard) }},
		{"more parameters than SSM reads at once", func(spec *api.EC2NodeClassSpec) {
			spec.AMISelectorTerms = []api.AMISelectorTerm{{SSMParameter: parameter}}
			for i := range 11 {
				spec.AMISelectorTerms = append(
					spec.AMISelectorTerms, api.AMISelectorTerm{SSMParameter: "/aws/service/nothing/" + string(rune('a'+i))},
				)
			}
		}, func(facts nodeclass.Facts) bool { return oneImage(facts, standard) }},
		{"a parameter that does not exist", func(spec *api.EC2NodeClassSpec) {
			spec.AMISelectorTerms = []api.AMISelectorTerm{{SSMParameter: "/aws/service/nothing"}}
		}, func(facts nodeclass.Facts) bool {
			return strings.Contains(facts.ImagesProblem.Message, "spec.amiSelectorTerms") &&
				strings.Contains(facts.ImagesProblem.Message, "/aws/service/nothing")
		}},
		{"an image by a name that nobody has", func(
			spec *api.EC2NodeClassSpec,
		) {
			spec.AMISelectorTerms = []api.AMISelectorTerm{{Name: "nothing-*"}}
		},
			func(facts nodeclass.Facts) bool { return len(facts.Images) == 0 && facts.ImagesProblem.Message == "" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := class()
			changed.Spec.AMIFamily = aws.String("AL2023")
			test.change(&changed.Spec)
			if facts := discover(t, a, changed); !test.check(facts) {
				t.Errorf("facts are %+v", facts)
			}
		})
	}
}

func problems(facts nodeclass.Facts) string {
	return facts.SubnetsProblem.Message + facts.SecurityGroupsProblem.Message + facts.ImagesProblem.Message +
		facts.InstanceProfileProblem.Message +
		facts.CapacityReservationsProblem.Message + facts.PlacementGroupProblem.Message
}

// oneImage: one that is not an alias's is of no variant that is known.
func oneImage(facts nodeclass.Facts, id string) bool {
	return len(facts.Images) == 1 && facts.Images[0].ID == id && len(facts.Images[0].Variants) == 0 &&
		facts.Images[0].Architecture == "arm64"
}

func TestASubnetMayGivePublicAddresses(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	public := discover(t, a, class()).Subnets[0].ID
	a.service.MapPublicAddresses(public)
	for _, subnet := range discover(t, a, class()).Subnets {
		if subnet.PublicIPv4 != (subnet.ID == public) {
			t.Errorf("subnet %+v, of which %s gives public addresses", subnet, public)
		}
	}
}

func TestASubnetOfAnOutpostIsNamedAsOne(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	const arn = "arn:aws:outposts:us-east-1:123456789012:outpost/op-1"
	rack := discover(t, a, class()).Subnets[0].ID
	a.service.PutOnOutpost(rack, arn)
	for _, subnet := range discover(t, a, class()).Subnets {
		if subnet.OutpostARN != "" != (subnet.ID == rack) {
			t.Errorf("subnet %+v, of which %s is on an Outpost", subnet, rack)
		}
	}
}

func TestWhatCannotBeReadIsAProblemForTheClassesOwner(t *testing.T) {
	a := newAccount(t) // without the role
	facts := discover(t, a, class())
	if !strings.Contains(facts.InstanceProfileProblem.Message, `spec.role "nodes"`) {
		t.Errorf("instance profile: %q", facts.InstanceProfileProblem.Message)
	}
	if len(facts.Subnets) != 3 || len(facts.SecurityGroups) != 1 || len(facts.Images) == 0 {
		t.Errorf("one problem hides the rest: %+v", facts)
	}
}

func TestAnInstanceProfileIsMadeForTheRole(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	wanted := class()
	name := discover(t, a, wanted).InstanceProfile
	profile := func() *awsiam.GetInstanceProfileOutput {
		t.Helper()
		output, err := a.iam.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: &name})
		if err != nil {
			t.Fatal(err)
		}
		return output
	}
	if roles := profile().InstanceProfile.Roles; len(roles) != 1 || aws.ToString(roles[0].RoleName) != "nodes" {
		t.Errorf("roles are %+v", roles)
	}
	// Ended after the profile was made and before its role was in.
	if _, err := a.iam.RemoveRoleFromInstanceProfile(
		t.Context(),
		&awsiam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &name, RoleName: aws.String("nodes")},
	); err != nil {
		t.Fatal(err)
	}
	if facts := discover(t, a, wanted); facts.InstanceProfile != name || facts.InstanceProfileProblem.Message != "" ||
		len(profile().InstanceProfile.Roles) != 1 {
		t.Errorf("%+v, %+v", facts, profile().InstanceProfile.Roles)
	}
	// Verified by its status it costs no call; another role has another profile.
	wanted.Status.InstanceProfile = name
	wanted.Status.Conditions = []metav1.Condition{
		{Type: api.ConditionTypeInstanceProfileReady, Status: metav1.ConditionTrue},
	}
	before := a.count("GetInstanceProfile")
	if facts := discover(t, a, wanted); facts.InstanceProfile != name || a.count("GetInstanceProfile") != before {
		t.Errorf("asked for a profile that is known: %+v", facts)
	}
	a.role(t, "other-nodes")
	wanted.Spec.Role = "other-nodes"
	if facts := discover(t, a, wanted); facts.InstanceProfile == name || facts.InstanceProfileProblem.Message != "" {
		t.Errorf("another role has the profile %q, %q", facts.InstanceProfile, facts.InstanceProfileProblem.Message)
	}
	wanted.Spec.Role, wanted.Spec.InstanceProfile = "", aws.String("given")
	if facts := discover(t, a, wanted); facts.InstanceProfile != "given" {
		t.Errorf("a given profile is %q", facts.InstanceProfile)
	}
}
