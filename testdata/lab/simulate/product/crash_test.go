package product_test

import (
	"encoding/json"
	"os"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"github.com/whittle-dev/whittle/testdata/lab/crash"
)

// TestCrash is the command `make crash`: it runs the scenarios of the crash matrix in virtual time,
// and writes one line of JSON for each into CRASH_RESULTS.
func TestCrash(t *testing.T) {
	file := os.Getenv("CRASH_RESULTS")
	if file == "" {
		t.Skip("this is for make crash")
	}
	results, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer results.Close()
	quiet()
	sweep, err := crash.ParseSweep(os.Getenv("CRASH_PART"))
	if err != nil {
		t.Fatal(err)
	}
	world, err := crash.OpenModel(crash.Model{Start: start, Bubble: func(run func()) {
		t.Run("trial", func(t *testing.T) {
			cryptotest.SetGlobalRandom(t, 1)
			synctest.Test(t, func(*testing.T) { run() })
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	scenarios := crash.Select(crash.Scenarios(), os.Getenv("CRASH_SCENARIO"))
	lines := json.NewEncoder(results)
	matrix := &crash.Matrix{
		Worlds: []*crash.World{world}, Sweep: sweep.Share(number(t, "CRASH_SHARE", 0), number(t, "CRASH_SHARES", 0)),
		Finished: func(row *crash.Row) {
			if err := lines.Encode(row); err != nil {
				t.Error(err)
			}
		},
	}
	if _, err := matrix.Run(t.Context(), scenarios); err != nil {
		t.Fatal(err)
	}
}
