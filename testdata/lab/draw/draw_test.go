package draw

import (
	"fmt"
	"testing"
	"time"
)

func TestAChoiceDependsOnItsSeedAndName(t *testing.T) {
	if Share(1, "a", "b") != Share(1, "a", "b") {
		t.Error("the same seed and name gave different numbers")
	}
	for _, other := range []float64{Share(2, "a", "b"), Share(1, "a", "c"), Share(1, "ab")} {
		if other == Share(1, "a", "b") {
			t.Error("another seed or name gave the same number")
		}
	}
}

func TestSharesAreEven(t *testing.T) {
	const draws, parts = 10_000, 10
	counts := [parts]int{}
	for i := range draws {
		counts[int(Share(7, fmt.Sprint(i))*parts)]++
	}
	for part, count := range counts {
		if count < draws/parts*8/10 || count > draws/parts*12/10 {
			t.Errorf("tenth %d has %d of %d draws", part, count, draws)
		}
	}
}

func TestBetweenKeepsItsBounds(t *testing.T) {
	for i := range 100 {
		if d := Between(1, time.Second, 2*time.Second, fmt.Sprint(i)); d < time.Second || d > 2*time.Second {
			t.Errorf("%s is not from 1 s to 2 s", d)
		}
	}
	if d := Between(1, time.Second, 0, "x"); d != time.Second {
		t.Errorf("without a range %s, want the least", d)
	}
}
