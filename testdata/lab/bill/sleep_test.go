package bill_test

import (
	"os"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/bill"
)

// ofWindows bounds how far the bill of pools that sleep may be above what their windows say.
const ofWindows = 1.02

// TestAMonthWithPoolsThatSleep has a change of the clock in it. With BILL_MONTHS it is a month, else five days.
func TestAMonthWithPoolsThatSleep(t *testing.T) {
	begin, days := time.Date(2026, 10, 22, 0, 0, 0, 0, time.UTC), 5
	if os.Getenv("BILL_MONTHS") != "" {
		begin, days = time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC), 30
	}
	r, err := bill.SleepMonth(t, begin, days)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("$%.2f, %.3f of what the windows say, %.3f of the bill without sleep; nodes stayed in %d of %d minutes of "+
		"sleep; %d pods waited for a pool that should be awake", r.Paid, r.Paid/r.ByWindows, r.Paid/r.Awake, r.Stayed,
		r.Slept, r.Late)
	if r.Late > 0 {
		t.Errorf("%d pods waited, the first of them %s", r.Late, r.First)
	}
	if r.Paid > ofWindows*r.ByWindows || r.Paid > 0.8*r.Awake {
		t.Errorf("the bill may be %.2f of what the windows say", ofWindows)
	}
}
