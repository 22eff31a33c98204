package ec2_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (a *account) run(t *testing.T, market types.MarketType) string {
	t.Helper()
	in := &awsec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: aws.String(a.image("x86_64")), InstanceType: "m5.large",
	}
	if market != "" {
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: market}
	}
	out, err := a.RunInstances(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return text(out.Instances[0].InstanceId)
}

func TestLifeOfAnInstance(t *testing.T) {
	a := newAccount(t)
	id := a.run(t, "")
	subnets := func() (free int) {
		out, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range out.Subnets {
			free += int(aws.ToInt32(s.AvailableIpAddressCount))
		}
		return free
	}
	if free := subnets(); free != 3*4091-1 {
		t.Errorf("%d addresses are free, want one less than all", free)
	}
	eventually(t, "running", func() bool { return contains(a.heard.states(id), ec2.Running) })
	if _, err := a.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "stopped", func() bool { return contains(a.heard.states(id), ec2.Stopped) })
	if _, err := a.StartInstances(t.Context(), &awsec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "running again", func() bool { return len(a.heard.states(id)) == 6 })
	out, err := a.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil || out.TerminatingInstances[0].CurrentState.Name != types.InstanceStateNameShuttingDown ||
		out.TerminatingInstances[0].PreviousState.Name != types.InstanceStateNameRunning {
		t.Fatalf("terminating: %+v, %v", out, err)
	}
	eventually(t, "terminated", func() bool { return contains(a.heard.states(id), ec2.Terminated) })
	want := []ec2.State{"pending", "running", "stopping", "stopped", "pending", "running", "shutting-down", "terminated"}
	if got := a.heard.states(id); !slices.Equal(got, want) {
		t.Errorf("the states were %q, want %q", got, want)
	}
	if free := subnets(); free != 3*4091 {
		t.Errorf("%d addresses are free, want all", free)
	}
	described, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	i := described.Reservations[0].Instances[0]
	if i.State.Name != types.InstanceStateNameTerminated || text(i.PrivateDnsName) != "" ||
		text(i.StateReason.Code) != "Client.UserInitiatedShutdown" {
		t.Errorf("a terminated instance is described as %+v", i)
	}
	if _, err := a.TerminateInstances(t.Context(),
		&awsec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Errorf("terminating once more: %v", err)
	}
	_, err = a.TerminateInstances(t.Context(),
		&awsec2.TerminateInstancesInput{InstanceIds: []string{"i-0123456789abcdef0"}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
}

func TestInterruption(t *testing.T) {
	a := newAccount(t)
	onDemand, spot := a.run(t, ""), a.run(t, types.MarketTypeSpot)
	if err := a.service.Interrupt(onDemand, time.Second); err == nil {
		t.Error("an on-demand instance was interrupted")
	}
	if err := a.service.Rebalance(spot); err != nil {
		t.Error(err)
	}
	if err := a.service.Retire(onDemand, "", time.Now().Add(14*24*time.Hour)); err != nil {
		t.Error(err)
	}
	if err := a.service.Interrupt(spot, 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	eventually(t, "reclaimed", func() bool { return contains(a.heard.states(spot), ec2.Terminated) })
	if got := a.heard.eventTypes(); !contains(got, "EC2 Instance Rebalance Recommendation",
		"EC2 Spot Instance Interruption Warning", "AWS Health Event") {
		t.Errorf("the events were %q", got)
	}
	described, err := a.DescribeInstances(t.Context(),
		&awsec2.DescribeInstancesInput{
			Filters: []types.Filter{{Name: aws.String("instance-lifecycle"), Values: []string{"spot"}}},
		})
	if err != nil || len(described.Reservations) != 1 ||
		text(described.Reservations[0].Instances[0].StateReason.Code) != "Server.SpotInstanceTermination" {
		t.Errorf("the interrupted instance is described as %+v, %v", described, err)
	}
	_, err = a.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: []string{spot}})
	wantCode(t, err, "IncorrectInstanceState")
}

func TestVisibilityDelay(t *testing.T) {
	a := newAccount(t)
	a.service.SetVisibility(150 * time.Millisecond)
	id := a.run(t, "")
	_, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	eventually(t, "the instance can be seen", func() bool {
		out, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
		return err == nil && len(out.Reservations) == 1
	})
	a.service.SetVisibility(time.Hour)
	id = a.run(t, "")
	a.service.ShowInstances()
	if _, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Error(err)
	}
}

func TestTags(t *testing.T) {
	a := newAccount(t)
	id := a.run(t, "")
	tag := func(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }
	if _, err := a.CreateTags(t.Context(),
		&awsec2.CreateTagsInput{
			Resources: []string{id, a.group(t)}, Tags: []types.Tag{tag("Name", "one"), tag("team", "blue")},
		}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.DeleteTags(t.Context(),
		&awsec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("team")}}}); err != nil {
		t.Fatal(err)
	}
	out, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil || len(out.Reservations[0].Instances[0].Tags) != 1 ||
		text(out.Reservations[0].Instances[0].Tags[0].Value) != "one" {
		t.Errorf("the instance is %+v, %v", out, err)
	}
	_, err = a.CreateTags(t.Context(),
		&awsec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{tag("aws:mine", "")}})
	wantCode(t, err, "InvalidParameterValue")
	_, err = a.CreateTags(t.Context(),
		&awsec2.CreateTagsInput{Resources: []string{"i-0123456789abcdef0"}, Tags: []types.Tag{tag("a", "b")}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
}

// TestARebootChangesNoState holds that a reboot reaches the machine, and shows in no state and no event.
func TestARebootChangesNoState(t *testing.T) {
	a := newAccount(t)
	id := a.run(t, "")
	reboot := func() error {
		_, err := a.RebootInstances(t.Context(), &awsec2.RebootInstancesInput{InstanceIds: []string{id}})
		return err
	}
	eventually(t, "running", func() bool { return contains(a.heard.states(id), ec2.Running) })
	if err := reboot(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the machine reboots", func() bool { return a.heard.reboots(id) == 1 })
	if _, err := a.StopInstances(t.Context(), &awsec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, reboot(), "IncorrectInstanceState")
	_, err := a.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil {
		t.Fatal(err)
	}
	if err := reboot(); err != nil {
		t.Errorf("a reboot of an instance that ends is refused: %v", err)
	}
	if a.heard.reboots(id) != 1 {
		t.Error("a machine that has no power reboots")
	}
}
