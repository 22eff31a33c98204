package api

import (
	"strconv"
	"strings"
)

// CommitmentText is the value of CommitmentAnnotationKey.
func CommitmentText(id string, units int) string { return id + "=" + strconv.Itoa(units) }

// CommitmentOf returns the commitment that was to pay for the claim's instance, and the units that it takes. It returns
// false for a claim without, or with a value that cannot be read.
func CommitmentOf(claim *NodeClaim) (id string, units int, has bool) {
	value := claim.Annotations[CommitmentAnnotationKey]
	at := strings.LastIndexByte(value, '=')
	if at <= 0 {
		return "", 0, false
	}
	units, err := strconv.Atoi(value[at+1:])
	if err != nil || units <= 0 {
		return "", 0, false
	}
	return value[:at], units, true
}
