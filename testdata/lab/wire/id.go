package wire

import (
	"crypto/rand"
	"fmt"
)

// NewID makes a random identifier in the form of a UUID, as AWS gives requests,
// messages and events.
func NewID() string {
	var b [16]byte
	// It does not fail: it ends the process if the system has no randomness.
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
