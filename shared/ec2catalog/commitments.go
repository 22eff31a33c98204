package ec2catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/savingsplans"
	"github.com/aws/aws-sdk-go-v2/service/savingsplans/types"

	"github.com/whittle-dev/whittle/shared/commitment"
)

// mostPages bounds the pages of one listing of Savings Plans or of their rates.
const mostPages = 100

// savingsPlansRegion is the region for which requests to the Savings Plans' API are signed. It has one endpoint for
// all regions of a partition. https://docs.aws.amazon.com/general/latest/gr/savingsplans.html
func savingsPlansRegion(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return region
	}
	return "us-east-1"
}

// Commitments reads the account's Reserved Instances in the region and its Savings Plans, as of a time. What cannot
// be read keeps its value in the previous facts, and comes with the error. The rates of a plan never change, so that
// those which are known are not read again.
func (r *Reader) Commitments(
	ctx context.Context, now time.Time, previous commitment.Facts,
) (commitment.Facts, error) {
	facts := commitment.Facts{Time: now.UTC()}
	var unreserved, unplanned error
	if facts.Reserved, unreserved = r.reservedInstances(ctx); unreserved != nil {
		facts.Reserved = previous.Reserved
		unreserved = fmt.Errorf("reading Reserved Instances: %w", unreserved)
	}
	limited, cancel := context.WithTimeout(ctx, priceListTime)
	defer cancel()
	if facts.Plans, unplanned = r.savingsPlans(limited, previous.Plans); unplanned != nil {
		facts.Plans = previous.Plans
		unplanned = fmt.Errorf("reading Savings Plans: %w", unplanned)
	}
	return facts, errors.Join(unreserved, unplanned)
}

// reservedInstances lists those that are active. Old ones with a price for each hour of use save no more than a part,
// and are left out.
func (r *Reader) reservedInstances(ctx context.Context) ([]commitment.ReservedInstance, error) {
	answer, err := r.ec2.DescribeReservedInstances(ctx, &ec2.DescribeReservedInstancesInput{
		Filters: []ec2types.Filter{{Name: aws.String("state"), Values: []string{"active"}}},
	})
	if err != nil {
		return nil, err
	}
	var list []commitment.ReservedInstance
	for i := range answer.ReservedInstances {
		one := &answer.ReservedInstances[i]
		if one.InstanceType == "" || aws.ToInt32(one.InstanceCount) <= 0 || aws.ToFloat32(one.UsagePrice) > 0 {
			continue
		}
		read := commitment.ReservedInstance{
			ID: aws.ToString(one.ReservedInstancesId), InstanceType: string(one.InstanceType),
			Count: int(aws.ToInt32(one.InstanceCount)), Platform: commitment.PlatformOf(string(one.ProductDescription)),
			Dedicated: one.InstanceTenancy == ec2types.TenancyDedicated, Start: aws.ToTime(one.Start).UTC(),
			End: aws.ToTime(one.End).UTC(), PerHour: perHour(one),
		}
		if one.Scope == ec2types.ScopeAvailabilityZone {
			read.Zone = aws.ToString(one.AvailabilityZone)
			if read.Zone == "" {
				continue // it holds in one zone, which is not known
			}
		}
		list = append(list, read)
	}
	slices.SortFunc(list, func(a, b commitment.ReservedInstance) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// perHour is what the purchase costs each hour: its recurring charges, and the hour's share of what was paid before,
// for all of its instances.
func perHour(one *ec2types.ReservedInstances) float64 {
	hourly := 0.0
	for _, charge := range one.RecurringCharges {
		if charge.Frequency == ec2types.RecurringChargeFrequencyHourly {
			hourly += aws.ToFloat64(charge.Amount)
		}
	}
	if seconds := aws.ToInt64(one.Duration); seconds > 0 {
		hourly += float64(aws.ToFloat32(one.FixedPrice)) / (float64(seconds) / 3600)
	}
	return hourly * float64(aws.ToInt32(one.InstanceCount))
}

// savingsPlans lists the active plans that pay for instances of the region, with their rates.
func (r *Reader) savingsPlans(
	ctx context.Context, previous []commitment.SavingsPlan,
) ([]commitment.SavingsPlan, error) {
	var list []commitment.SavingsPlan
	input := &savingsplans.DescribeSavingsPlansInput{States: []types.SavingsPlanState{types.SavingsPlanStateActive}}
	for range mostPages {
		page, err := r.savings.DescribeSavingsPlans(ctx, input)
		if err != nil {
			return nil, err
		}
		for i := range page.SavingsPlans {
			plan, of, err := r.readPlan(&page.SavingsPlans[i])
			if err != nil {
				return nil, err
			}
			if of {
				list = append(list, plan)
			}
		}
		if input.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			break
		}
	}
	for i := range list {
		known := slices.IndexFunc(previous, func(p commitment.SavingsPlan) bool { return p.ID == list[i].ID })
		if known >= 0 && len(previous[known].Rates) > 0 {
			list[i].Rates = previous[known].Rates
			continue
		}
		rates, err := r.rates(ctx, list[i].ID)
		if err != nil {
			return nil, fmt.Errorf("rates of %s: %w", list[i].ID, err)
		}
		list[i].Rates = rates
	}
	slices.SortFunc(list, func(a, b commitment.SavingsPlan) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// readPlan reads a plan, and reports whether it pays for instances of the region in the currency of its prices.
func (r *Reader) readPlan(plan *types.SavingsPlan) (commitment.SavingsPlan, bool, error) {
	read := commitment.SavingsPlan{ID: aws.ToString(plan.SavingsPlanId)}
	switch plan.SavingsPlanType {
	case types.SavingsPlanTypeCompute:
	case types.SavingsPlanTypeEc2Instance:
		read.Family = aws.ToString(plan.Ec2InstanceFamily)
		if aws.ToString(plan.Region) != r.region || read.Family == "" {
			return read, false, nil
		}
	default:
		return read, false, nil
	}
	if read.ID == "" || string(plan.Currency) != currencyOf(r.region) {
		return read, false, nil
	}
	var err error
	if read.PerHour, err = strconv.ParseFloat(aws.ToString(plan.Commitment), 64); err != nil {
		return read, false, fmt.Errorf("commitment of %s: %w", read.ID, err)
	}
	if read.Start, err = time.Parse(time.RFC3339, aws.ToString(plan.Start)); err != nil {
		return read, false, fmt.Errorf("start of %s: %w", read.ID, err)
	}
	if read.End, err = time.Parse(time.RFC3339, aws.ToString(plan.End)); err != nil {
		return read, false, fmt.Errorf("end of %s: %w", read.ID, err)
	}
	return read, true, nil
}

// rates reads the plan's rates for Linux with shared tenancy in the region, by instance type.
func (r *Reader) rates(ctx context.Context, plan string) (map[string]float64, error) {
	only := func(name types.SavingsPlanRateFilterName, value string) types.SavingsPlanRateFilter {
		return types.SavingsPlanRateFilter{Name: name, Values: []string{value}}
	}
	input := &savingsplans.DescribeSavingsPlanRatesInput{
		SavingsPlanId: &plan, MaxResults: aws.Int32(1000), Filters: []types.SavingsPlanRateFilter{
			only(types.SavingsPlanRateFilterNameRegion, r.region),
			only(types.SavingsPlanRateFilterNameProductDescription, "Linux/UNIX"),
			only(types.SavingsPlanRateFilterNameTenancy, "shared"),
			only(types.SavingsPlanRateFilterNameServiceCode, string(types.SavingsPlanRateServiceCodeEc2)),
		},
	}
	rates := map[string]float64{}
	for range mostPages {
		page, err := r.savings.DescribeSavingsPlanRates(ctx, input)
		if err != nil {
			return nil, err
		}
		for i := range page.SearchResults {
			if name, rate := readRate(&page.SearchResults[i]); rate > 0 {
				rates[name] = max(rate, rates[name]) // of several operations the dearest: that errs toward less left
			}
		}
		if input.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			return rates, nil
		}
	}
	return rates, nil
}

// readRate reads the rate of one instance type for an hour; zero for another product.
func readRate(row *types.SavingsPlanRate) (instanceType string, rate float64) {
	for _, property := range row.Properties {
		if property.Name == types.SavingsPlanRatePropertyKeyInstanceType {
			instanceType = aws.ToString(property.Value)
		}
	}
	if instanceType == "" || row.Unit != types.SavingsPlanRateUnitHours ||
		!strings.Contains(aws.ToString(row.UsageType), "BoxUsage") {
		return "", 0
	}
	rate, err := strconv.ParseFloat(aws.ToString(row.Rate), 64)
	if err != nil {
		return "", 0
	}
	return instanceType, rate
}
