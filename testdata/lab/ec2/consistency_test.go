package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// late returns an account whose describe calls are up to a minute behind a clock of the test's.
func late(t *testing.T) (a *account, now *time.Time) {
	t.Helper()
	clock := time.Unix(1_000_000, 0)
	return newAccount(t, func(c *ec2.Config) {
		c.Consistency = ec2.Consistency{Seed: 3, Lag: time.Minute, Forget: time.Minute}
		c.Now = func() time.Time { return clock }
	}), &clock
}

// sights counts how many of 12 calls show the instance, in the state, with the tag.
func (a *account) sights(t *testing.T, id string) (known, running, tagged int) {
	t.Helper()
	for range 12 {
		out, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out.Reservations {
			for _, i := range r.Instances {
				if text(i.InstanceId) != id {
					continue
				}
				known++
				if i.State.Name == types.InstanceStateNameRunning || i.State.Name == types.InstanceStateNamePending {
					running++
				}
				if len(i.Tags) > 0 {
					tagged++
				}
			}
		}
	}
	return known, running, tagged
}

func TestDescribeCallsAreBehindInBothDirections(t *testing.T) {
	a, now := late(t)
	id := a.run(t, "")
	if _, err := a.CreateTags(t.Context(), &awsec2.CreateTagsInput{
		Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
	}); err == nil {
		t.Error("a tag was put on an instance that no replica knows")
	}
	var partly, untagged bool
	for range 13 {
		known, _, _ := a.sights(t, id)
		partly = partly || known > 0 && known < 12
		*now = now.Add(5 * time.Second)
	}
	if !partly {
		t.Error("both replicas learned the launch at once")
	}
	if known, _, _ := a.sights(t, id); known != 12 {
		t.Fatalf("%d of 12 calls show the instance after a minute", known)
	}
	if _, err := a.CreateTags(t.Context(), &awsec2.CreateTagsInput{
		Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
	}); err != nil {
		t.Fatal(err)
	}
	_, _, tagged := a.sights(t, id)
	untagged = tagged < 12
	*now = now.Add(time.Minute)
	if _, _, tagged := a.sights(t, id); tagged != 12 || !untagged {
		t.Errorf("%d of 12 calls show the tag after a minute; some did not at once: %t", tagged, untagged)
	}
	if _, err := a.TerminateInstances(t.Context(),
		&awsec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "terminated", func() bool { return contains(a.heard.states(id), ec2.Terminated) })
	if _, running, _ := a.sights(t, id); running == 0 {
		t.Error("no call shows the terminated instance as running")
	}
	*now = now.Add(time.Minute)
	if known, running, _ := a.sights(t, id); known == 0 || running > 0 {
		t.Errorf("after a minute %d calls show the instance and %d show it running", known, running)
	}
	*now = now.Add(time.Minute)
	_, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
}

func TestTagsOfALaunchComeAfterTheInstance(t *testing.T) {
	a, now := late(t)
	a.template(t, "nodes")
	in := a.fleet(t, types.DefaultTargetCapacityTypeSpot, "m5.large")
	in.TagSpecifications = []types.TagSpecification{{
		ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}},
	}}
	out, err := a.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	id := launched(t, out)[0]
	bare := false
	for range 13 {
		known, _, tagged := a.sights(t, id)
		bare = bare || tagged < known
		*now = now.Add(5 * time.Second)
	}
	if !bare {
		t.Error("no call shows the instance without its tags")
	}
	if _, _, tagged := a.sights(t, id); tagged != 12 {
		t.Errorf("%d of 12 calls show the tags after a minute", tagged)
	}
}

func TestAFleetShowsLate(t *testing.T) {
	a, now := late(t)
	a.template(t, "nodes")
	out, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeSpot, "m5.large"))
	if err != nil {
		t.Fatal(err)
	}
	in := &awsec2.DescribeFleetsInput{FleetIds: []string{text(out.FleetId)}}
	_, err = a.DescribeFleets(t.Context(), in)
	wantCode(t, err, "InvalidFleetId.NotFound")
	*now = now.Add(time.Minute)
	if _, err := a.DescribeFleets(t.Context(), in); err != nil {
		t.Error(err)
	}
}

func TestBurstsRefuseSomeActions(t *testing.T) {
	refused := 0
	for seed := range uint64(8) {
		a := newAccount(t, func(c *ec2.Config) { c.Bursts = ec2.Bursts{Every: time.Hour, For: time.Hour, Seed: seed} })
		_, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{})
		if err != nil {
			wantCode(t, err, "RequestLimitExceeded")
			refused++
		}
	}
	if refused == 0 || refused == 8 {
		t.Errorf("%d of 8 bursts refuse DescribeInstances", refused)
	}
}

func TestTheNameOfAnInstanceIsToldLate(t *testing.T) {
	clock := time.Unix(1_000_000, 0)
	a := newAccount(t, func(c *ec2.Config) {
		c.Consistency = ec2.Consistency{Seed: 3, NameLag: 10 * time.Second}
		c.Now = func() time.Time { return clock }
	})
	id := a.run(t, "")
	describe := func() types.Instance {
		out, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
		if err != nil {
			t.Fatal(err)
		}
		return out.Reservations[0].Instances[0]
	}
	eventually(t, "it runs", func() bool { return describe().State.Name == types.InstanceStateNameRunning })
	if early := text(describe().PrivateDnsName); early != "" {
		t.Errorf("EC2 tells the name %s at once", early)
	}
	clock = clock.Add(10 * time.Second)
	if text(describe().PrivateDnsName) == "" {
		t.Error("EC2 does not tell the name after ten seconds")
	}
}

func TestANewLaunchTemplateIsKnownLate(t *testing.T) {
	clock := time.Unix(1_000_000, 0)
	a := newAccount(t, func(c *ec2.Config) {
		c.Consistency = ec2.Consistency{Seed: 3, TemplateLag: 10 * time.Second}
		c.Now = func() time.Time { return clock }
	})
	create := func() error {
		_, err := a.CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{
			LaunchTemplateName: aws.String("new"),
			LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: aws.String("ami-1")},
		})
		return err
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, create(), "InvalidLaunchTemplateName.AlreadyExistsException")
	known := func() (described, launched int) {
		for range 12 {
			out, err := a.DescribeLaunchTemplates(t.Context(), &awsec2.DescribeLaunchTemplatesInput{})
			if err != nil {
				t.Fatal(err)
			}
			described += len(out.LaunchTemplates)
			_, err = a.CreateFleet(t.Context(), &awsec2.CreateFleetInput{
				DryRun: aws.Bool(true), Type: types.FleetTypeInstant,
				TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1)},
				LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
					LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{
						LaunchTemplateName: aws.String("new"), Version: aws.String("$Latest"),
					},
				}},
			})
			if err != nil && !containsText(err.Error(), "InvalidLaunchTemplateName.NotFoundException") {
				launched++ // a dry run that succeeds is an error too
			}
		}
		return described, launched
	}
	if described, launched := known(); described != 0 || launched != 0 {
		t.Errorf("at once %d of 12 lists and %d of 12 launches know it", described, launched)
	}
	var partly bool
	for range 10 {
		clock = clock.Add(time.Second)
		_, launched := known()
		partly = partly || launched > 0 && launched < 12
	}
	if !partly {
		t.Error("both replicas learned the template at once")
	}
	if described, launched := known(); described != 12 || launched != 12 {
		t.Errorf("after ten seconds %d of 12 lists and %d of 12 launches know it", described, launched)
	}
}
