package function_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"k8s.io/klog/v2"

	"github.com/whittle-dev/whittle/shared/function"
)

// asFunction makes the test's own program a function that fails as its events say.
const asFunction = "WHITTLE_TEST_FUNCTION"

func TestMain(m *testing.M) {
	if os.Getenv(asFunction) == "" {
		os.Exit(m.Run())
	}
	os.Args = os.Args[:1]
	function.Run(func(_ context.Context, how string) (string, error) {
		switch how {
		case "error":
			return "", errors.New("told to fail\nin two lines")
		case "panic":
			panic("told to panic")
		case "log":
			log.Printf("an old library\nsays %s", how)
		case "klog":
			klog.ErrorS(errors.New("no route"), "Unexpected error when reading response body", "peer", "x")
		}
		return how, nil
	}, nil)
}

// runtimeAPI is a fake of Lambda's: it gives events, and counts answers.
type runtimeAPI struct {
	mutex  sync.Mutex
	events []string
	next   int
	failed int
}

func (r *runtimeAPI) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	switch {
	case strings.HasSuffix(request.URL.Path, "/next") && r.next < len(r.events):
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprint("request-", r.next))
		w.Header().Set("Lambda-Runtime-Deadline-Ms", "4000000000000")
		_, _ = w.Write([]byte(r.events[r.next]))
		r.next++
	case strings.HasSuffix(request.URL.Path, "/next"):
		w.WriteHeader(http.StatusGone) // the function ends
	case strings.HasSuffix(request.URL.Path, "/error"):
		r.failed++
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// TestEachFailureIsALineOfOurs runs a function into each kind of failure, and reads its log as CloudWatch
// does: line by line, as JSON.
func TestEachFailureIsALineOfOurs(t *testing.T) {
	api := &runtimeAPI{events: []string{`"fine"`, `"error"`, `{"not": "a text"}`, `"log"`, `"klog"`, `"panic"`}}
	server := httptest.NewServer(api)
	defer server.Close()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = []string{asFunction + "=1", "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(server.URL, "http://"),
		"AWS_LAMBDA_FUNCTION_NAME=whittle-prod-test", "CLUSTER_NAME=prod"}
	var out bytes.Buffer
	command.Stderr = &out
	var exit *exec.ExitError
	if err := command.Run(); !errors.As(err, &exit) {
		t.Fatalf("after a panic it ends with %v", err)
	}
	if api.failed != 3 {
		t.Errorf("%d invocations failed, want those of an error, of a wrong event and of a panic", api.failed)
	}
	type line struct{ Level, Msg, Error, Text, RequestID, Cluster string }
	var lines []line
	for text := range strings.Lines(out.String()) {
		var one line
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Errorf("this line is no JSON: %s", text)
			continue
		}
		if one.Level != "ERROR" || one.Cluster != "prod" {
			t.Errorf("%+v is no line of a failure", one)
		}
		lines = append(lines, one)
	}
	want := []struct{ msg, says, request string }{
		{"invocation failed", "told to fail\nin two lines", "request-1"},
		{"invocation failed", "cannot unmarshal", ""},
		{"a library wrote to the log", "an old library\nsays log", ""},
		{"a library wrote to the log", "Unexpected error when reading response body", ""},
		{"invocation panicked", "", "request-5"},
		{"a library wrote to the log", "should exit", ""},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
	}
	for i, w := range want {
		if got := lines[i]; got.Msg != w.msg || !strings.Contains(got.Error+got.Text, w.says) || got.RequestID != w.request {
			t.Errorf("line %d is %+v, want %+v", i, got, w)
		}
	}
}
