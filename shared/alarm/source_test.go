package alarm_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/whittle-dev/whittle/shared/alarm"
	"github.com/whittle-dev/whittle/shared/freeze"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// cloudWatch answers with pages of metric and composite alarms. It is a fake.
type cloudWatch struct {
	metric, composite []map[string]any
	page              int // alarms on a page; 0 for all
	status            int
	endless           bool
	tagged            [][2]string // names and values of the tag; nil where tags do not count
	asked             []map[string]any
}

func (c *cloudWatch) RoundTrip(r *http.Request) (*http.Response, error) {
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetResources") {
		return c.getResources(in)
	}
	c.asked = append(c.asked, in)
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if c.status != 0 {
		answer.WriteHeader(c.status)
		_ = json.NewEncoder(answer).Encode(map[string]any{"__type": "AccessDenied", "message": "no"})
		return answer.Result(), nil
	}
	out := map[string]any{}
	from := 0
	if token, ok := in["NextToken"].(string); ok {
		_, _ = fmt.Sscan(token, &from)
	}
	all := append(slices.Clone(c.metric), c.composite...)
	to := len(all)
	if c.page > 0 && from+c.page < to {
		to = from + c.page
		out["NextToken"] = fmt.Sprint(to)
	}
	if c.endless {
		out["NextToken"] = "0"
	}
	types, _ := in["AlarmTypes"].([]any)
	var metric, composite []map[string]any
	for i := from; i < to; i++ {
		if i < len(c.metric) {
			metric = append(metric, all[i])
		} else if slices.Contains(types, any("CompositeAlarm")) {
			composite = append(composite, all[i])
		}
	}
	out["MetricAlarms"], out["CompositeAlarms"] = metric, composite
	_ = json.NewEncoder(answer).Encode(out)
	return answer.Result(), nil
}

func described(name, state string) map[string]any {
	return map[string]any{
		"AlarmName": name, "AlarmArn": "arn:aws:cloudwatch:us-east-1:123456789012:alarm:" + name, "StateValue": state,
		"StateUpdatedTimestamp": now.Unix(), "StateTransitionedTimestamp": now.Add(-time.Hour).Unix(),
	}
}

func (c *cloudWatch) source(t *testing.T, setting string) *alarm.Source {
	t.Helper()
	watched, err := alarm.Parse(setting)
	if err != nil {
		t.Fatal(err)
	}
	return alarm.New(aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: &http.Client{Transport: c}, RetryMaxAttempts: 1,
	}, alarm.Settings{Watched: watched, Tagged: c.tagged != nil}, func() time.Time { return now })
}

func states(read *freeze.Alarms) []string {
	var all []string
	for _, one := range read.Alarms {
		all = append(all, one.Name+" "+one.State)
	}
	return all
}

func TestAllPagesAndKindsAreRead(t *testing.T) {
	for _, page := range []int{0, 1, 2} {
		fake := &cloudWatch{
			metric:    []map[string]any{described("errors", "ALARM"), described("latency", "OK")},
			composite: []map[string]any{described("shop", "ALARM")}, page: page,
		}
		read, err := fake.source(t, `["errors","latency=nodepool/batch","shop","errors=nodepool/web"]`).Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"errors ALARM", "errors ALARM", "latency OK", "shop ALARM"}
		if !slices.Equal(states(read), want) || !read.Read.Equal(now) || !read.Alarms[0].Since.Equal(now.Add(-time.Hour)) {
			t.Errorf("pages of %d: %+v", page, read)
		}
		if names := fmt.Sprint(fake.asked[0]["AlarmNames"]); names != "[errors latency shop]" {
			t.Errorf("it asks for %s", names)
		}
	}
}

func TestAReadingIsWholeOrFails(t *testing.T) {
	fake := &cloudWatch{metric: []map[string]any{described("errors", "OK")}, endless: true}
	read, err := fake.source(t, `["errors"]`).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("%+v, %v", read, err)
	}
	fake = &cloudWatch{status: http.StatusBadRequest}
	read, err = fake.source(t, `["errors"]`).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "freezeAlarms") {
		t.Errorf("%+v, %v", read, err)
	}
}

func TestTheInstallationLearnsWhatIsWrong(t *testing.T) {
	fake := &cloudWatch{metric: []map[string]any{described("errors", "ALARM")}}
	if err := fake.source(t, `["errors"]`).Check(t.Context()); err != nil {
		t.Errorf("an alarm that rings fails the installation: %v", err)
	}
	for _, setting := range []string{
		`["errors","erors"]`, `["errors","arn:aws:cloudwatch:eu-west-1:123456789012:alarm:errors"]`,
	} {
		if err := fake.source(t, setting).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "do not have") {
			t.Errorf("%s: %v", setting, err)
		}
	}
	if err := (*alarm.Source)(nil).Check(t.Context()); err != nil {
		t.Errorf("without the setting: %v", err)
	}
}

func TestTheSetting(t *testing.T) {
	watched, err := alarm.Parse("")
	if err != nil || alarm.New(aws.Config{}, alarm.Settings{Watched: watched}, time.Now) != nil {
		t.Errorf("without the setting there are %v, %v", watched, err)
	}
	many, err := json.Marshal(slices.Repeat([]string{"errors"}, freeze.MaximumAlarms+1))
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"errors": "in JSON", `["errors=x"]`: "is no scope", string(many): "too many",
	} {
		if watched, err := alarm.Parse(setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, %v", setting, watched, err)
		}
	}
}

// getResources answers with one alarm on a page.
func (c *cloudWatch) getResources(in map[string]any) (*http.Response, error) {
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/x-amz-json-1.1")
	out, from := map[string]any{"PaginationToken": ""}, 0
	if token, ok := in["PaginationToken"].(string); ok {
		_, _ = fmt.Sscan(token, &from)
	}
	if from+1 < len(c.tagged) {
		out["PaginationToken"] = fmt.Sprint(from + 1)
	}
	list := []map[string]any{}
	if from < len(c.tagged) {
		list = append(list, map[string]any{
			"ResourceARN": described(c.tagged[from][0], "")["AlarmArn"],
			"Tags": []map[string]string{
				{"Key": "team", "Value": "shop"}, {"Key": freeze.AlarmTagKey, "Value": c.tagged[from][1]},
			},
		})
	}
	out["ResourceTagMappingList"] = list
	_ = json.NewEncoder(answer).Encode(out)
	return answer.Result(), nil
}

func TestTaggedAlarmsAreRead(t *testing.T) {
	fake := &cloudWatch{
		metric:    []map[string]any{described("errors", "ALARM"), described("latency", "OK")},
		composite: []map[string]any{described("shop", "ALARM"), described("wrong", "ALARM")},
		tagged: [][2]string{
			{"errors", "nodepool/batch"}, {"latency", "all"}, {"shop", "ec2nodeclass/gpu"}, {"wrong", "batch"}, {"gone", "all"},
		},
	}
	read, err := fake.source(t, `["errors=nodepool/web"]`).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range read.Alarms {
		got = append(got, one.Name+" "+one.Scope.String()+" "+one.State)
	}
	want := []string{
		"errors nodepool/web ALARM", "latency all OK", "shop ec2nodeclass/gpu ALARM", "wrong all ALARM",
	}
	if !slices.Equal(got, want) {
		t.Errorf("read are %q, want %q", got, want)
	}
	fake = &cloudWatch{tagged: [][2]string{}}
	if read, err := fake.source(t, "").Read(t.Context()); err != nil || len(read.Alarms) > 0 || len(fake.asked) > 0 {
		t.Errorf("without a tagged alarm: %+v, %v, after %v", read, err, fake.asked)
	}
	for i := range freeze.MaximumAlarms + 1 {
		fake.tagged = append(fake.tagged, [2]string{fmt.Sprint("errors-", i), "all"})
	}
	if read, err := fake.source(t, "").Read(t.Context()); err == nil || !strings.Contains(err.Error(), "take the tag") {
		t.Errorf("too many are %+v, %v", read, err)
	}
}
