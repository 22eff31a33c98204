package wire

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Actions is a Handler that finds the function of a call by its action. An action that it does not
// have gives InvalidAction (query protocols) or UnknownOperationException (JSON), naming those that
// it has.
type Actions map[string]HandlerFunc

// Serve calls the function of the call's action.
func (a Actions) Serve(ctx context.Context, c *Call) (*Response, error) {
	f, ok := a[c.Action]
	if !ok {
		return nil, UnknownAction(c, slices.Collect(maps.Keys(a)))
	}
	return f(ctx, c)
}

// UnknownAction is the error for an action that a service does not have; known are those that it
// has.
func UnknownAction(c *Call, known []string) *Error {
	code := "UnknownOperationException"
	if p := protocolOf(c); p == protocolEC2 || p == protocolQuery {
		code = "InvalidAction"
	}
	return Errorf(code, http.StatusBadRequest, "the local AWS does not simulate %s; it knows %s", c.name(),
		strings.Join(slices.Sorted(slices.Values(known)), ", "))
}
