package crash

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAnswersShowTheFunctionsTime(t *testing.T) {
	begin := time.Date(2026, 3, 1, 10, 7, 20, 0, time.UTC)
	shown := &times{}
	shown.begin(begin)
	const pod = `{"items":[{"metadata":{"uid":"a","creationTimestamp":"2020-01-01T00:00:00Z"},` +
		`"spec":{"count":12345678901},` +
		`"status":{"conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}]}`
	const deletedPod = `{"metadata":{"uid":"a","creationTimestamp":"2020-01-01T00:00:00Z",` +
		`"deletionTimestamp":"2020-01-01T00:00:30Z","deletionGracePeriodSeconds":30}}`
	for _, test := range []struct{ body, want string }{
		{
			pod, `{"items":[{"metadata":{"creationTimestamp":"2026-03-01T10:07:20Z","uid":"a"},"spec":{"count":12345678901},` +
				`"status":{"conditions":[{"lastTransitionTime":"2026-03-01T10:07:20Z","status":"True","type":"PodScheduled"}]}}]}`,
		},
		{
			deletedPod, `{"metadata":{"creationTimestamp":"2026-03-01T10:07:20Z","deletionGracePeriodSeconds":30,` +
				`"deletionTimestamp":"2026-03-01T10:07:56Z","uid":"a"}}`,
		},
		{`{"kind":"Status","code":404}`, `{"code":404,"kind":"Status"}`},
	} {
		response := &http.Response{
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(test.body)),
		}
		if err := shown.replace(response); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(response.Body)
		if err != nil || string(got) != test.want || !json.Valid(got) {
			t.Errorf("%s is shown as %s, want %s (%v)", test.body, got, test.want, err)
		}
		shown.set(begin.Add(6 * time.Second))
	}
}

func TestAnswersOfAWSShowTheFunctionsTime(t *testing.T) {
	begin := time.Date(2026, 3, 1, 10, 7, 20, 0, time.UTC)
	shown := &times{}
	shown.begin(begin)
	launched := time.Now().UTC()
	shown.set(begin.Add(time.Minute))
	format := func(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
	for _, test := range []struct{ body, want string }{
		{
			"<launchTime>" + launched.Format(time.RFC3339Nano) + "</launchTime>",
			"<launchTime>" + format(begin) + "</launchTime>",
		},
		{"<value>2020-01-01T00:00:00Z</value>", "<value>2020-01-01T00:00:00Z</value>"}, // a tag's
		{"<state>running</state>", "<state>running</state>"},
	} {
		if got := string(shown.shift([]byte(test.body))); got != test.want {
			t.Errorf("%s is shown as %s, want %s", test.body, got, test.want)
		}
	}
	if got := shown.shown(time.Now().Add(time.Hour)); got.Sub(begin.Add(time.Minute)).Round(time.Minute) != time.Hour {
		t.Errorf("in an hour is %s", got)
	}
}
