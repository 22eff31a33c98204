package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/shared/function"
)

// rollBack deletes the resource with the id, as CloudFormation does after a failed creation.
func rollBack(t *testing.T, i *installation, id string) error {
	t.Helper()
	_, _, err := i.handle(t.Context(), cfn.Event{RequestType: cfn.RequestDelete, PhysicalResourceID: id})
	return err
}

// unreachable is a connection to a cluster whose address drops packets.
func unreachable() failing {
	return failing{&url.Error{Op: "Get", URL: "https://prod", Err: errors.New("i/o timeout")}}
}

// logged returns what the test logs from here on.
func logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	before, log := slog.Default(), &bytes.Buffer{}
	slog.SetDefault(slog.New(slog.NewJSONHandler(log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return log
}

func TestAFailedCreationRollsBackWithoutTheCluster(t *testing.T) {
	i := newInstallation(t)
	// The cluster answers, and refuses: a deletion that asked it would fail.
	for _, connection := range []failing{unreachable(), {&smithy.GenericAPIError{Code: "AccessDeniedException"}}} {
		i.connection = connection
		i.inVPC = true
		ctx, cancel := context.WithTimeout(t.Context(), function.Reserve+time.Second) // it waits for a new policy
		defer cancel()
		failed, _, err := i.handle(ctx, creation)
		var unsent *url.Error
		if errors.As(err, &unsent) && !strings.Contains(err.Error(), "security groups reach port 443") {
			t.Errorf("the error is %v", err)
		}
		if err == nil || failed == "whittle-install-prod" {
			t.Errorf("a creation without a cluster: %q, %v", failed, err)
		}
		// CloudFormation invents an id when the function never answered.
		for _, id := range []string{failed, "Whittle-prodInstallation-1A2B3C4D", "2c8f7c9e-request-of-a-panic"} {
			if err := rollBack(t, i, id); err != nil {
				t.Errorf("rolling back %q: %v", id, err)
			}
		}
	}
}

func TestAFailedCreationKeepsAnotherInstallation(t *testing.T) {
	i := newInstallation(t)
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatal(err)
	}
	i.lambdaFails.Store(true)
	id, _, err := i.handle(t.Context(), creation)
	if err == nil {
		t.Fatal("a creation without its catalogue succeeds")
	}
	if err := rollBack(t, i, id); err != nil {
		t.Error(err)
	}
	if lacks := missing(t, installed(t)); len(lacks) > 0 {
		t.Errorf("rolling back the second one deleted %q", lacks)
	}
}

func TestDeletingWithoutTheClusterNamesWhatRemains(t *testing.T) {
	i := newInstallation(t)
	rights := installed(t)[1:]
	if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
		t.Fatal(err)
	}
	i.line.calls.Store(0)
	i.line.cut.Store(3) // the line breaks after three deletions
	log := logged(t)
	if _, _, err := i.handle(t.Context(), deletion); err != nil {
		t.Errorf("after three deletions: %v", err)
	}
	var warning struct {
		Level, Remedy string
		Remaining     []string
	}
	if err := json.Unmarshal(log.Bytes(), &warning); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	if warning.Level != "WARN" || len(warning.Remaining) != len(rights)-3 ||
		warning.Remaining[0] != rights[3].GetKind()+" "+rights[3].GetName() ||
		!strings.Contains(warning.Remedy, "app.kubernetes.io/name=whittle") {
		t.Errorf("logged %+v", warning)
	}
	i.connection = unreachable()
	if _, _, err := i.handle(t.Context(), deletion); err != nil {
		t.Errorf("without a connection: %v", err)
	}
	// An answer is no transport error: the deletion may succeed when it is repeated.
	i.connection = failing{&smithy.GenericAPIError{Code: "ThrottlingException"}}
	if _, _, err := i.handle(t.Context(), deletion); err == nil {
		t.Error("a throttled deletion passes for a finished one")
	}
}

func TestALongReasonFitsIntoTheAnswer(t *testing.T) {
	bodies := make(chan []byte, 1)
	bucket := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- body
	}))
	defer bucket.Close()
	event := creation
	event.ResponseURL, event.StackID = bucket.URL, "arn:aws:cloudformation:us-east-1:123456789012:stack/Whittle/0a1b"
	for name, long := range map[string]string{
		"plain": strings.Repeat("x", 5000), "quotes": strings.Repeat(`<">`, 3000), "umlauts": strings.Repeat("aü", 5000),
		"fits": "short",
	} {
		t.Run(name, func(t *testing.T) {
			log := logged(t)
			i := newInstallation(t)
			i.connection, i.endpoint = failing{errors.New("the cause: " + long)}, bucket.URL
			if _, err := i.Handle(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			body := <-bodies
			var told cfn.Response
			if err := json.Unmarshal(body, &told); err != nil {
				t.Fatal(err)
			}
			if len(body) > 4096 || len(long) > 4096 && len(body) < 4000 {
				t.Errorf("the answer has %d bytes", len(body))
			}
			if !strings.HasPrefix(told.Reason, "the cause: "+long[:5]) || strings.ContainsRune(told.Reason, '\uFFFD') ||
				len(long) > 4096 && !strings.HasSuffix(told.Reason, "log has the whole)") {
				t.Errorf("the reason is %q", told.Reason)
			}
			var line struct{ Error string }
			if err := json.Unmarshal(bytes.SplitN(log.Bytes(), []byte("\n"), 2)[0], &line); err != nil ||
				line.Error != "the cause: "+long {
				t.Errorf("logged %d bytes, %v", log.Len(), err)
			}
		})
	}
}
