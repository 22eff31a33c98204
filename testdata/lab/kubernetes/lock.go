package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockInterval is the interval of tries for a lock that another process holds. A blocking flock
// could not be cancelled.
const lockInterval = 200 * time.Millisecond

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked by another process")

// tryLock takes the advisory lock of the file at path, which it creates if need be, or returns
// errLocked. The lock is held until the file is closed, by every process that has inherited it too:
// one that dies leaves no stale lock.
func tryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking %q: %w", path, err)
	}
	return file, nil
}

// lock waits for the lock until ctx ends.
func lock(ctx context.Context, path string) (*os.File, error) {
	ticker := time.NewTicker(lockInterval)
	defer ticker.Stop()
	for {
		file, err := tryLock(path)
		if !errors.Is(err, errLocked) {
			return file, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for lock %q: %w", path, ctx.Err())
		}
	}
}
