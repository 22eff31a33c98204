package lambda

import (
	"strings"
	"testing"
	"time"
)

// TestMemoryIsEnforced checks that a process ends with the invocation in which it has more memory
// than its function, even if it has it for a moment only.
func TestMemoryIsEnforced(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"MemorySize": 192})
	w.invoke("worker", `{"do":"take","megabytes":64}`)
	for _, megabytes := range []string{"200", "2000"} {
		answer, errorType, err := w.service.Invoke(t.Context(), "worker", []byte(`{"do":"take","megabytes":`+megabytes+`}`))
		if err != nil || errorType != "Runtime.ExitError" ||
			!strings.Contains(string(answer), "Error: Runtime exited with error: signal: killed") {
			t.Fatalf("with %s MB: got %.200s, %s, %v", megabytes, answer, errorType, err)
		}
	}
	if next := w.invoke("worker", `{}`); next.Count != 1 {
		t.Errorf("the sandbox was used again after its end: %+v", next)
	}
	past := w.service.Invocations()
	if peak := past[0].PeakMemoryMB; peak < 64 || peak > 192 || past[0].ErrorType != "" {
		t.Errorf("a peak of %d MB, %q, want 64 to 192 and no error", peak, past[0].ErrorType)
	}
	if peak := past[1].PeakMemoryMB; peak != 192 {
		t.Errorf("a peak of %d MB is reported, want the function's 192", peak)
	}
	if !w.logged("/aws/lambda/worker", "Max Memory Used: 192 MB\tStatus: error\tError Type: Runtime.ExitError") {
		t.Error("the log lacks the report of the end")
	}
}

func TestTheInitPhaseHasNoMoreMemory(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"Environment": map[string]any{"Variables": map[string]any{"TAKE_IN_INIT": "1"}}})
	answer, errorType, err := w.service.Invoke(t.Context(), "worker", []byte(`{}`))
	if err != nil || errorType != "Runtime.ExitError" || !strings.Contains(string(answer), "signal: killed") {
		t.Fatalf("got %s, %s, %v", answer, errorType, err)
	}
}

func TestTheShareOfProcessorsIsBilled(t *testing.T) {
	w := newWorld(t)
	w.function("worker", map[string]any{"MemorySize": 256})
	w.invoke("worker", `{}`)
	w.invoke("worker", `{"do":"compute","milliseconds":100}`)
	w.invoke("worker", `{"do":"sleep","milliseconds":300}`)
	past := w.service.Invocations()
	computed, slept := past[1], past[2]
	if computed.Processor < 100*time.Millisecond || computed.Billed < 691*time.Millisecond {
		t.Errorf("100 ms of a processor at 256/1769 are billed as 691 ms or more, not %+v", computed)
	}
	if slept.Duration < 300*time.Millisecond || slept.Processor > slept.Elapsed/2 {
		t.Errorf("waiting takes no processor time, but got %+v", slept)
	}
	if cold := past[0]; cold.Init <= 0 || cold.Billed < cold.Init+cold.Duration {
		t.Errorf("the init phase is billed too, but got %+v", cold)
	}
}

func TestAtShare(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name                     string
		elapsed, processor, want time.Duration
		memoryMB                 int
	}{
		{"only waiting", 100 * ms, 0, 100 * ms, 128},
		{"only computing", 100 * ms, 100 * ms, 400 * ms, megabytesOfProcessor / 4},
		{"both", 100 * ms, 50 * ms, 250 * ms, megabytesOfProcessor / 4},
		{"two threads", 100 * ms, 200 * ms, 200 * ms, megabytesOfProcessor},
		{"two processors", 100 * ms, 200 * ms, 100 * ms, 2 * megabytesOfProcessor},
		{"one thread with two processors", 100 * ms, 100 * ms, 100 * ms, 2 * megabytesOfProcessor},
	} {
		got := atShare(test.elapsed, test.processor, test.memoryMB)
		if (got - test.want).Abs() > ms {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
