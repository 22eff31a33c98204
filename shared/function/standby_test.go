package function

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// apiServer answers lists with the leases and pods that it is given, or refuses.
type apiServer struct {
	leases  string
	pods    string
	refuses bool
	asked   int
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, version, items := "LeaseList", "coordination.k8s.io/v1", a.leases
	if strings.HasSuffix(r.URL.Path, "/pods") {
		kind, version, items = "PodList", "v1", a.pods
	} else {
		a.asked++
	}
	w.Header().Set("Content-Type", "application/json")
	if a.refuses {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	fmt.Fprintf(w, `{"kind": %q, "apiVersion": %q, "items": [%s]}`, kind, version, items)
}

const (
	led = `{"metadata": {"namespace": "kube-system", "name": "karpenter-leader-election"},
	"spec": {"holderIdentity": "karpenter-1_ab", "renewTime": "2026-03-01T12:00:00.000000Z", "leaseDurationSeconds": 15}}`
	leading = `{"metadata": {"namespace": "kube-system", "name": "karpenter-1"}}`
)

func connected(t *testing.T, server *apiServer, now *time.Time) *Connection {
	t.Helper()
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	client, err := cluster.NewForConfig(
		cluster.Endpoint{Name: "prod", URL: listener.URL}, &rest.Config{Host: listener.URL})
	if err != nil {
		t.Fatal(err)
	}
	return &Connection{Karpenter: cluster.KarpenterAccounts(), name: "prod", client: client, read: *now, now: func() time.Time { return *now }}
}

func TestStandbyWhileKarpenterActs(t *testing.T) {
	now := time.Date(2026, time.March, 1, 12, 0, 2, 0, time.UTC)
	server := &apiServer{leases: led, pods: leading}
	connection := connected(t, server, &now)
	var numbers strings.Builder
	handled, aside := 0, 0
	handler := Standby(
		connection,
		metrics.NewRecorder("prod", &numbers, time.Now),
		func(context.Context, string) (string, error) {
			handled++
			return "done", nil
		},
		func(context.Context, string) (string, error) {
			aside++
			return "kept", nil
		},
	)
	for range 3 {
		if answer, err := handler(t.Context(), "event"); err != nil || answer != "kept" || handled != 0 {
			t.Fatalf("answered %q, %v, and handled %d events", answer, err, handled)
		}
	}
	if aside != 3 {
		t.Errorf("set %d events aside, want 3", aside)
	}
	if server.asked != 1 {
		t.Errorf("the API server was asked %d times within a moment, want once", server.asked)
	}
	if got := strings.Count(numbers.String(), `"StoodBack":1`); got != 3 {
		t.Errorf("counted %d times: %s", got, numbers.String())
	}
	now = now.Add(leaderFor) // given back meanwhile
	server.leases = ""
	if answer, err := handler(t.Context(), "event"); err != nil || answer != "done" || handled != 1 {
		t.Errorf("once Karpenter is gone: %q, %v, %d handled", answer, err, handled)
	}
	now = now.Add(leaderFor)
	server.leases, server.pods = led, "" // a lease that somebody else wrote
	if answer, err := handler(t.Context(), "event"); err != nil || answer != "done" || handled != 2 {
		t.Errorf("with a lease of no Karpenter: %q, %v, %d handled", answer, err, handled)
	}
	now = now.Add(leaderFor)
	server.refuses = true
	if _, err := handler(t.Context(), "event"); err == nil || handled != 2 {
		t.Errorf("when nobody can tell: %v, %d handled", err, handled)
	}
	connection.dryRun = true
	if answer, err := handler(t.Context(), "event"); err != nil || answer != "done" {
		t.Errorf("in a dry run: %q, %v", answer, err)
	}
}

// TestADryRunCallsNothingThatChanges also holds that questions get through.
func TestADryRunCallsNothingThatChanges(t *testing.T) {
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		calls = append(calls, r.Form.Get("Action")+r.Header.Get("X-Amz-Target"))
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		APIOptions:  []func(*middleware.Stack) error{onlyRead},
	}
	client := ec2.NewFromConfig(config)
	for name, call := range map[string]func() error{
		"RunInstances": func() error {
			_, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{MinCount: aws.Int32(1), MaxCount: aws.Int32(1)})
			return err
		},
		"TerminateInstances": func() error {
			_, err := client.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{
				InstanceIds: []string{"i-1"}, DryRun: aws.Bool(false),
			})
			return err
		},
		"DeleteLaunchTemplate": func() error {
			_, err := client.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{})
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), dryRunOperation) || len(calls) > 0 {
			t.Errorf("%s: %v, sent %v", name, err, calls)
		}
	}
	_, _ = client.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	_, _ = client.RunInstances(
		t.Context(), &ec2.RunInstancesInput{DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1)})
	messages := sqs.NewFromConfig(config)
	_, _ = messages.SendMessage(
		t.Context(), &sqs.SendMessageInput{QueueUrl: &server.URL, MessageBody: aws.String("tick")})
	_, _ = messages.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &server.URL, ReceiptHandle: aws.String("receipt"), VisibilityTimeout: 1,
	})
	if got := strings.Join(calls, " "); got != "DescribeInstances RunInstances AmazonSQS.SendMessage "+
		"AmazonSQS.ChangeMessageVisibility" {
		t.Errorf("sent %q", got)
	}
}

func TestKarpenterAccounts(t *testing.T) {
	for _, test := range []struct{ value, want string }{
		{"", "[kube-system/karpenter karpenter/karpenter]"},
		{"autoscaling/controller", "[autoscaling/controller]"},
	} {
		settings := SettingsFrom(func(string) string { return test.value })
		if got := fmt.Sprint(KarpenterAccounts(settings)); got != test.want || settings.Err() != nil {
			t.Errorf("%q: %s, %v", test.value, got, settings.Err())
		}
	}
	settings := SettingsFrom(func(string) string { return "karpenter" })
	if KarpenterAccounts(settings); settings.Err() == nil ||
		!strings.Contains(settings.Err().Error(), `KARPENTER_SERVICE_ACCOUNTS is "karpenter"`) {
		t.Errorf("error is %v", settings.Err())
	}
}

// TestAConnectionReadsTheWallClock holds that its memory ages while Lambda freezes the container. The
// monotonic clock may stand still then.
func TestAConnectionReadsTheWallClock(t *testing.T) {
	if now := (Deps{}).Connection(aws.Config{}, "prod").now(); now != now.Round(0) {
		t.Errorf("%s has a monotonic part", now)
	}
}

// TestALostEKSLeavesTimeToAnswer holds that an invocation whose first call gets no answer still ends
// by itself, so that its messages come back at once.
func TestALostEKSLeavesTimeToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(10 * time.Second)
		ctx, cancel := context.WithDeadline(t.Context(), end)
		defer cancel()
		connection := (Deps{}).Connection(aws.Config{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			HTTPClient: smithyhttp.ClientDoFunc(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}),
		}, "prod")
		handler := Standby(connection, metrics.NewRecorder("prod", io.Discard, time.Now),
			func(context.Context, string) (string, error) { return "", nil }, nil)
		if _, err := handler(ctx, "tick"); err == nil || time.Until(end) < Reserve {
			t.Errorf("error %v, %s before the end", err, time.Until(end))
		}
	})
}
