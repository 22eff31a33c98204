package function

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestTheCollectorKnowsTheFunctionsMemory(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	defer func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}()
	for _, test := range []struct {
		name, size, limit, percent string
		wantLimit                  int64
		wantPercent                int
	}{
		{"in Lambda", "256", "", "", 187904819, garbage},
		{"by hand", "", "", "", math.MaxInt64, 100},
		{"a size that is none", "much", "", "", math.MaxInt64, 100},
		{"a limit that somebody set", "256", "100MiB", "", math.MaxInt64, 100},
		{"a percentage that somebody set", "256", "", "50", 187904819, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			debug.SetGCPercent(100)
			t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", test.size)
			t.Setenv("GOMEMLIMIT", test.limit)
			t.Setenv("GOGC", test.percent)
			limitMemory()
			if got := debug.SetMemoryLimit(-1); got != test.wantLimit {
				t.Errorf("limit %d, want %d", got, test.wantLimit)
			}
			if got := debug.SetGCPercent(100); got != test.wantPercent {
				t.Errorf("percentage %d, want %d", got, test.wantPercent)
			}
		})
	}
}
