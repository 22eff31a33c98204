package function

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestTheCollectorKnowsTheFunctionsMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, test := range []struct {
		name, size, own string
		want            int64
	}{
		{"in Lambda", "256", "", 214748364},
		{"by hand", "", "", math.MaxInt64},
		{"a size that is none", "much", "", math.MaxInt64},
		{"a limit that somebody set", "256", "100MiB", math.MaxInt64},
	} {
		t.Run(test.name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", test.size)
			t.Setenv("GOMEMLIMIT", test.own)
			limitMemory()
			if got := debug.SetMemoryLimit(-1); got != test.want {
				t.Errorf("limit %d, want %d", got, test.want)
			}
		})
	}
}
