package ec2

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// identifiers numbers resources and makes EC2's ids of the numbers. The ids look as random as EC2's
// and are the same in every run.
type identifiers struct{ made int }

// next returns an id such as i-0a1b2c3d4e5f67890.
func (i *identifiers) next(prefix string) string {
	i.made++
	return derivedID(prefix, fmt.Sprint(i.made))
}

// derivedID returns the id that always belongs to a text.
func derivedID(prefix, text string) string {
	sum := sha256.Sum256([]byte(prefix + " " + text))
	return prefix + "-0" + hex.EncodeToString(sum[:])[:16]
}
