package zonalshift_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

const arn = "arn:aws:eks:us-east-1:123456789012:cluster/prod"

// world answers for ARC, with the shifts of one cluster, and for the API server, with one ConfigMap.
// It is a fake.
type world struct {
	mutex  sync.Mutex
	shifts []map[string]any
	broken bool
	stored *corev1.ConfigMap
	writes int
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/managedresources/"):
		if w.broken {
			recorder.WriteHeader(http.StatusForbidden)
		}
		_ = json.NewEncoder(recorder).Encode(map[string]any{
			"arn": arn, "appliedWeights": map[string]float64{}, "zonalShifts": w.shifts,
		})
	case r.Method == http.MethodGet && w.stored == nil:
		recorder.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(recorder,
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	case r.Method == http.MethodGet:
		_ = json.NewEncoder(recorder).Encode(w.stored)
	default:
		w.stored = &corev1.ConfigMap{}
		if err := json.NewDecoder(r.Body).Decode(w.stored); err != nil {
			return nil, err
		}
		w.writes++
		w.stored.APIVersion, w.stored.Kind, w.stored.ResourceVersion = "v1", "ConfigMap", fmt.Sprint(w.writes)
		_ = json.NewEncoder(recorder).Encode(w.stored)
	}
	return recorder.Result(), nil
}

func (w *world) set(broken bool, zones ...string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.broken, w.shifts = broken, nil
	for i, zone := range zones {
		status := "APPLIED"
		if i > 0 {
			status = "NOT_APPLIED" // of several shifts one is in effect
		}
		w.shifts = append(w.shifts, map[string]any{
			"appliedStatus": status, "awayFrom": zone, "comment": "", "resourceIdentifier": arn, "zonalShiftId": zone,
			"expiryTime": time.Now().Add(time.Hour).Unix(), "startTime": time.Now().Unix(),
		})
	}
}

func (w *world) inCluster(t *testing.T) map[string]time.Time {
	t.Helper()
	var known catalog.Unavailable
	if w.stored != nil {
		for _, text := range w.stored.Data {
			if err := json.Unmarshal([]byte(text), &known); err != nil {
				t.Fatal(err)
			}
		}
	}
	return known.Shifted
}

// connect returns the client of the API server, and a function that makes a new container's source.
func (w *world) connect(t *testing.T) (*cluster.Client, func() *zonalshift.Source) {
	t.Helper()
	client, err := cluster.NewForConfig(cluster.Endpoint{Name: "prod", URL: "http://cluster"},
		&rest.Config{Host: "http://cluster", Transport: w})
	if err != nil {
		t.Fatal(err)
	}
	config := aws.Config{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: &http.Client{Transport: w}, RetryMaxAttempts: 1,
	}
	return client, func() *zonalshift.Source { return zonalshift.New(config, arn, time.Now) }
}

func TestShiftsAreFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		client, container := w.connect(t)
		source := container()
		refresh := func(when string, want ...string) zonalshift.Change {
			t.Helper()
			got, change := source.Refresh(context.Background(), client)
			if len(got) != len(want) || len(want) > 0 && got[want[0]].IsZero() {
				t.Errorf("%s: the shifts are %v, want %v", when, got, want)
			}
			return change
		}
		if change := refresh("at first"); len(change.Begun)+len(change.Ended)+w.writes != 0 {
			t.Errorf("without shifts there are %+v and %d writes", change, w.writes)
		}
		w.set(false, "use1-az1", "use1-az2")
		refresh("within five seconds")
		time.Sleep(5 * time.Second)
		if change := refresh("after five seconds", "use1-az1"); len(change.Begun) != 1 || len(w.inCluster(t)) != 1 {
			t.Errorf("the change is %+v, and the cluster knows %v", change, w.inCluster(t))
		}
		time.Sleep(5 * time.Second)
		if change := refresh("later", "use1-az1"); len(change.Begun) != 0 || w.writes != 1 {
			t.Errorf("nothing new is %+v after %d writes", change, w.writes)
		}
		w.set(true)
		time.Sleep(5 * time.Second)
		refresh("while ARC does not answer", "use1-az1")
		source = container()
		refresh("and in a new container", "use1-az1")
		if w.writes != 1 {
			t.Errorf("%d writes without an answer of ARC", w.writes)
		}
		w.set(false)
		time.Sleep(5 * time.Second)
		if change := refresh("after the cancellation"); len(change.Ended) != 1 || len(w.inCluster(t)) != 0 {
			t.Errorf("the change is %+v, and the cluster knows %v", change, w.inCluster(t))
		}
	})
}

// TestARefusalFailsTheInstallation holds that install learns what a later pass only logs.
func TestARefusalFailsTheInstallation(t *testing.T) {
	w := &world{}
	_, source := w.connect(t)
	if err := source().Check(t.Context()); err != nil {
		t.Errorf("ARC answers: %v", err)
	}
	w.set(true)
	if err := source().Check(t.Context()); err == nil || !strings.Contains(err.Error(), "zonalShift") {
		t.Errorf("ARC refuses: %v, want the setting's name", err)
	}
	if err := (*zonalshift.Source)(nil).Check(t.Context()); err != nil {
		t.Errorf("without the setting: %v", err)
	}
}

func TestWithoutTheSettingNothingIsAsked(t *testing.T) {
	source := zonalshift.New(aws.Config{}, "", time.Now)
	got, change := source.Refresh(t.Context(), nil)
	if got != nil || len(change.Begun) > 0 || source.Known(t.Context(), nil) != nil {
		t.Errorf("the shifts are %v, %v", got, change)
	}
}
