package guard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/guard"
)

func TestAPanicBecomesAnError(t *testing.T) {
	index, short := 3, []int{1}
	err := guard.Run(func() error { return fmt.Errorf("got %d", short[index]) })
	if !guard.IsPanic(fmt.Errorf("pod: %w", err)) {
		t.Fatalf("got %v, want the error of a panic", err)
	}
	for _, part := range []string{"index out of range [3]", "guard_test.go:", "undo the object's last change"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not contain %q", err, part)
		}
	}
}

func TestOtherErrorsPass(t *testing.T) {
	failed := errors.New("failed")
	if err := guard.Run(func() error { return failed }); !errors.Is(err, failed) || guard.IsPanic(err) {
		t.Errorf("got %v", err)
	}
	if err := guard.Run(func() error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
}
