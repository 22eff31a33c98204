package function

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// Limits of the pause between two attempts of a client after throttling.
const (
	firstGap   = 500 * time.Millisecond
	longestGap = 5 * time.Second
	// forgotten is the pause below which attempts are not spaced any more.
	forgotten = 50 * time.Millisecond
)

// paced spaces the attempts of one client after throttling. Each throttled answer makes the pause
// half as long again, and each other answer makes it a little shorter. The SDK's adaptive mode
// alone tries a higher rate every second or two. At one call a second AWS would then throttle
// nearly every other call.
type paced struct {
	aws.RetryerV2
	throttles retry.IsErrorThrottles
	now       func() time.Time

	mutex sync.Mutex
	gap   time.Duration // zero until AWS has throttled a call
	next  time.Time     // when the next attempt may be made
}

// GetAttemptToken waits for the attempt's turn.
func (p *paced) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	if pause := p.turn(p.now()); pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	release, err := p.RetryerV2.GetAttemptToken(ctx)
	if err != nil {
		return nil, err
	}
	return func(answer error) error {
		p.learn(p.throttles.IsErrorThrottle(answer).Bool(), p.now())
		return release(answer)
	}, nil
}

// turn reserves the attempt's place and returns how long the attempt has to wait.
func (p *paced) turn(now time.Time) time.Duration {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.gap == 0 {
		return 0
	}
	if p.next.Before(now) {
		p.next = now
	}
	at := p.next
	p.next = at.Add(p.gap)
	return at.Sub(now)
}

func (p *paced) learn(throttled bool, now time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !throttled {
		if p.gap = p.gap * 97 / 100; p.gap < forgotten {
			p.gap = 0
		}
		return
	}
	p.gap = min(max(p.gap*3/2, firstGap), longestGap)
	if later := now.Add(p.gap); p.next.Before(later) {
		p.next = later
	}
}
