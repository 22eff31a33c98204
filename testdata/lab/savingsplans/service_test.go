package savingsplans_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	sdk "github.com/aws/aws-sdk-go-v2/service/savingsplans"
	"github.com/aws/aws-sdk-go-v2/service/savingsplans/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
	localec2 "github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

const account, region = "123456789012", "us-east-1"

func listen(t *testing.T) (*savingsplans.Service, *localec2.Service, aws.Config) {
	t.Helper()
	plans, err := savingsplans.New(account, region)
	if err != nil {
		t.Fatal(err)
	}
	instances, err := localec2.New(localec2.Config{AccountID: account, Region: region})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = instances.Close() })
	return plans, instances, wiretest.Listen(t, wire.NewServer(), plans, instances)
}

func buy(t *testing.T, s *savingsplans.Service, p savingsplans.Plan) string {
	t.Helper()
	id, err := s.Buy(p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestTheFunctionsReadWhatTheAccountOwns has the product's reader before the local services: of
// plans it takes those that pay for instances of the region, and of Reserved Instances those in
// force.
func TestTheFunctionsReadWhatTheAccountOwns(t *testing.T) {
	plans, instances, config := listen(t)
	ids := []string{
		buy(t, plans, savingsplans.Plan{Commitment: 1.5}),
		buy(t, plans, savingsplans.Plan{Type: savingsplans.EC2Instance, Family: "m5", Region: region, Commitment: 0.25}),
	}
	slices.Sort(ids)
	for _, other := range []savingsplans.Plan{
		{Type: savingsplans.EC2Instance, Family: "m5", Region: "eu-central-1", Commitment: 1},
		{Type: savingsplans.SageMaker, Commitment: 1}, {State: "queued", Commitment: 1}, {Currency: "CNY", Commitment: 1},
	} {
		buy(t, plans, other)
	}
	for _, bought := range []localec2.ReservedInstances{
		{InstanceType: "m5.large", Count: 3, Hourly: 0.06},
		{InstanceType: "c5.xlarge", Count: 1, Zone: "us-east-1b", FixedPrice: 876, Product: "Linux/UNIX (Amazon VPC)"},
		{InstanceType: "m5.large", Count: 1, State: "retired"}, {InstanceType: "m5.large", Count: 1, UsagePrice: 0.03},
	} {
		if _, err := instances.BuyReservedInstances(bought); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := ec2catalog.NewReader(config, catalog.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	facts, err := reader.Commitments(t.Context(), time.Now(), commitment.Facts{})
	if err != nil || len(facts.Plans) != 2 || facts.Plans[0].ID != ids[0] || facts.Plans[1].ID != ids[1] {
		t.Fatalf("plans are %+v, %v, want %v", facts.Plans, err, ids)
	}
	for _, plan := range facts.Plans {
		want, off := 1300, 0.72 // types with a price, and what Compute leaves of it
		if plan.Family != "" {
			want, off = 9, 0.6
		}
		if rate := plan.Rates["m5.large"]; len(plan.Rates) < want || rate < 0.096*off-1e-9 || rate > 0.096*off+1e-9 {
			t.Errorf("plan of %q has %d rates, m5.large for %v", plan.Family, len(plan.Rates), rate)
		}
	}
	if len(facts.Reserved) != 2 {
		t.Fatalf("Reserved Instances are %+v", facts.Reserved)
	}
	for _, one := range facts.Reserved {
		perHour, zone := 0.18, ""
		if one.InstanceType == "c5.xlarge" {
			perHour, zone = 0.1, "us-east-1b"
		}
		if one.Zone != zone || one.PerHour < perHour-1e-3 || one.PerHour > perHour+1e-3 || one.Platform != "" {
			t.Errorf("%+v: want %v an hour in %q", one, perHour, zone)
		}
	}
}

// TestPagesHaveTokens follows the tokens of plans and of rates, and asks for what there is not.
func TestPagesHaveTokens(t *testing.T) {
	plans, _, config := listen(t)
	client := sdk.NewFromConfig(config)
	var bought []string
	for range 5 {
		bought = append(bought, buy(t, plans, savingsplans.Plan{Commitment: 1}))
	}
	var seen []string
	input := &sdk.DescribeSavingsPlansInput{MaxResults: aws.Int32(2)}
	for pages := 1; ; pages++ {
		page, err := client.DescribeSavingsPlans(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		for _, plan := range page.SavingsPlans {
			seen = append(seen, aws.ToString(plan.SavingsPlanId))
		}
		if input.NextToken = page.NextToken; page.NextToken == nil {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if !slices.Equal(seen, bought) {
		t.Errorf("saw %v of %v", seen, bought)
	}
	rates, err := client.DescribeSavingsPlanRates(t.Context(), &sdk.DescribeSavingsPlanRatesInput{
		SavingsPlanId: &bought[0], Filters: []types.SavingsPlanRateFilter{
			{Name: types.SavingsPlanRateFilterNameTenancy, Values: []string{"dedicated"}},
			{Name: types.SavingsPlanRateFilterNameInstanceType, Values: []string{"m5.large"}},
		},
	})
	if err != nil || len(rates.SearchResults) != 4 || rates.NextToken != nil {
		t.Errorf("rates are %+v, %v", rates, err)
	}
	for want, err := range map[string]error{
		"ResourceNotFoundException": second(client.DescribeSavingsPlanRates(t.Context(),
			&sdk.DescribeSavingsPlanRatesInput{SavingsPlanId: aws.String("none")})),
		"ValidationException": second(client.DescribeSavingsPlans(t.Context(),
			&sdk.DescribeSavingsPlansInput{NextToken: aws.String("bm9uZQ==")})),
	} {
		var refusal smithy.APIError
		if !errors.As(err, &refusal) || refusal.ErrorCode() != want {
			t.Errorf("it is %v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestReservedInstancesAreFiltered asks for them by state and by scope, and for one that is not
// there.
func TestReservedInstancesAreFiltered(t *testing.T) {
	_, instances, config := listen(t)
	client := ec2.NewFromConfig(config)
	for _, bought := range []localec2.ReservedInstances{
		{InstanceType: "m5.large", Count: 1, Dedicated: true}, {InstanceType: "m5.large", Count: 2, Zone: "us-east-1a"},
		{InstanceType: "m5.large", Count: 4, State: "retired"},
	} {
		if _, err := instances.BuyReservedInstances(bought); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []localec2.ReservedInstances{
		{InstanceType: "m5.larger", Count: 1}, {InstanceType: "m5.large"},
		{InstanceType: "m5.large", Count: 1, Zone: "us-east-1z"},
	} {
		if _, err := instances.BuyReservedInstances(bad); err == nil {
			t.Errorf("%+v is bought", bad)
		}
	}
	found, err := client.DescribeReservedInstances(t.Context(), &ec2.DescribeReservedInstancesInput{})
	if err != nil || len(found.ReservedInstances) != 3 || found.ReservedInstances[0].InstanceTenancy != "dedicated" ||
		aws.ToString(found.ReservedInstances[1].AvailabilityZoneId) == "" {
		t.Errorf("without filters: %+v, %v", found, err)
	}
	_, err = client.DescribeReservedInstances(t.Context(),
		&ec2.DescribeReservedInstancesInput{ReservedInstancesIds: []string{"none"}})
	var refusal smithy.APIError
	if !errors.As(err, &refusal) || refusal.ErrorCode() != "InvalidReservedInstancesID.NotFound" {
		t.Errorf("one that is not there: %v", err)
	}
}
