package plantest

import "testing"

// Seeds returns how many random cases a test looks at: n, or a tenth of them in a short run. A test
// with at least one case never skips.
func Seeds(n uint64) uint64 {
	if testing.Short() {
		return (n + 9) / 10
	}
	return n
}
