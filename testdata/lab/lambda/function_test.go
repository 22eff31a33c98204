package lambda

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

func TestInvokeOverTheWire(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{
		"MemorySize": 256, "Environment": map[string]any{"Variables": map[string]any{"COLOR": "green"}},
	})
	call := func(payload string) *awslambda.InvokeOutput {
		t.Helper()
		out, err := w.client.Invoke(t.Context(),
			&awslambda.InvokeInput{FunctionName: aws.String("worker"), Payload: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	var first, second report
	for i, to := range []*report{&first, &second} {
		out := call(`{"do":"print","text":"a line of output"}`)
		if out.StatusCode != http.StatusOK || out.FunctionError != nil || aws.ToString(out.ExecutedVersion) != "$LATEST" {
			t.Fatalf("call %d: %+v", i, out)
		}
		if err := json.Unmarshal(out.Payload, to); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{
			"START RequestId: " + to.RequestID, "a line of output", "END RequestId: " + to.RequestID,
			"REPORT RequestId: " + to.RequestID, "Memory Size: 256 MB",
		} {
			if !w.logged("/aws/lambda/worker", part) {
				t.Errorf("call %d: the log lacks %q", i, part)
			}
		}
	}
	if first.PID != second.PID || second.Count != 2 {
		t.Errorf("the second call was not warm: %+v, then %+v", first, second)
	}
	if want := "arn:aws:lambda:us-east-1:123456789012:function:worker"; first.FunctionARN != want {
		t.Errorf("invoked function ARN %q, want %q", first.FunctionARN, want)
	}
	invocations := w.service.Invocations()
	if cold := invocations[0]; !cold.Cold || cold.Billed < cold.Init+cold.Duration ||
		cold.Billed > cold.Init+cold.Duration+time.Millisecond || cold.MemoryMB != 256 {
		t.Errorf("cold invocation %+v: want billed init and duration rounded up to a millisecond", cold)
	}
	if runtime.GOOS == "linux" && invocations[1].PeakMemoryMB < 1 {
		t.Errorf("peak memory of %+v is not known", invocations[1])
	}
	out := call(`{"do":"error"}`)
	if aws.ToString(out.FunctionError) != "Unhandled" ||
		!strings.Contains(string(out.Payload), `"errorMessage":"told to fail"`) {
		t.Errorf("failing call: %s %s", aws.ToString(out.FunctionError), out.Payload)
	}
	var notFound *types.ResourceNotFoundException
	if _, err := w.client.Invoke(t.Context(),
		&awslambda.InvokeInput{FunctionName: aws.String("nobody")}); !errors.As(err, &notFound) {
		t.Errorf("an unknown function gives %v, want ResourceNotFoundException", err)
	}
	_, err := w.client.ListFunctions(t.Context(), &awslambda.ListFunctionsInput{})
	if err == nil || !strings.Contains(err.Error(), "has no GET /2015-03-31/functions") {
		t.Errorf("ListFunctions gives %v, want a refusal that names it", err)
	}
}

// TestEnvironment checks that a function has Lambda's variables and none of this process.
func TestEnvironment(t *testing.T) {
	t.Setenv("WHITTLE_SECRET_OF_THE_PARENT", "leak")
	w := newWorld(t)
	w.function("worker", map[string]any{"Environment": map[string]any{"Variables": map[string]any{"COLOR": "green"}}})
	got := map[string]string{}
	for _, entry := range w.invoke("worker", `{"do":"environment"}`).Environment {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	for name, want := range map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "worker", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
		"AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_REGION":                  "us-east-1", "AWS_DEFAULT_REGION": "us-east-1",
		"AWS_LAMBDA_LOG_GROUP_NAME":      "/aws/lambda/worker",
		"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "_HANDLER": "bootstrap", "TZ": ":UTC", "COLOR": "green",
		"AWS_ACCESS_KEY_ID":     "ASIAworker",
		"AWS_SECRET_ACCESS_KEY": "secret of arn:aws:iam::123456789012:role/worker", "AWS_SESSION_TOKEN": "token",
		"AWS_ENDPOINT_URL": w.service.options.Endpoint(),
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"WHITTLE_SECRET_OF_THE_PARENT", "HOME", "GOPATH", "AWS_CA_BUNDLE"} {
		if value, leaked := got[name]; leaked {
			t.Errorf("%s=%s leaked into the sandbox", name, value)
		}
	}
}

func TestTimeoutAndCrash(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"Timeout": 1})
	first := w.invoke("worker", `{}`)
	for _, test := range []struct{ payload, errorType, message string }{
		{`{"do":"sleep","milliseconds":20000}`, "Sandbox.Timedout", "Error: Task timed out after 1.00 seconds"},
		{`{"do":"crash"}`, "Runtime.ExitError", "Error: Runtime exited with error: exit status 1"},
	} {
		t.Run(test.errorType, func(t *testing.T) {
			answer, errorType, err := w.service.Invoke(t.Context(), "worker", []byte(test.payload))
			if err != nil || errorType != test.errorType || !strings.Contains(string(answer), test.message) ||
				!strings.Contains(string(answer), `"errorMessage":"RequestId: `) {
				t.Fatalf("got %s, %s, %v", answer, errorType, err)
			}
			next := w.invoke("worker", `{}`)
			if next.Count != 1 {
				t.Errorf("the sandbox was used again after %s: %+v", test.errorType, next)
			}
		})
	}
	if err := syscall.Kill(first.PID, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process of the timed out sandbox is still there: %v", err)
	}
	if !w.logged("/aws/lambda/worker", "going down") || !w.logged("/aws/lambda/worker", "Status: timeout") {
		t.Error("the log lacks the crash's output or the timeout's report")
	}
}

// TestSystemLogLevel checks that WARN drops Lambda's own lines about successes and keeps the
// function's lines.
func TestSystemLogLevel(t *testing.T) {
	for level, want := range map[string][]string{
		"": {"platform.initStart", "platform.start", "platform.report success", "platform.start",
			"platform.report error errorString",
			"platform.start", "platform.report timeout", "platform.initStart", "platform.start",
			"platform.report error Runtime.ExitError"},
		"WARN": {"platform.report error errorString", "platform.report timeout", "platform.report error Runtime.ExitError"},
	} {
		t.Run("level "+level, func(t *testing.T) {
			w := newWorld(t)
			logging := map[string]any{"LogFormat": "JSON"}
			if level != "" {
				logging["SystemLogLevel"] = level
			}
			w.function("worker", map[string]any{"Timeout": 1, "LoggingConfig": logging})
			for _, payload := range []string{
				`{"do":"print","text":"said"}`, `{"do":"error"}`, `{"do":"sleep","milliseconds":20000}`, `{"do":"crash"}`,
			} {
				if _, _, err := w.service.Invoke(t.Context(), "worker", []byte(payload)); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, event := range w.logs.Events("/aws/lambda/worker") {
				var line struct {
					Type   string
					Record struct{ Status, ErrorType string }
				}
				if json.Unmarshal([]byte(event.Message), &line) == nil {
					got = append(got, strings.TrimSpace(line.Type+" "+line.Record.Status+" "+line.Record.ErrorType))
				}
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
				t.Errorf("the log has %q, want %q", got, want)
			}
			for _, said := range []string{"said", "going down"} {
				if !w.logged("/aws/lambda/worker", said) {
					t.Errorf("the log lacks the function's own %q", said)
				}
			}
		})
	}
}

func TestInitFailure(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"Environment": map[string]any{"Variables": map[string]any{"FAIL_INIT": "1"}}})
	answer, errorType, err := w.service.Invoke(t.Context(), "worker", []byte(`{}`))
	if err != nil || errorType != "Runtime.ExitError" || !strings.Contains(string(answer), "exit status 3") {
		t.Fatalf("got %s, %s, %v", answer, errorType, err)
	}
	until(t, "the output is in the log", time.Second, func() bool {
		return w.logged("/aws/lambda/worker", "about to fail")
	})
}

func TestUnusableBootstrap(t *testing.T) {
	w := newWorld(t)
	code, err := zipped(map[string]string{"bootstrap": "this is no program"})
	if err != nil {
		t.Fatal(err)
	}
	w.service.options.Objects.(bucket)["assets/broken.zip"] = code
	w.function("worker", map[string]any{"Code": map[string]any{"S3Bucket": "assets", "S3Key": "broken.zip"}})
	for range 2 {
		answer, errorType, err := w.service.Invoke(t.Context(), "worker", []byte(`{}`))
		if err != nil || errorType != "Runtime.InvalidEntrypoint" {
			t.Fatalf("got %s, %s, %v", answer, errorType, err)
		}
	}
}

func TestConcurrency(t *testing.T) {
	w := newWorld(t)
	w.service.concurrency = 2
	w.function("worker", nil)
	var wait sync.WaitGroup
	pids := make([]int, 2)
	for i := range pids {
		wait.Go(func() { pids[i] = w.invoke("worker", `{"do":"sleep","milliseconds":1200}`).PID })
	}
	until(t, "two sandboxes are busy", 5*time.Second, func() bool {
		f, err := w.service.find("worker")
		if err != nil {
			return false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.taken == 2
	})
	var throttled *types.TooManyRequestsException
	if _, err := w.client.Invoke(t.Context(), &awslambda.InvokeInput{FunctionName: aws.String("worker")}); !errors.As(err,
		&throttled) {
		t.Errorf("a third invocation gave %v, want TooManyRequestsException", err)
	}
	wait.Wait()
	if pids[0] == pids[1] {
		t.Error("two invocations at once shared a sandbox")
	}
}

// TestEventRetries checks that a failing event is tried three times.
func TestEventRetries(t *testing.T) {
	w := newWorld(t)
	w.service.asyncRetryDelays = []time.Duration{20 * time.Millisecond, 20 * time.Millisecond}
	w.function("worker", nil)
	out, err := w.client.Invoke(t.Context(),
		&awslambda.InvokeInput{
			FunctionName: aws.String("worker"), InvocationType: types.InvocationTypeEvent, Payload: []byte(`{"do":"error"}`),
		})
	if err != nil || out.StatusCode != http.StatusAccepted {
		t.Fatalf("%+v, %v", out, err)
	}
	until(t, "the third attempt", 10*time.Second, func() bool { return len(w.service.Invocations()) == 3 })
	var attempts []int
	for _, i := range w.service.Invocations() {
		attempts = append(attempts, i.Attempt)
	}
	if !slices.Equal(attempts, []int{1, 2, 3}) {
		t.Errorf("attempts %v, want 1, 2, 3", attempts)
	}
}

// TestUpdateReplacesSandboxes: new settings are seen by the next invocation.
func TestUpdateReplacesSandboxes(t *testing.T) {
	w := newWorld(t)
	w.function("worker", nil)
	first := w.invoke("worker", `{}`)
	red := properties("worker", map[string]any{"Environment": map[string]any{"Variables": map[string]any{"COLOR": "red"}}})
	if _, err := (functionType{w.service}).Update(t.Context(), cloudformation.Request{
		PhysicalID: "worker", Properties: red, OldProperties: properties("worker", nil),
	}); err != nil {
		t.Fatal(err)
	}
	second := w.invoke("worker", `{"do":"environment"}`)
	if first.PID == second.PID || !slices.Contains(second.Environment, "COLOR=red") {
		t.Errorf("the old sandbox answered: %+v", second)
	}
	until(t, "the old process is gone", 5*time.Second, func() bool {
		return errors.Is(syscall.Kill(first.PID, 0), syscall.ESRCH)
	})
}

func TestIdleSandboxEnds(t *testing.T) {
	w := newWorld(t)
	w.service.idleTime = 50 * time.Millisecond
	w.function("worker", nil)
	first := w.invoke("worker", `{}`)
	until(t, "the idle process is gone", 5*time.Second, func() bool {
		return errors.Is(syscall.Kill(first.PID, 0), syscall.ESRCH)
	})
	if again := w.invoke("worker", `{}`); again.Count != 1 {
		t.Errorf("%+v: want a cold start", again)
	}
}

func TestTemplateRefusals(t *testing.T) {
	other := "arm64"
	if machineArchitecture() == other {
		other = "x86_64"
	}
	w := newWorld(t)
	for _, test := range []struct {
		name string
		more map[string]any
		says string
	}{
		{"runtime", map[string]any{"Runtime": "nodejs20.x"}, "only provided.al2023"},
		{"architecture", map[string]any{"Architectures": []any{other}}, "architecture=" + machineArchitecture()},
		{"unknown property", map[string]any{"Layers": []any{"x"}}, "Layers"},
		{"memory", map[string]any{"MemorySize": 64}, "128 to 10240"},
		{"timeout", map[string]any{"Timeout": "1801"}, "1 to 1800"},
		{
			"level without JSON", map[string]any{"LoggingConfig": map[string]any{"SystemLogLevel": "WARN"}},
			"needs LogFormat JSON",
		},
		{
			"level that is none",
			map[string]any{"LoggingConfig": map[string]any{"LogFormat": "JSON", "SystemLogLevel": "ERROR"}},
			"DEBUG, INFO or WARN",
		},
		{
			"reserved variable", map[string]any{"Environment": map[string]any{"Variables": map[string]any{"AWS_REGION": "x"}}},
			"AWS_REGION",
		},
		{
			"code that is not there", map[string]any{"Code": map[string]any{"S3Bucket": "assets", "S3Key": "none"}},
			"s3://assets/none",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := (functionType{w.service}).Create(t.Context(),
				cloudformation.Request{LogicalID: "F", Properties: properties("f", test.more)})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestUnpackRefusesPathsOutside(t *testing.T) {
	w := newWorld(t)
	code, err := zipped(map[string]string{"../outside": "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.unpack(code); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("error %v, want one about the path", err)
	}
}

// TestClose leaves neither processes nor goroutines, whatever is under way.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	var pid int
	t.Run("world", func(t *testing.T) {
		w := newWorld(t)
		w.function("worker", nil)
		w.function("busy", map[string]any{"Timeout": 20})
		arn := w.queue("work", map[string]string{"VisibilityTimeout": "60"})
		w.mapQueue("busy", arn, nil)
		pid = w.invoke("worker", `{}`).PID
		w.send("work", "slow")
		until(t, "the slow message is being processed", 10*time.Second, func() bool {
			return w.logged("/aws/lambda/busy", "message slow")
		})
		if err := w.service.InvokeAsync(t.Context(), w.service.arn("busy"),
			[]byte(`{"do":"sleep","milliseconds":19000}`)); err != nil {
			t.Fatal(err)
		}
		w.function("deleted", map[string]any{"Timeout": 20})
		if err := w.service.InvokeAsync(t.Context(), w.service.arn("deleted"),
			[]byte(`{"do":"sleep","milliseconds":19000}`)); err != nil {
			t.Fatal(err)
		}
		until(t, "the function to be deleted works", 10*time.Second, func() bool {
			return w.logged("/aws/lambda/deleted", "START")
		})
		if err := (functionType{w.service}).Delete(t.Context(), cloudformation.Request{PhysicalID: "deleted"}); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		_ = w.service.Close()
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("Close took %v", took)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
		if left := processesIn(t, w.service.options.Directory); left != "" {
			t.Errorf("processes are left: %s", left)
		}
	})
	until(t, "goroutines are gone", 5*time.Second, func() bool { return runtime.NumGoroutine() <= before })
}

// processesIn finds the processes of programs in a folder.
func processesIn(t *testing.T, directory string) string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Logf("no /proc on this system: %v", err)
		return ""
	}
	var found []string
	for _, entry := range entries {
		file, err := os.Open("/proc/" + entry.Name() + "/cmdline")
		if err != nil {
			continue
		}
		line, _ := bufio.NewReader(file).ReadString(0)
		_ = file.Close()
		if strings.HasPrefix(line, directory) {
			found = append(found, entry.Name())
		}
	}
	return strings.Join(found, " ")
}
