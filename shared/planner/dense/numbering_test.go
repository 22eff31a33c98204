package dense_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/dense"
)

// TestNumbering holds numbering against a map, with far more texts than it was made for, some of
// which are empty or begin alike.
func TestNumbering(t *testing.T) {
	for _, room := range []int{0, 1, 1000} {
		random := rand.New(rand.NewPCG(uint64(room), 1))
		n := dense.NewTable(room)
		want := map[string]int{}
		var texts []string
		for range 5000 {
			text := fmt.Sprintf("%0*d", random.IntN(6), random.IntN(2000))
			if random.IntN(100) == 0 {
				text = ""
			}
			number, isNew := n.Number([]byte(text))
			known, ok := want[text]
			if !ok {
				known = len(want)
				want[text] = known
				texts = append(texts, text)
			}
			if number != known || isNew == ok {
				t.Fatalf("%q is number %d (new %v), want %d (new %v)", text, number, isNew, known, !ok)
			}
		}
		for i, text := range n.Texts() {
			if text != texts[i] || string(n.Text(i)) != texts[i] {
				t.Errorf("number %d is %q and %q, want %q", i, text, n.Text(i), texts[i])
			}
		}
		if len(n.Texts()) != len(texts) {
			t.Errorf("%d texts, want %d", len(n.Texts()), len(texts))
		}
	}
}
