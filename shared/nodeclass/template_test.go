package nodeclass

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestEqualContentsShareALaunchTemplate(t *testing.T) {
	image := api.AMI{ID: "ami-1"}
	resolved := func(change func(*api.EC2NodeClass)) *api.EC2NodeClass {
		made := class("")
		made.Status.SecurityGroups = []api.SecurityGroup{{ID: "sg-2"}, {ID: "sg-1"}}
		made.Status.InstanceProfile = "profile"
		change(made)
		return made
	}
	same := resolved(func(*api.EC2NodeClass) {})
	first, err := Template(same, image, join(), Variation{}, map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Name, "karpenter.k8s.aws/") || len(first.Name) > 128 {
		t.Errorf("name %q: EC2 takes 3 to 128 characters", first.Name)
	}
	again, _ := Template(resolved(func(c *api.EC2NodeClass) {
		c.Status.SecurityGroups = []api.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}}
		c.ResourceVersion = "7"
	}), image, join(), Variation{}, map[string]string{"a": "b"})
	if again.Name != first.Name {
		t.Error("the order of security groups made another template")
	}
	yes := true
	for name, change := range map[string]func(*api.EC2NodeClass){
		"monitoring": func(c *api.EC2NodeClass) { c.Spec.DetailedMonitoring = &yes },
		"profile":    func(c *api.EC2NodeClass) { c.Status.InstanceProfile = "other" },
		"address":    func(c *api.EC2NodeClass) { c.Spec.AssociatePublicIPAddress = &yes },
		"groups":     func(c *api.EC2NodeClass) { c.Status.SecurityGroups = nil },
	} {
		other, err := Template(resolved(change), image, join(), Variation{}, map[string]string{"a": "b"})
		if err != nil || other.Name == first.Name {
			t.Errorf("a change of %s did not make another template: %v", name, err)
		}
	}
}

func TestUserDataThatIsTooLongIsRefused(t *testing.T) {
	_, err := Template(class(strings.Repeat("#", MaximumUserData)), api.AMI{ID: "ami-1"}, join(), Variation{}, nil)
	if err == nil || !strings.Contains(err.Error(), "shorten spec.userData") {
		t.Errorf("%v", err)
	}
}
