package file_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/commitment/file"
)

var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// reservedAnswer is one as the command line prints it.
const reservedAnswer = `{"ReservedInstances": [
 {"ReservedInstancesId": "r-1", "InstanceType": "m5.large", "InstanceCount": 2, "Scope": "Availability Zone",
  "AvailabilityZone": "us-west-2a", "ProductDescription": "Linux/UNIX (Amazon VPC)", "InstanceTenancy": "default",
  "State": "active", "Start": "2026-01-01T00:00:00+00:00", "End": "2027-01-01T00:00:00+00:00", "Duration": 31536000,
  "FixedPrice": 1095.0, "UsagePrice": 0.0, "CurrencyCode": "USD", "OfferingClass": "standard",
  "RecurringCharges": [{"Amount": 0.125, "Frequency": "Hourly"}], "Tags": []},
 {"ReservedInstancesId": "gone", "InstanceType": "m5.large", "InstanceCount": 2, "State": "retired"}
]}`

const plansAnswer = `{"savingsPlans": [
 {"savingsPlanId": "sp-1", "savingsPlanType": "Compute", "state": "active", "commitment": "1.5", "currency": "USD",
  "start": "2026-01-01T00:00:00.000Z", "end": "2027-01-01T00:00:00.000Z", "productTypes": ["EC2", "Fargate"]},
 {"savingsPlanId": "sp-2", "savingsPlanType": "EC2Instance", "ec2InstanceFamily": "m5", "region": "eu-west-1",
  "state": "active", "commitment": "1.5", "start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00Z"},
 {"savingsPlanId": "sp-3", "savingsPlanType": "SageMaker", "state": "active", "commitment": "1.5"}
], "nextToken": ""}`

func rateOf(instanceType, rate, region, tenancy string) string {
	return fmt.Sprintf(`{"rate": %q, "currency": "USD", "unit": "Hrs", "productType": "EC2", "serviceCode": "AmazonEC2",
"usageType": "USW2-BoxUsage:%s", "operation": "RunInstances", "properties": [{"name": "region", "value": %q},
{"name": "instanceType", "value": %q}, {"name": "productDescription", "value": "Linux/UNIX"},
{"name": "tenancy", "value": %q}]}`, rate, instanceType, region, instanceType, tenancy)
}

func ratesOf(plan string, rates ...string) string {
	return fmt.Sprintf(`{"savingsPlanId": %q, "searchResults": [%s]}`, plan, strings.Join(rates, ","))
}

func good() string {
	return reservedAnswer + "\n" + plansAnswer + ratesOf("sp-1", rateOf("m5.large", "0.06", "us-west-2", "shared"),
		rateOf("m5.xlarge", "0.12", "us-west-2", "shared"), rateOf("m5.large", "0.9", "us-west-2", "dedicated"),
		rateOf("c5.large", "0.05", "us-west-2", "shared"), rateOf("c5.metal", "2.5", "us-west-2", "shared"))
}

// TestAFileHasTheAnswersOfTheAPIs reads them as JSON and as YAML, and carries them.
func TestAFileHasTheAnswersOfTheAPIs(t *testing.T) {
	yaml := "---\nReservedInstances:\n- ReservedInstancesId: r-1\n  InstanceType: m5.large\n  InstanceCount: 2\n" +
		"  Start: 2026-01-01T00:00:00Z\n  End: 2027-01-01T00:00:00Z\n---\n" + plansAnswer + "\n--- # rates\n" +
		ratesOf("sp-1", rateOf("m5.large", "0.06", "us-west-2", "shared"))
	for name, test := range map[string]struct {
		text    string
		zone    string
		perHour float64
		rates   map[string]float64
	}{
		"JSON": {good(), "us-west-2a", 0.5,
			map[string]float64{"m5.large": 0.06, "m5.xlarge": 0.12, "m5.4xlarge": 0.48, "c5.large": 0.05, "c5.metal": 2.5}},
		"YAML": {yaml, "", 0, map[string]float64{"m5.large": 0.06, "m5.xlarge": 0.12, "m5.4xlarge": 0.48}},
	} {
		read, err := file.Read([]byte(test.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := file.Pack(read)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		carried, err := file.Unpack(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		types := []string{"m5.large", "m5.xlarge", "m5.4xlarge", "c5.large", "c5.metal", "r5.large"}
		start, end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		want := commitment.Facts{
			Time: now, Reserved: []commitment.ReservedInstance{{
				ID: "r-1", InstanceType: "m5.large", Count: 2, Zone: test.zone, Start: start, End: end, PerHour: test.perHour,
			}},
			Plans: []commitment.SavingsPlan{{ID: "sp-1", PerHour: 1.5, Start: start, End: end, Rates: test.rates}},
		}
		got := carried.Facts("us-west-2", types, now)
		for kind, rate := range got.Plans[0].Rates {
			if math.Abs(rate-test.rates[kind]) < 1e-9 {
				got.Plans[0].Rates[kind] = test.rates[kind]
			}
		}
		if !reflect.DeepEqual(got, want) || carried.Region() != "us-west-2" {
			t.Errorf("%s: carried %+v, want %+v", name, got, want)
		}
		if elsewhere := carried.Facts("eu-west-1", types, now); len(elsewhere.Plans) != 0 || len(elsewhere.Reserved) != 1 {
			t.Errorf("%s: in another region it is %+v", name, elsewhere)
		}
	}
}

// TestABrokenFileNamesItsField has one fault in each file.
func TestABrokenFileNamesItsField(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "it has no active Reserved Instance"},
		{`{"ReservedInstances": []}`, "it has no active Reserved Instance"},
		{"{", "answer 1 is no JSON"},
		{"a: b: c", "answer 1 is no YAML"},
		{`{"Reservations": []}`, "aws ec2 describe-reserved-instances"},
		{strings.Replace(good(), `"InstanceCount": 2, "Scope"`, `"InstanceCount": "two", "Scope"`, 1),
			"answer 1 of 3: ReservedInstances[0].InstanceCount: string is no int"},
		{strings.Replace(good(), `"InstanceCount": 2, "Scope"`, `"InstanceCount": -2, "Scope"`, 1), "InstanceCount: -2 is no number"},
		{strings.Replace(good(), `"AvailabilityZone": "us-west-2a",`, "", 1), "AvailabilityZone is missing"},
		{strings.Replace(good(), "2027-01-01T00:00:00+00:00", "soon", 1), `ReservedInstances[0].End: "soon" is no time`},
		{strings.Replace(good(), `"commitment": "1.5"`, `"commitment": "much"`, 1),
			`answer 2 of 3: savingsPlans[0].commitment: "much" is no amount`},
		{strings.Replace(good(), `"rate": "0.12"`, `"rate": "-1"`, 1), `answer 3 of 3: searchResults[1].rate: "-1"`},
		{strings.Replace(good(), `"nextToken": ""`, `"nextToken": "more"`, 1), "not whole"},
		{strings.Replace(good(), `{"savingsPlanId": "sp-1", "searchResults"`, `{"searchResults"`, 1), "savingsPlanId is missing"},
		{plansAnswer, "savingsPlans: sp-1 has no rates: add the answer of aws savingsplans describe-savings-plan-rates"},
		{plansAnswer + ratesOf("sp-1", rateOf("m5.large", "0.06", "us-west-2", "shared"),
			rateOf("m5.large", "0.06", "us-east-1", "shared")), "rates of us-east-1 and us-west-2"},
	} {
		if _, err := file.Read([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("it says %v, want %q", err, test.want)
		}
	}
	for _, text := range []string{"", "no base64!", "aGVsbG8="} {
		if _, err := file.Unpack(text); err == nil {
			t.Errorf("%q is unpacked", text)
		}
	}
}

// TestWhatIsCarriedIsBounded has plans whose rates are one table, purchases that differ in their names, and
// then too many that differ.
func TestWhatIsCarriedIsBounded(t *testing.T) {
	rates := map[string]float64{}
	sizes := []string{"large", "xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge", "24xlarge"}
	for n := range 130 {
		for _, size := range sizes {
			name := fmt.Sprintf("%c%d.%s", "cmrtx"[n%5], n/5, size)
			rates[name] = math.Round((0.01+0.0007*float64(n))*float64(commitment.UnitsOf(name))*1e5) / 1e5
		}
	}
	c := &file.Commitments{Region: "us-west-2"}
	for n := range 20 {
		c.Plans = append(c.Plans, commitment.SavingsPlan{ID: fmt.Sprint("sp-", n), PerHour: 1, Rates: rates})
		c.Reserved = append(c.Reserved, commitment.ReservedInstance{
			ID: fmt.Sprint("r-", n), InstanceType: "m5.large", Count: 2, PerHour: 0.1,
		})
	}
	text, err := file.Pack(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > file.MostPacked/3 {
		t.Errorf("%d types and 20 plans take %d bytes", len(rates), len(text))
	}
	carried, err := file.Unpack(text)
	if err != nil {
		t.Fatal(err)
	}
	facts := carried.Facts("us-west-2", []string{"c0.large"}, now)
	if len(facts.Reserved) != 1 || facts.Reserved[0].Count != 40 || math.Abs(facts.Reserved[0].PerHour-2) > 1e-9 {
		t.Errorf("equal purchases are %+v", facts.Reserved)
	}
	if got := facts.Plans[19].Rates["c0.large"]; math.Abs(got-rates["c0.large"]) > 1e-3*got {
		t.Errorf("the rate is %v, want %v", got, rates["c0.large"])
	}
	for n := range 400 {
		c.Reserved = append(c.Reserved, commitment.ReservedInstance{
			ID: fmt.Sprintf("r-%x", n*7919), InstanceType: fmt.Sprintf("m%d.large", n), Count: n,
		})
	}
	if _, err := file.Pack(c); err == nil || !strings.Contains(err.Error(), "leave out those that matter least") {
		t.Errorf("too many: %v", err)
	}
}
