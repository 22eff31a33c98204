package function

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

const (
	// Reserve is the time that WithReserve keeps at the end of an invocation. A function uses it to
	// write down results, to wake other functions and to release a Lease.
	Reserve = 3 * time.Second
	// timeoutByHand bounds a run by hand, which has no deadline from Lambda.
	timeoutByHand = time.Minute
)

// WithReserve ends the work Reserve before Lambda ends the invocation.
func WithReserve(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, set := ctx.Deadline(); set {
		return context.WithDeadline(ctx, end.Add(-Reserve))
	}
	return context.WithTimeout(ctx, timeoutByHand)
}

// Remaining returns the time until the context ends, and false for a context without an end. Go's
// own clock ends contexts, and not that of Deps.
func Remaining(ctx context.Context) (left time.Duration, ends bool) {
	end, ends := ctx.Deadline()
	if !ends {
		return 0, false
	}
	return time.Until(end), true
}

// Invocation names the invocation, for example as the holder of a Lease. Two deliveries of one
// message are two invocations with two names.
func Invocation(ctx context.Context, now time.Time) string {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		return invocation.AwsRequestID
	}
	return "by-hand-" + now.UTC().Format(time.RFC3339Nano)
}
