package function

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

const (
	// Reserve is the time that WithReserve keeps at the end of an invocation: to write
	// down what was done, to wake others and to give a lease back.
	Reserve = 3 * time.Second
	// timeoutByHand bounds a run by hand, which has no deadline of Lambda's.
	timeoutByHand = time.Minute
)

// WithReserve ends the work Reserve before Lambda ends the invocation.
func WithReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, set := ctx.Deadline(); set {
		return context.WithDeadline(ctx, end.Add(-Reserve))
	}
	return context.WithTimeout(ctx, timeoutByHand)
}

// Invocation names the invocation, such as in a lease. A message that is delivered
// twice is two invocations with two names.
func Invocation(ctx context.Context, now time.Time) string {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		return invocation.AwsRequestID
	}
	return "by-hand-" + now.UTC().Format(time.RFC3339Nano)
}
