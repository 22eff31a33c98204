package planner

import (
	"encoding/binary"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// appendRequirement appends bytes that tell requirements apart; Requirement.String is for people and shortens.
func appendRequirement(key []byte, r scheduling.Requirement) []byte {
	key = appendText(key, r.Key())
	if values, ok := r.Values(); ok {
		if r.AllowsAbsent() {
			key = append(key, 'a')
		}
		key = binary.AppendUvarint(key, uint64(len(values)))
		for _, value := range values {
			key = appendText(key, value)
		}
		return key
	}
	for _, term := range r.Terms() {
		key = appendText(append(key, 't'), string(term.Operator))
		for _, value := range term.Values {
			key = appendText(key, value)
		}
	}
	return key
}
