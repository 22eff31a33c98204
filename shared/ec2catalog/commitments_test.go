package ec2catalog_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/ec2catalog"
)

const reservedAnswer = `<DescribeReservedInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
<reservedInstancesSet>
<item><reservedInstancesId>zonal</reservedInstancesId><instanceType>m5.large</instanceType><scope>Availability Zone</scope>
<availabilityZone>eu-central-1a</availabilityZone><start>2026-01-01T00:00:00Z</start><end>2027-01-01T00:00:00Z</end>
<duration>31536000</duration><fixedPrice>1095.0</fixedPrice><usagePrice>0.0</usagePrice><instanceCount>2</instanceCount>
<productDescription>Linux/UNIX (Amazon VPC)</productDescription><instanceTenancy>default</instanceTenancy>
<recurringCharges><item><frequency>Hourly</frequency><amount>0.125</amount></item></recurringCharges></item>
<item><reservedInstancesId>old</reservedInstancesId><instanceType>m1.small</instanceType><scope>Region</scope>
<usagePrice>0.02</usagePrice><instanceCount>1</instanceCount></item>
<item><reservedInstancesId>nowhere</reservedInstancesId><instanceType>m5.large</instanceType>
<scope>Availability Zone</scope><instanceCount>1</instanceCount></item>
<item><reservedInstancesId>regional</reservedInstancesId><instanceType>c5.xlarge</instanceType><scope>Region</scope>
<start>2026-01-01T00:00:00Z</start><end>2027-01-01T00:00:00Z</end><instanceCount>1</instanceCount>
<productDescription>Windows</productDescription><instanceTenancy>dedicated</instanceTenancy></item>
</reservedInstancesSet></DescribeReservedInstancesResponse>`

// planText is a Savings Plan as its API writes it: numbers are strings.
func planText(id, kind, more string) string {
	return fmt.Sprintf(`{"savingsPlanId":%q,"savingsPlanType":%q,"commitment":"1.5","currency":"USD","state":"active",
"start":"2026-01-01T00:00:00.000Z","end":"2027-01-01T00:00:00.000Z"%s}`, id, kind, more)
}

func rateText(instanceType, rate, unit, usage string) string {
	return fmt.Sprintf(`{"rate":%q,"unit":%q,"currency":"USD","serviceCode":"AmazonEC2","usageType":%q,
"properties":[{"name":"instanceType","value":%q},{"name":"tenancy","value":"shared"}]}`, rate, unit, usage, instanceType)
}

// account answers as EC2 and Savings Plans do, and counts the calls. What is refused fails.
type account struct {
	calls   []string
	refused string
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	action := strings.TrimPrefix(r.URL.Path, "/")
	if action == "" {
		form, _ := url.ParseQuery(string(body))
		action = form.Get("Action")
	}
	a.calls = append(a.calls, action)
	if action == a.refused {
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"message":"not today"}`)
		return
	}
	answer := ""
	switch {
	case action == "DescribeReservedInstances":
		answer = reservedAnswer
	case action == "DescribeSavingsPlans" && !strings.Contains(string(body), "nextToken"):
		answer = `{"savingsPlans":[` + planText("all", "Compute", "") + `],"nextToken":"more"}`
	case action == "DescribeSavingsPlans":
		answer = `{"savingsPlans":[` + strings.Join([]string{
			planText("m5", "EC2Instance", `,"ec2InstanceFamily":"m5","region":"eu-central-1"`),
			planText("elsewhere", "EC2Instance", `,"ec2InstanceFamily":"m5","region":"us-east-1"`),
			planText("models", "SageMaker", ""),
			strings.Replace(planText("yuan", "Compute", ""), "USD", "CNY", 1),
		}, ",") + `]}`
	case action == "DescribeSavingsPlanRates":
		answer = `{"searchResults":[` + strings.Join([]string{
			rateText("m5.large", "0.06", "Hrs", "EUC1-BoxUsage:m5.large"),
			rateText("m5.large", "0.01", "Hrs", "EUC1-UnusedBox:m5.large"),
			rateText("m5.xlarge", "none", "Hrs", "EUC1-BoxUsage:m5.xlarge"),
		}, ",") + `]}`
	}
	_, _ = io.WriteString(w, answer)
}

func TestCommitmentsAreReadAsTheirAPIsWriteThem(t *testing.T) {
	a := &account{}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	reader, err := ec2catalog.NewReader(aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}, catalog.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	start, end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	now := start.AddDate(0, 1, 0)
	rates := map[string]float64{"m5.large": 0.06}
	want := commitment.Facts{
		Time: now,
		Reserved: []commitment.ReservedInstance{
			{ID: "regional", InstanceType: "c5.xlarge", Count: 1, Platform: "Windows", Dedicated: true, Start: start, End: end},
			{ID: "zonal", InstanceType: "m5.large", Count: 2, Zone: "eu-central-1a", Start: start, End: end, PerHour: 0.5},
		},
		Plans: []commitment.SavingsPlan{
			{ID: "all", PerHour: 1.5, Start: start, End: end, Rates: rates},
			{ID: "m5", Family: "m5", PerHour: 1.5, Start: start, End: end, Rates: rates},
		},
	}
	facts, err := reader.Commitments(t.Context(), now, commitment.Facts{})
	if err != nil || !reflect.DeepEqual(facts, want) {
		t.Errorf("read %+v and %v, want %+v", facts, err, want)
	}
	// Rates never change, and are not read again.
	a.calls = nil
	if again, err := reader.Commitments(t.Context(), now, facts); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("read %+v and %v the second time", again, err)
	}
	if calls := strings.Join(a.calls, " "); strings.Contains(calls, "Rates") {
		t.Errorf("called %s", calls)
	}
	for _, refused := range []string{"DescribeReservedInstances", "DescribeSavingsPlans", "DescribeSavingsPlanRates"} {
		a.refused = refused
		previous := facts
		if refused == "DescribeSavingsPlanRates" {
			previous.Plans = []commitment.SavingsPlan{{ID: "known"}}
		}
		kept, err := reader.Commitments(t.Context(), now, previous)
		if err == nil || !reflect.DeepEqual(kept, previous) {
			t.Errorf("without %s it is %+v and %v, want the former", refused, kept, err)
		}
	}
}
