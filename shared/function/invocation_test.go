package function_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/whittle-dev/whittle/shared/function"
)

func TestWorkEndsBeforeTheInvocation(t *testing.T) {
	end := time.Now().Add(time.Minute)
	invocation, stop := context.WithDeadline(t.Context(), end)
	defer stop()
	work, cancel := function.WithReserve(invocation)
	defer cancel()
	if at, set := work.Deadline(); !set || !at.Equal(end.Add(-function.Reserve)) {
		t.Errorf("ends at %s, want %s", at, end.Add(-function.Reserve))
	}
	byHand, cancel := function.WithReserve(t.Context())
	defer cancel()
	if at, set := byHand.Deadline(); !set || time.Until(at) > time.Minute {
		t.Errorf("by hand it ends at %s", at)
	}
}

func TestAnInvocationHasItsOwnName(t *testing.T) {
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	inLambda := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	if name := function.Invocation(inLambda, at); name != "request-1" {
		t.Errorf("in Lambda it is %q", name)
	}
	if function.Invocation(t.Context(), at) == function.Invocation(t.Context(), at.Add(time.Nanosecond)) {
		t.Error("two runs by hand have one name")
	}
}
