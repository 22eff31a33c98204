//go:build conformance

package conformance

import (
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	sdksavings "github.com/aws/aws-sdk-go-v2/service/savingsplans"
	savingstypes "github.com/aws/aws-sdk-go-v2/service/savingsplans/types"

	localec2 "github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
)

// TestConformanceOfCommitments compares Reserved Instances and Savings Plans with the models, in
// all states and with all fields. Moto has neither DescribeReservedInstances nor Savings Plans.
func TestConformanceOfCommitments(t *testing.T) {
	environment, err := Prepare(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s := localAWS(t)
	for _, bought := range []localec2.ReservedInstances{
		{
			InstanceType: "m5.large", Count: 2, Zone: Region + "a", Hourly: 0.0305, FixedPrice: 267, Payment: "Partial Upfront",
			Class: "convertible", Product: "Linux/UNIX (Amazon VPC)", Tags: map[string]string{"team": "blue"},
		},
		{InstanceType: "c5.xlarge", Count: 1, Dedicated: true, Product: "Windows", FixedPrice: 900, Payment: "All Upfront"},
		{InstanceType: "m5.large", Count: 1, UsagePrice: 0.03, Payment: "Light Utilization", State: "retired"},
		{InstanceType: "m5.large", Count: 1, Start: time.Now().Add(time.Hour), State: "queued"},
	} {
		if _, err := s.local.BuyReservedInstances(bought); err != nil {
			t.Fatal(err)
		}
	}
	plan := ""
	for _, bought := range []savingsplans.Plan{
		{Commitment: 1.5, Tags: map[string]string{"team": "blue"}, Payment: "Partial Upfront"},
		{Type: savingsplans.EC2Instance, Family: "m5", Region: Region, Commitment: 0.5, Payment: "All Upfront"},
		{Type: savingsplans.SageMaker, Commitment: 1, State: "payment-pending"},
		{Commitment: 1, Start: time.Now().Add(time.Hour), State: "queued"}, {Commitment: 1, State: "returned"},
	} {
		id, err := s.localPlans.Buy(bought)
		if err != nil {
			t.Fatal(err)
		}
		if plan == "" {
			plan = id
		}
	}
	for what, err := range map[string]error{
		"DescribeReservedInstances": second(s.ec2.DescribeReservedInstances(t.Context(),
			&ec2.DescribeReservedInstancesInput{})),
		"DescribeReservedInstances by state": second(s.ec2.DescribeReservedInstances(t.Context(),
			&ec2.DescribeReservedInstancesInput{
				OfferingClass: types.OfferingClassTypeConvertible, Filters: filter("state", "active"),
			})),
		"DescribeSavingsPlans": second(s.savings.DescribeSavingsPlans(t.Context(),
			&sdksavings.DescribeSavingsPlansInput{MaxResults: aws.Int32(3)})),
		"DescribeSavingsPlans by state": second(s.savings.DescribeSavingsPlans(t.Context(),
			&sdksavings.DescribeSavingsPlansInput{
				States: []savingstypes.SavingsPlanState{savingstypes.SavingsPlanStateActive},
			})),
		"DescribeSavingsPlanRates": second(s.savings.DescribeSavingsPlanRates(t.Context(),
			&sdksavings.DescribeSavingsPlanRatesInput{SavingsPlanId: &plan, MaxResults: aws.Int32(1000)})),
		"DescribeSavingsPlanRates of Lambda": second(s.savings.DescribeSavingsPlanRates(t.Context(),
			&sdksavings.DescribeSavingsPlanRatesInput{SavingsPlanId: &plan, Filters: []savingstypes.SavingsPlanRateFilter{{
				Name: savingstypes.SavingsPlanRateFilterNameServiceCode, Values: []string{"AWSLambda"},
			}}})),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if validated := validateAll(t, environment, s.all()); validated != 3 {
		t.Errorf("%d actions validated", validated)
	}
}
