package world

import (
	"maps"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// count notes a call to the local AWS. It is called with the lock held.
func (w *World) count(call wire.CallRecord) {
	if w.calls == nil {
		w.calls = map[string]int{}
	}
	w.calls[call.Service+":"+call.Action]++
}

// Calls counts the calls to the local AWS so far, refused ones too, by service and
// action, such as ec2:CreateFleet.
func (w *World) Calls() map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return maps.Clone(w.calls)
}
