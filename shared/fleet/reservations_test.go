package fleet_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// answers gives fixed answers to some actions, and lets the others through.
type answers struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
	byAction map[string]string
	asked    []url.Values
	// spared are the calls that EC2 answers itself; nil spares none.
	spared func(form url.Values) bool
}

func (a *answers) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	answer, known := a.byAction[form.Get("Action")]
	if !known || a.spared != nil && a.spared(form) {
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		return a.next.Do(request)
	}
	a.asked = append(a.asked, form)
	status := http.StatusOK
	if strings.Contains(answer, "<Errors>") {
		status = http.StatusBadRequest
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"text/xml"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: request,
	}, nil
}

// answering makes the account's EC2 answer some actions with the texts.
func (a *account) answering(byAction map[string]string) *answers {
	given := &answers{byAction: byAction}
	a.ec2 = awsec2.New(a.ec2.Options(), func(o *awsec2.Options) {
		given.next = o.HTTPClient
		o.HTTPClient = given
	})
	return given
}

const noEnd = `<capacityReservationId>cr-0b</capacityReservationId><instanceType>m5.large</instanceType><availabilityZone>us-east-1b</availabilityZone><ownerId>123456789012</ownerId>
	<availableInstanceCount>3</availableInstanceCount><totalInstanceCount>5</totalInstanceCount><state>active</state><instanceMatchCriteria>open</instanceMatchCriteria><reservationType>default</reservationType><interruptible>true</interruptible>`

func TestDiscoverFindsCapacityReservations(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	given := a.answering(
		map[string]string{
			"DescribeCapacityReservations": `<DescribeCapacityReservationsResponse><capacityReservationSet><item>` + noEnd + `</item>
		<item><capacityReservationId>cr-0a</capacityReservationId><instanceType>p5.48xlarge</instanceType><availabilityZone>us-east-1a</availabilityZone><ownerId>123456789012</ownerId>
		<availableInstanceCount>1</availableInstanceCount><instanceMatchCriteria>targeted</instanceMatchCriteria><reservationType>capacity-block</reservationType><endDate>2030-01-02T03:04:05.678Z</endDate></item>
		</capacityReservationSet></DescribeCapacityReservationsResponse>`,
		},
	)
	wanted := class()
	wanted.Spec.CapacityReservationSelectorTerms = []api.CapacityReservationSelectorTerm{
		{Tags: map[string]string{"team": "a", "use": "*"}, OwnerID: "123456789012", InstanceMatchCriteria: "open"},
		{ID: "cr-0a"},
	}
	facts := discover(t, a, wanted)
	status := nodeclass.Resolve(wanted, facts, time.Now())
	if len(status.CapacityReservations) != 2 {
		t.Fatalf("%+v, %s", status.CapacityReservations, problems(facts))
	}
	block, open := status.CapacityReservations[0], status.CapacityReservations[1]
	if block.ID != "cr-0a" || block.ReservationType != "capacity-block" || block.State != "active" ||
		block.EndTime == nil || block.EndTime.Nanosecond() != 0 || block.InstanceMatchCriteria != "targeted" {
		t.Errorf("the block is %+v", block)
	}
	if open.InstanceType != "m5.large" || open.AvailabilityZone != "us-east-1b" || open.OwnerID != "123456789012" ||
		!open.Interruptible || open.ReservationType != "default" || open.EndTime != nil {
		t.Errorf("the open one is %+v", open)
	}
	if facts.CapacityReservations[0].AvailableInstances != 3 {
		t.Errorf("room for %d", facts.CapacityReservations[0].AvailableInstances)
	}
	if len(given.asked) != 2 {
		t.Fatalf("asked %d times for two terms", len(given.asked))
	}
	filters := map[string]string{}
	for i := 1; given.asked[0].Get("Filter."+string(rune('0'+i))+".Name") != ""; i++ {
		filters[given.asked[0].Get(
			"Filter."+string(rune('0'+i))+".Name",
		)] = given.asked[0].Get("Filter." + string(rune('0'+i)) + ".Value.1")
	}
	for name, value := range map[string]string{
		"tag:team": "a", "tag-key": "use", "owner-id": "123456789012", "instance-match-criteria": "open",
		"state": "active",
	} {
		if filters[name] != value {
			t.Errorf("filter %s is %q, want %q", name, filters[name], value)
		}
	}
	if given.asked[1].Get("CapacityReservationId.1") != "cr-0a" {
		t.Errorf("the second term asked for %v", given.asked[1])
	}
}

func failure(code string) string {
	return `<Response><Errors><Error><Code>` + code + `</Code><Message>no</Message></Error></Errors><RequestID>1</RequestID></Response>`
}

func TestReservationsThatAreGoneAndThatMayNotBeRead(t *testing.T) {
	a := newAccount(t)
	wanted := class()
	wanted.Spec.CapacityReservationSelectorTerms = []api.CapacityReservationSelectorTerm{{ID: "cr-0a"}}
	given := a.answering(map[string]string{
		"DescribeCapacityReservations": failure("InvalidCapacityReservationId.NotFound"),
	})
	if facts := discover(t, a, wanted); facts.CapacityReservationsProblem.Message != "" ||
		len(facts.CapacityReservations) != 0 {
		t.Errorf("gone: %+v", facts.CapacityReservationsProblem)
	}
	given.byAction["DescribeCapacityReservations"] = failure("UnauthorizedOperation")
	if facts := discover(t, a, wanted); !strings.Contains(
		facts.CapacityReservationsProblem.Message, "spec.capacityReservationSelectorTerms",
	) {
		t.Errorf("denied: %+v", facts.CapacityReservationsProblem)
	}
	given.byAction["DescribeCapacityReservations"] = failure("RequestLimitExceeded")
	if _, err := a.discoverer().Discover(t.Context(), wanted); err == nil {
		t.Error("throttled: taken for an answer")
	}
}

func TestDiscoverFindsThePlacementGroup(t *testing.T) {
	a := newAccount(t)
	group := func(state string) string {
		return `<DescribePlacementGroupsResponse><placementGroupSet><item><groupName>mine</groupName><groupId>pg-0a</groupId><strategy>partition</strategy><partitionCount>3</partitionCount><state>` + state + `</state></item></placementGroupSet></DescribePlacementGroupsResponse>`
	}
	for _, test := range []struct {
		name, answer    string
		selector        api.PlacementGroupSelector
		asked           string
		want            *api.PlacementGroup
		reason, message string
	}{
		{
			"by name", group("available"), api.PlacementGroupSelector{Name: "mine"}, "GroupName.1",
			&api.PlacementGroup{ID: "pg-0a", Name: "mine", Strategy: "partition", PartitionCount: 3}, "", "",
		},
		{
			"by id", group("available"), api.PlacementGroupSelector{ID: "pg-0a"}, "GroupId.1",
			&api.PlacementGroup{ID: "pg-0a", Name: "mine", Strategy: "partition", PartitionCount: 3}, "", "",
		},
		{"that goes", group("deleting"), api.PlacementGroupSelector{ID: "pg-0a"}, "GroupId.1", nil, "", ""},
		{
			"that is not there", failure("InvalidPlacementGroup.Unknown"), api.PlacementGroupSelector{Name: "mine"},
			"GroupName.1", nil, "", "",
		},
		{
			"that may not be read", failure("UnauthorizedOperation"), api.PlacementGroupSelector{Name: "mine"},
			"GroupName.1", nil, api.ReasonPlacementGroupResolutionFailed, "spec.placementGroupSelector",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			given := a.answering(map[string]string{"DescribePlacementGroups": test.answer})
			wanted := class()
			wanted.Spec.PlacementGroupSelector = &test.selector
			facts := discover(t, a, wanted)
			if got := facts.PlacementGroup; (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if problem := facts.PlacementGroupProblem; problem.Reason != test.reason ||
				!strings.Contains(problem.Message, test.message) {
				t.Errorf("problem %+v", problem)
			}
			if given.asked[0].Get(test.asked) == "" {
				t.Errorf("asked %v", given.asked)
			}
		})
	}
}

func TestReservationEnd(t *testing.T) {
	a := newAccount(t)
	answer := func(items string) string {
		return `<DescribeCapacityReservationsResponse><capacityReservationSet>` + items +
			`</capacityReservationSet></DescribeCapacityReservationsResponse>`
	}
	given := a.answering(map[string]string{})
	client := fleet.New(a.ec2, "prod")
	for _, test := range []struct {
		name, answer string
		want         time.Time
		fails        bool
	}{
		{
			"a block", answer(`<item><capacityReservationId>cr-0a</capacityReservationId>` +
				`<endDate>2030-01-02T03:04:05Z</endDate></item>`), time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), false,
		},
		{"no end", answer(`<item>` + noEnd + `</item>`), time.Time{}, false},
		{"gone", failure("InvalidCapacityReservationId.NotFound"), time.Time{}, false},
		{"denied", failure("UnauthorizedOperation"), time.Time{}, true},
	} {
		given.byAction["DescribeCapacityReservations"] = test.answer
		got, err := client.ReservationEnd(t.Context(), "cr-0a")
		if !got.Equal(test.want) || (err != nil) != test.fails {
			t.Errorf("%s: %v, %v, want %v", test.name, got, err, test.want)
		}
	}
	if last := given.asked[len(given.asked)-1].Get("CapacityReservationId.1"); last != "cr-0a" {
		t.Errorf("asked for %q", last)
	}
}
