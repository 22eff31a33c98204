package world

import (
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// calls counts calls of one kind by one role.
type calls struct {
	action string // such as ec2:CreateFleet
	role   string // the role's name, empty for the operator
	code   string // the error's, empty for none
}

// count records a call to the local AWS. It is called with the lock held.
func (w *World) count(call wire.CallRecord) {
	if w.calls == nil {
		w.calls = map[calls]int{}
	}
	w.calls[calls{call.Service + ":" + call.Action, call.RoleARN[strings.LastIndexByte(call.RoleARN, '/')+1:],
		call.ErrorCode}]++
}

// Calls counts the calls to the local AWS by service and action, such as ec2:CreateFleet, refused
// ones included.
func (w *World) Calls() map[string]int { return w.CallsOf("") }

// CallsOf counts the calls of roles whose names begin with a prefix.
func (w *World) CallsOf(role string) map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	counted := map[string]int{}
	for kind, count := range w.calls {
		if strings.HasPrefix(kind.role, role) {
			counted[kind.action] += count
		}
	}
	return counted
}

// CallsRefusedWith counts the calls that were answered with an error code, by service and action.
func (w *World) CallsRefusedWith(code string) map[string]int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	counted := map[string]int{}
	for kind, count := range w.calls {
		if kind.code == code {
			counted[kind.action] += count
		}
	}
	return counted
}
