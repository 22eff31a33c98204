package function

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

func TestWorkEndsBeforeTheInvocation(t *testing.T) {
	end := time.Now().Add(time.Minute)
	invocation, stop := context.WithDeadline(t.Context(), end)
	defer stop()
	work, cancel := WithReserve(invocation)
	defer cancel()
	if at, set := work.Deadline(); !set || !at.Equal(end.Add(-Reserve)) {
		t.Errorf("ends at %s, want %s", at, end.Add(-Reserve))
	}
	byHand, cancel := WithReserve(t.Context())
	defer cancel()
	if at, set := byHand.Deadline(); !set || time.Until(at) > timeoutByHand {
		t.Errorf("by hand it ends at %s", at)
	}
}

func TestAnInvocationHasItsOwnName(t *testing.T) {
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	inLambda := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
	if name := Invocation(inLambda, at); name != "request-1" {
		t.Errorf("in Lambda it is %q", name)
	}
	if Invocation(t.Context(), at) == Invocation(t.Context(), at.Add(time.Nanosecond)) {
		t.Error("two runs by hand have one name")
	}
}
