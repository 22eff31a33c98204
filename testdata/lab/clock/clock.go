package clock

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Variable is the environment variable that names a program's clock.
const Variable = "WHITTLE_CLOCK"

// Clock is a file from which programs of Build read the time. It is safe for concurrent use.
type Clock struct {
	file  *os.File
	ahead atomic.Int64 // seconds
}

// Create makes a clock that shows the machine's time. The caller closes it.
func Create(name string) (*Clock, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("making a clock: %w", err)
	}
	c := &Clock{file: file}
	return c, c.Set(0)
}

// Set puts the clock ahead of the machine's by whole seconds, or behind it by negative ones.
// Running programs see the change at once.
func (c *Clock) Set(ahead time.Duration) error {
	if err := c.write(int64(ahead/time.Second), 0); err != nil {
		return err
	}
	c.ahead.Store(int64(ahead / time.Second))
	return nil
}

// Stop makes the clock stand at a second after 1970 until the next call of Stop or Set. Running
// programs see the change at once.
func (c *Clock) Stop(at time.Time) error { return c.write(0, at.Unix()) }

// write writes how many seconds the clock is ahead, and the second at which it stands; 0 if it runs.
func (c *Clock) write(ahead, stands int64) error {
	var content [16]byte
	binary.NativeEndian.PutUint64(content[:8], uint64(ahead))
	binary.NativeEndian.PutUint64(content[8:], uint64(stands))
	if _, err := c.file.WriteAt(content[:], 0); err != nil {
		return fmt.Errorf("setting a clock: %w", err)
	}
	return nil
}

// Ahead is the clock's lead over the machine's.
func (c *Clock) Ahead() time.Duration { return time.Duration(c.ahead.Load()) * time.Second }

// Setting is the environment variable for a program that uses this clock.
func (c *Clock) Setting() string { return Variable + "=" + c.file.Name() }

// Close closes the file. Programs with the clock keep its last setting.
func (c *Clock) Close() error { return c.file.Close() }
