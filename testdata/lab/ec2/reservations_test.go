package ec2_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// reserve makes a reservation of m5.large in us-east-1a.
func (a *account) reserve(t *testing.T, change func(*ec2.CapacityReservation)) string {
	t.Helper()
	wanted := ec2.CapacityReservation{
		InstanceType: "m5.large", Zone: "us-east-1a", Total: 2, Match: "targeted", Tags: map[string]string{"team": "blue"},
	}
	change(&wanted)
	id, err := a.service.CreateCapacityReservation(wanted)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (a *account) available(t *testing.T, id string) int {
	t.Helper()
	out, err := a.DescribeCapacityReservations(t.Context(),
		&awsec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
	if err != nil || len(out.CapacityReservations) != 1 {
		t.Fatalf("reservation %s: %+v, %v", id, out, err)
	}
	return int(aws.ToInt32(out.CapacityReservations[0].AvailableInstanceCount))
}

// targeting makes a template's launches go into one reservation alone.
func targeting(id string, market types.MarketType) func(*types.RequestLaunchTemplateData) {
	return func(d *types.RequestLaunchTemplateData) {
		d.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceCapacityReservationsOnly,
			CapacityReservationTarget:     &types.CapacityReservationTarget{CapacityReservationId: &id},
		}
		if market != "" {
			d.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: market}
		}
	}
}

func TestLaunchesCountInCapacityReservations(t *testing.T) {
	a := newAccount(t)
	id := a.reserve(t, func(*ec2.CapacityReservation) {})
	a.template(t, "nodes", targeting(id, ""))
	a.service.Starve(ec2.Starvation{}) // reserved capacity is not affected
	in := a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large", "c5.large")
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(3)
	out, err := a.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	ids := launched(t, out)
	if len(ids) != 2 || len(out.Instances) != 1 || a.available(t, id) != 0 {
		t.Fatalf("%d instances in %d entries came, %d still fit", len(ids), len(out.Instances), a.available(t, id))
	}
	for _, e := range out.Errors {
		if text(e.ErrorCode) != "ReservationCapacityExceeded" || e.Lifecycle != types.InstanceLifecycleOnDemand {
			t.Errorf("error %+v", e)
		}
	}
	described, err := a.DescribeInstances(t.Context(),
		&awsec2.DescribeInstancesInput{
			Filters: []types.Filter{{Name: aws.String("capacity-reservation-id"), Values: []string{id}}},
		})
	if err != nil || len(described.Reservations) != 1 ||
		text(described.Reservations[0].Instances[0].CapacityReservationId) != id {
		t.Fatalf("described %+v, %v", described, err)
	}
	specification := described.Reservations[0].Instances[0].CapacityReservationSpecification
	if text(specification.CapacityReservationTarget.CapacityReservationId) != id {
		t.Errorf("described %+v", specification)
	}
	if err := a.service.Terminate(ids[0]); err != nil {
		t.Fatal(err)
	}
	eventually(t, "one fits again", func() bool { return a.available(t, id) == 1 })
	if err := a.service.CancelCapacityReservation(id); err != nil {
		t.Fatal(err)
	}
	for _, i := range a.service.Instances() {
		if i.CapacityReservationID != "" && i.State != ec2.Terminated {
			t.Errorf("%s is still in the cancelled reservation", i.ID)
		}
	}
}

func TestOpenReservationsAreUsedUnlessRefused(t *testing.T) {
	a := newAccount(t)
	id := a.reserve(t, func(r *ec2.CapacityReservation) { r.Match, r.Total = "open", 5 })
	a.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.CapacityReservationSpecification = &types.LaunchTemplateCapacityReservationSpecificationRequest{
			CapacityReservationPreference: types.CapacityReservationPreferenceNone,
		}
	})
	if _, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large")); err != nil {
		t.Fatal(err)
	}
	if n := a.available(t, id); n != 5 {
		t.Errorf("a launch that wants none left %d, want 5", n)
	}
	a.template(t, "plain")
	in := a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large", "t3.medium")
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("plain")
	in.OnDemandOptions.CapacityReservationOptions = &types.CapacityReservationOptionsRequest{
		UsageStrategy: types.FleetCapacityReservationUsageStrategyUseCapacityReservationsFirst,
	}
	out, err := a.CreateFleet(t.Context(), in)
	if err != nil || out.Instances[0].InstanceType != "m5.large" {
		t.Errorf("the reserved type was not first: %+v, %v", out, err)
	}
	if n := a.available(t, id); n != 4 {
		t.Errorf("an open reservation has %d left, want 4", n)
	}
}

func TestCapacityBlocksEnd(t *testing.T) {
	a := newAccount(t, func(c *ec2.Config) {
		// The launch must come before the reclaim, on a slow machine too.
		c.Timing.BlockWarning, c.Timing.BlockReclaim = 2*time.Second, time.Second
	})
	id := a.reserve(t, func(r *ec2.CapacityReservation) {
		r.InstanceType, r.Zone, r.Type, r.End = a.blockType(t), "", ec2.CapacityBlock, time.Now().Add(5*time.Second)
		r.Zone = a.zoneOf(t, r.InstanceType)
	})
	a.template(t, "nodes", targeting(id, types.MarketTypeCapacityBlock))
	in := a.fleet(t, types.DefaultTargetCapacityTypeCapacityBlock, types.InstanceType(a.blockType(t)))
	in.OnDemandOptions, in.SpotOptions = nil, nil
	in.LaunchTemplateConfigs[0].Overrides[0].SubnetId = aws.String(a.subnet(t, a.zoneOf(t, a.blockType(t))))
	in.LaunchTemplateConfigs[0].Overrides[0].AvailabilityZone = aws.String(a.zoneOf(t, a.blockType(t)))
	in.LaunchTemplateConfigs[0].Overrides = in.LaunchTemplateConfigs[0].Overrides[:1]
	out, err := a.CreateFleet(t.Context(), in)
	if err != nil || len(out.Instances) != 1 || out.Instances[0].Lifecycle != types.InstanceLifecycleCapacityBlock {
		t.Fatalf("got %+v, %v", out, err)
	}
	instance := launched(t, out)[0]
	eventually(t, "the block's end is announced", func() bool {
		return contains(a.heard.eventTypes(), "Capacity Block Reservation Expiration Warning")
	})
	eventually(t, "its instance ends before it", func() bool { return contains(a.heard.states(instance), ec2.Terminated) })
	eventually(t, "it expires", func() bool { return a.service.CapacityReservations()[0].State == "expired" })
	in.ClientToken = nil // the SDK has filled it in
	out, err = a.CreateFleet(t.Context(), in)
	if err != nil || len(out.Errors) != 1 || text(out.Errors[0].ErrorCode) != "ReservationCapacityExceeded" {
		t.Errorf("an expired block gave %+v, %v", out, err)
	}
	a.template(t, "wrong", targeting(id, ""))
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("wrong")
	in.ClientToken = nil // the SDK has filled it in
	out, err = a.CreateFleet(t.Context(), in)
	if err != nil || len(out.Errors) != 1 || text(out.Errors[0].ErrorCode) != "InvalidParameterCombination" {
		t.Errorf("a template without the market type gave %+v, %v", out, err)
	}
}

// blockType is a type that is offered in capacity blocks and runs the x86_64 image.
func (a *account) blockType(t *testing.T) string {
	t.Helper()
	for _, facts := range allTypes(t) {
		for _, class := range facts.UsageClasses {
			if class == ec2.CapacityBlock && facts.Architectures[0] == "x86_64" {
				return facts.Name
			}
		}
	}
	t.Fatal("no type is offered in capacity blocks")
	return ""
}

func (a *account) zoneOf(t *testing.T, instanceType string) string {
	t.Helper()
	for _, facts := range allTypes(t) {
		if facts.Name == instanceType {
			for _, zone := range facts.Zones {
				if strings.HasSuffix(zone, "a") || strings.HasSuffix(zone, "b") || strings.HasSuffix(zone, "c") {
					return zone
				}
			}
		}
	}
	t.Fatalf("%s is in no zone", instanceType)
	return ""
}

func TestInterruptibleReservationsAreTakenBack(t *testing.T) {
	a := newAccount(t)
	id := a.reserve(t, func(r *ec2.CapacityReservation) { r.Interruptible = true })
	a.template(t, "nodes", targeting(id, types.MarketTypeInterruptibleCapacityReservation))
	in := a.fleet(t, types.DefaultTargetCapacityTypeReservedCapacity, "m5.large")
	in.OnDemandOptions, in.SpotOptions = nil, nil
	_, err := a.CreateFleet(t.Context(), in)
	wantCode(t, err, "InvalidFleetConfiguration")
	in.ReservedCapacityOptions = &types.ReservedCapacityOptionsRequest{
		ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation},
	}
	out, err := a.CreateFleet(t.Context(), in)
	if err != nil || len(out.Instances) != 1 ||
		out.Instances[0].Lifecycle != types.InstanceLifecycleInterruptibleCapacityReservation {
		t.Fatalf("got %+v, %v", out, err)
	}
	if err := a.service.InterruptCapacityReservation(id, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the instance is gone", func() bool {
		return contains(a.heard.states(launched(t, out)[0]), ec2.Terminated)
	})
	if types := a.heard.eventTypes(); !contains(types, "EC2 Capacity Reservation Instance Interruption Warning") {
		t.Errorf("events: %q", types)
	}
	if n := a.available(t, id); n != 0 {
		t.Errorf("%d still fit", n)
	}
}

func TestCapacityReservationCalls(t *testing.T) {
	a := newAccount(t)
	made, err := a.CreateCapacityReservation(t.Context(), &awsec2.CreateCapacityReservationInput{
		InstanceType: aws.String("c5.large"), InstancePlatform: types.CapacityReservationInstancePlatformWindows,
		AvailabilityZone: aws.String("us-east-1b"), InstanceCount: aws.Int32(4),
		InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
		TagSpecifications: []types.TagSpecification{
			{
				ResourceType: types.ResourceTypeCapacityReservation,
				Tags:         []types.Tag{{Key: aws.String("team"), Value: aws.String("red")}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := a.DescribeCapacityReservations(t.Context(),
		&awsec2.DescribeCapacityReservationsInput{Filters: []types.Filter{
			{Name: aws.String("state"), Values: []string{"active"}}, {Name: aws.String("tag:team"), Values: []string{"red"}},
			{Name: aws.String("instance-match-criteria"), Values: []string{"targeted"}},
		}, MaxResults: aws.Int32(1000)})
	if err != nil || len(found.CapacityReservations) != 1 {
		t.Fatalf("found %+v, %v", found, err)
	}
	r := found.CapacityReservations[0]
	if text(r.CapacityReservationId) != text(made.CapacityReservation.CapacityReservationId) ||
		aws.ToInt32(r.TotalInstanceCount) != 4 || text(r.AvailabilityZoneId) == "" ||
		r.ReservationType != types.CapacityReservationTypeDefault || r.EndDateType != types.EndDateTypeUnlimited ||
		r.InstancePlatform != types.CapacityReservationInstancePlatformWindows {
		t.Errorf("reservation %+v", r)
	}
	// A Linux launch does not fit into a Windows reservation.
	a.template(t, "nodes", targeting(text(r.CapacityReservationId), ""))
	out, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "c5.large"))
	if err != nil || len(out.Instances) != 0 || text(out.Errors[0].ErrorCode) != "ReservationCapacityExceeded" {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := a.CancelCapacityReservation(t.Context(),
		&awsec2.CancelCapacityReservationInput{CapacityReservationId: r.CapacityReservationId}); err != nil {
		t.Error(err)
	}
	_, err = a.CancelCapacityReservation(t.Context(),
		&awsec2.CancelCapacityReservationInput{CapacityReservationId: aws.String("cr-1")})
	wantCode(t, err, "InvalidCapacityReservationId.NotFound")
}

func TestPlacementGroups(t *testing.T) {
	a := newAccount(t)
	for _, group := range []awsec2.CreatePlacementGroupInput{
		{GroupName: aws.String("close"), Strategy: types.PlacementStrategyCluster},
		{GroupName: aws.String("apart"), Strategy: types.PlacementStrategySpread},
		{GroupName: aws.String("parts"), Strategy: types.PlacementStrategyPartition, PartitionCount: aws.Int32(3)},
	} {
		if _, err := a.CreatePlacementGroup(t.Context(), &group); err != nil {
			t.Fatal(err)
		}
	}
	groups, err := a.DescribePlacementGroups(t.Context(),
		&awsec2.DescribePlacementGroupsInput{
			Filters: []types.Filter{
				{Name: aws.String("state"), Values: []string{"available"}},
				{Name: aws.String("group-name"), Values: []string{"parts"}},
			},
		})
	if err != nil || len(groups.PlacementGroups) != 1 || aws.ToInt32(groups.PlacementGroups[0].PartitionCount) != 3 {
		t.Fatalf("groups %+v, %v", groups, err)
	}
	launch := func(template string, total int32,
		change func(*types.LaunchTemplatePlacementRequest)) *awsec2.CreateFleetOutput {
		t.Helper()
		a.template(t, template, func(d *types.RequestLaunchTemplateData) {
			d.Placement = &types.LaunchTemplatePlacementRequest{}
			change(d.Placement)
		})
		in := a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
		in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = &template
		in.TargetCapacitySpecification.TotalTargetCapacity = &total
		out, err := a.CreateFleet(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := launch("spread", 20, func(p *types.LaunchTemplatePlacementRequest) { p.GroupName = aws.String("apart") })
	if n := len(launched(t, out)); n != 14 || len(out.Errors) != 2 ||
		!strings.Contains(text(out.Errors[0].ErrorMessage), "limit of instances in this spread placement group") {
		t.Errorf("%d of 20 instances came into two zones with %+v, want 7 in each", n, out.Errors)
	}
	out = launch("parts", 6, func(p *types.LaunchTemplatePlacementRequest) {
		p.GroupId = groups.PlacementGroups[0].GroupId
	})
	partitions := map[int32]int{}
	described, err := a.DescribeInstances(t.Context(), &awsec2.DescribeInstancesInput{InstanceIds: launched(t, out)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range described.Reservations {
		for _, i := range r.Instances {
			partitions[aws.ToInt32(i.Placement.PartitionNumber)]++
		}
	}
	if partitions[1] != 2 || partitions[2] != 2 || partitions[3] != 2 {
		t.Errorf("partitions hold %v, want 2 each", partitions)
	}
	a.service.Starve(ec2.Starvation{Zone: "us-east-1b"})
	launch("first", 1, func(p *types.LaunchTemplatePlacementRequest) { p.GroupName = aws.String("close") })
	a.service.Feed("", "", "")
	a.service.Starve(ec2.Starvation{Zone: "us-east-1a"})
	out = launch("second", 1, func(p *types.LaunchTemplatePlacementRequest) { p.GroupName = aws.String("close") })
	if len(out.Instances) != 0 || text(out.Errors[len(out.Errors)-1].ErrorCode) != "InvalidPlacementGroup.InUse" {
		t.Errorf("a cluster group spans zones: %+v, %+v", out.Instances, out.Errors)
	}
	out = launch("unknown", 1, func(p *types.LaunchTemplatePlacementRequest) { p.GroupName = aws.String("none") })
	if len(out.Errors) == 0 || text(out.Errors[0].ErrorCode) != "InvalidPlacementGroup.Unknown" {
		t.Errorf("an unknown group gave %+v", out.Errors)
	}
}
