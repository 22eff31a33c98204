package kubernetes

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tryLock(path); !errors.Is(err, errLocked) {
		t.Errorf("a lock that is held was not refused: %v", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for it did not end with the context: %v", err)
	}

	waited := make(chan error)
	go func() {
		again, err := lock(t.Context(), path)
		if err == nil {
			err = again.Close()
		}
		waited <- err
	}()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("the lock was not handed on: %v", err)
	}
}

func TestLockNamesAnUnusablePath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing", "lock")
	if _, err := lock(t.Context(), path); err == nil || errors.Is(err, errLocked) {
		t.Errorf("a lock in a directory that is not there gave %v", err)
	}
}
