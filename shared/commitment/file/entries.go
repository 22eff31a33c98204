package file

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/commitment"
)

// reservedInstance has the fields of
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReservedInstances.html that count.
type reservedInstance struct {
	ReservedInstancesID string `json:"ReservedInstancesId"`
	InstanceType        string
	InstanceCount       int
	Scope               string
	AvailabilityZone    string
	ProductDescription  string
	InstanceTenancy     string
	State               string
	Start, End          string
	Duration            int64
	FixedPrice          float64
	UsagePrice          float64
	RecurringCharges    []struct {
		Amount    float64
		Frequency string
	}
}

func (r *reader) reserved(raw json.RawMessage) error {
	var read reservedInstance
	if err := json.Unmarshal(raw, &read); err != nil {
		return explain(err)
	}
	if !counts(read.State) || read.UsagePrice > 0 {
		return nil
	}
	made := commitment.ReservedInstance{
		ID: read.ReservedInstancesID, InstanceType: read.InstanceType, Count: read.InstanceCount,
		Platform: commitment.PlatformOf(read.ProductDescription), Dedicated: read.InstanceTenancy == "dedicated",
		PerHour: read.perHour(),
	}
	if read.Scope == "Availability Zone" {
		made.Zone = read.AvailabilityZone
	}
	var err error
	switch {
	case read.ReservedInstancesID == "":
		return field("ReservedInstancesId", "")
	case !strings.Contains(read.InstanceType, "."):
		return fmt.Errorf("InstanceType: %q is no instance type", read.InstanceType)
	case read.InstanceCount <= 0 || read.InstanceCount > 1e6:
		return fmt.Errorf("InstanceCount: %d is no number of instances", read.InstanceCount)
	case read.Scope == "Availability Zone" && read.AvailabilityZone == "":
		return field("AvailabilityZone", "")
	case !(made.PerHour >= 0 && made.PerHour < 1e9):
		return fmt.Errorf("RecurringCharges: $%v/h is no price", made.PerHour)
	}
	if made.Start, err = when("Start", read.Start); err != nil {
		return err
	}
	if made.End, err = when("End", read.End); err != nil {
		return err
	}
	r.found.Reserved = append(r.found.Reserved, made)
	return nil
}

// perHour is what the purchase costs each hour, with its part of what was paid before.
func (i *reservedInstance) perHour() float64 {
	hourly := 0.0
	for _, charge := range i.RecurringCharges {
		if charge.Frequency == "Hourly" {
			hourly += charge.Amount
		}
	}
	if i.Duration > 0 {
		hourly += i.FixedPrice / (float64(i.Duration) / 3600)
	}
	return hourly * float64(i.InstanceCount)
}

// savingsPlan has the fields of https://docs.aws.amazon.com/savingsplans/latest/APIReference/API_SavingsPlan.html
// that count. Its numbers are texts.
type savingsPlan struct {
	SavingsPlanID     string `json:"savingsPlanId"`
	SavingsPlanType   string `json:"savingsPlanType"`
	EC2InstanceFamily string `json:"ec2InstanceFamily"`
	Region            string `json:"region"`
	State             string `json:"state"`
	Commitment        string `json:"commitment"`
	Start             string `json:"start"`
	End               string `json:"end"`
}

func (r *reader) plan(raw json.RawMessage) error {
	var read savingsPlan
	if err := json.Unmarshal(raw, &read); err != nil {
		return explain(err)
	}
	if !counts(read.State) || read.SavingsPlanType != "Compute" && read.SavingsPlanType != "EC2Instance" {
		return nil // one of SageMaker or databases pays for no instance
	}
	if err := field("savingsPlanId", read.SavingsPlanID); err != nil {
		return err
	}
	made := commitment.SavingsPlan{ID: read.SavingsPlanID}
	if read.SavingsPlanType == "EC2Instance" {
		if made.Family = read.EC2InstanceFamily; made.Family == "" {
			return field("ec2InstanceFamily", "")
		}
		if r.regionOf == nil {
			r.regionOf = map[string]string{}
		}
		r.regionOf[made.ID] = read.Region
	}
	var err error
	if made.PerHour, err = dollars("commitment", read.Commitment); err != nil {
		return err
	}
	if made.Start, err = when("start", read.Start); err != nil {
		return err
	}
	if made.End, err = when("end", read.End); err != nil {
		return err
	}
	r.found.Plans = append(r.found.Plans, made)
	return nil
}

// savingsPlanRate has the fields of
// https://docs.aws.amazon.com/savingsplans/latest/APIReference/API_SavingsPlanRate.html that count.
type savingsPlanRate struct {
	Rate       string `json:"rate"`
	Unit       string `json:"unit"`
	UsageType  string `json:"usageType"`
	Properties []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"properties"`
}

// rate reads the rate of an instance type for Linux with shared tenancy. Other rates are left out.
func (r *reader) rate(plan string, raw json.RawMessage) error {
	var read savingsPlanRate
	if err := json.Unmarshal(raw, &read); err != nil {
		return explain(err)
	}
	is := map[string]string{}
	for _, property := range read.Properties {
		is[property.Name] = property.Value
	}
	if read.Unit != "Hrs" || !strings.Contains(read.UsageType, "BoxUsage") || is["instanceType"] == "" ||
		is["productDescription"] != "" && is["productDescription"] != "Linux/UNIX" ||
		is["tenancy"] != "" && is["tenancy"] != "shared" {
		return nil
	}
	rate, err := dollars("rate", read.Rate)
	if err != nil {
		return err
	}
	if is["region"] == "" {
		return fmt.Errorf("properties: region is missing of %s", is["instanceType"])
	}
	r.regions[is["region"]] = true
	if r.rates[plan] == nil {
		r.rates[plan] = map[string]float64{}
	}
	// Of several operations the dearest: that errs toward less left.
	r.rates[plan][is["instanceType"]] = max(rate, r.rates[plan][is["instanceType"]])
	return nil
}

// dollars reads an amount of dollars an hour.
func dollars(name, text string) (float64, error) {
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil || !(amount > 0 && amount < 1e6) || math.IsNaN(amount) {
		return 0, fmt.Errorf("%s: %q is no amount of dollars an hour", name, text)
	}
	return amount, nil
}
