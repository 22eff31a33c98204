package bill_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/bill"
)

// The bounds of the bills of some months. The targets of many are 1.03 and 0.98.
const (
	ofIdeal  = 1.07
	ofUsable = 0.96
)

// TestMonths lives through some made months. BILL_MONTHS says how many, and BILL_EVERY at each how
// many hours.
func TestMonths(t *testing.T) {
	months, every := number(t, "BILL_MONTHS", 2), number(t, "BILL_EVERY", 6)
	var sum bill.Result
	worst := 0.0
	for seed := range uint64(months) {
		r, err := bill.Month(t, seed, every)
		if err != nil {
			t.Fatalf("month %d: %v", seed, err)
		}
		t.Logf("month %3d: $%.0f, %.3f of the ideal, %.3f of the bound, %.3f of list prices, %.3f of the usable used, "+
			"%d pods moved beside %d", seed, r.Paid, r.Paid/r.Ideal, r.Paid/r.Bound, r.Paid/r.ListPrices, r.Used/r.Usable,
			r.Evicted, r.EvictedByList)
		sum.Paid, sum.Ideal, sum.Bound = sum.Paid+r.Paid, sum.Ideal+r.Ideal, sum.Bound+r.Bound
		sum.ListPrices, sum.Used, sum.Usable = sum.ListPrices+r.ListPrices, sum.Used+r.Used, sum.Usable+r.Usable
		sum.Committed, sum.Evicted = sum.Committed+r.Committed, sum.Evicted+r.Evicted
		sum.EvictedByList += r.EvictedByList
		worst = max(worst, r.Paid/r.Ideal)
	}
	t.Logf("%d months: %.3f of the ideal (worst %.3f), %.3f of the bound, %.3f of list prices, %.1f %% of the usable "+
		"used, %.1f %% of all committed, %d pods moved beside %d", months, sum.Paid/sum.Ideal, worst, sum.Paid/sum.Bound,
		sum.Paid/sum.ListPrices, 100*sum.Used/sum.Usable, 100*sum.Used/sum.Committed, sum.Evicted, sum.EvictedByList)
	if sum.Paid > ofIdeal*sum.Ideal || sum.Used < ofUsable*sum.Usable {
		t.Errorf("the bill may be %.2f of the ideal, and %.0f %% of the usable have to be used", ofIdeal, 100*ofUsable)
	}
}

func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: write a number of at least one", name, text)
	}
	return n
}
