package workload

import (
	"encoding/binary"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// AppendRequirement appends bytes that identify a requirement. Requirement.String does not, because
// it abbreviates for people.
func AppendRequirement(key []byte, r scheduling.Requirement) []byte {
	key = dense.AppendText(key, r.Key())
	if values, ok := r.Values(); ok {
		if r.AllowsAbsent() {
			key = append(key, 'a')
		}
		key = binary.AppendUvarint(key, uint64(len(values)))
		for _, value := range values {
			key = dense.AppendText(key, value)
		}
		return key
	}
	for _, term := range r.Terms() {
		key = dense.AppendText(append(key, 't'), string(term.Operator))
		for _, value := range term.Values {
			key = dense.AppendText(key, value)
		}
	}
	return key
}
