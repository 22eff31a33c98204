package savingsplans

import (
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Types of Savings Plans.
const (
	Compute     = "Compute"
	EC2Instance = "EC2Instance"
	SageMaker   = "SageMaker"
)

// Plan is a Savings Plan of the account.
type Plan struct {
	// ID is given by Buy.
	ID string
	// Type is Compute, EC2Instance or SageMaker; empty means Compute.
	Type string
	// Family and Region are those of an EC2Instance plan.
	Family, Region string
	// Commitment is in dollars an hour, at the plan's rates.
	Commitment float64
	// Currency is USD unless it is set.
	Currency string
	// State is one of AWS's; empty means active.
	State string
	// Start and End bound the term; a zero Start is now, a zero End a year later.
	Start, End time.Time
	// Payment is AWS's payment option; empty means No Upfront.
	Payment string
	// Discount is what its rates save of on-demand prices; zero means 0.28 for Compute and 0.4 for
	// EC2Instance.
	Discount float64
	Tags     map[string]string
}

// planJSON is a plan as the API writes it.
type planJSON struct {
	OfferingID      string            `json:"offeringId"`
	ID              string            `json:"savingsPlanId"`
	ARN             string            `json:"savingsPlanArn"`
	Description     string            `json:"description"`
	Start           string            `json:"start"`
	End             string            `json:"end"`
	State           string            `json:"state"`
	Region          string            `json:"region,omitempty"`
	Family          string            `json:"ec2InstanceFamily,omitempty"`
	Type            string            `json:"savingsPlanType"`
	PaymentOption   string            `json:"paymentOption"`
	ProductTypes    []string          `json:"productTypes"`
	Currency        string            `json:"currency"`
	Commitment      string            `json:"commitment"`
	Upfront         string            `json:"upfrontPaymentAmount"`
	Recurring       string            `json:"recurringPaymentAmount"`
	TermInSeconds   int64             `json:"termDurationInSeconds"`
	Tags            map[string]string `json:"tags"`
	ReturnableUntil string            `json:"returnableUntil,omitempty"`
}

// instant is a time as the API writes it.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// amount is a number as the API writes it.
func amount(value float64) string { return strconv.FormatFloat(value, 'f', 8, 64) }

func setDefault(to *string, value string) {
	if *to == "" {
		*to = value
	}
}

// complete fills in what was left out.
func (p *Plan) complete(now time.Time) {
	setDefault(&p.Type, Compute)
	setDefault(&p.Currency, "USD")
	setDefault(&p.State, "active")
	setDefault(&p.Payment, "No Upfront")
	p.ID = wire.NewID()
	if p.Start.IsZero() {
		p.Start = now
	}
	if p.End.IsZero() {
		p.End = p.Start.AddDate(1, 0, 0)
	}
	if p.Discount == 0 {
		p.Discount = map[string]float64{Compute: 0.28, EC2Instance: 0.4}[p.Type]
	}
}

func (p *Plan) json(account string) planJSON {
	hours, upfront := p.End.Sub(p.Start).Hours(), 0.0
	switch p.Payment {
	case "All Upfront":
		upfront = 1
	case "Partial Upfront":
		upfront = 0.5
	}
	return planJSON{
		OfferingID: "offering-" + p.ID[:8], ID: p.ID, ARN: "arn:aws:savingsplans::" + account + ":savingsplan/" + p.ID,
		Description: p.Type + " Savings Plan", Start: instant(p.Start), End: instant(p.End), State: p.State,
		Region: p.Region, Family: p.Family, Type: p.Type, PaymentOption: p.Payment, ProductTypes: productTypes(p.Type),
		Currency: p.Currency, Commitment: amount(p.Commitment), Upfront: amount(upfront * p.Commitment * hours),
		Recurring: amount((1 - upfront) * p.Commitment), TermInSeconds: int64(p.End.Sub(p.Start) / time.Second), Tags: p.Tags,
	}
}

func productTypes(kind string) []string {
	switch kind {
	case Compute:
		return []string{"EC2", "Fargate", "Lambda"}
	case EC2Instance:
		return []string{"EC2"}
	}
	return []string{kind}
}

// filter is a filter of a request: one of its values must be the plan's or the row's.
type filter struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// passes reports whether the values, by the filter's name, pass all filters.
func passes(filters []filter, values map[string]string) (bool, error) {
	pass := true
	for _, f := range filters {
		value, known := values[f.Name]
		if !known {
			return false, invalid("the local Savings Plans have no filter %q", f.Name)
		}
		pass = pass && slices.Contains(f.Values, value)
	}
	return pass, nil
}

// values are those of the plan by the filter's name.
func (p *Plan) values() map[string]string {
	return map[string]string{
		"region": p.Region, "ec2-instance-family": p.Family, "commitment": amount(p.Commitment),
		"savings-plan-type": p.Type, "payment-option": p.Payment, "start": instant(p.Start), "end": instant(p.End),
		"term": strconv.FormatInt(int64(p.End.Sub(p.Start)/time.Second), 10),
	}
}
