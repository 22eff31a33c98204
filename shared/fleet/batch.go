package fleet

import (
	"context"
	"sync"
)

// mostInBatch is how many instances one call ends. EC2 takes more, and advises calls of at most 1,000.
const mostInBatch = 100

// batch makes one call of those that wait while another call is under way. EC2 allows few calls that
// change instances. A caller alone does not wait. Its zero value is ready, and it is safe for concurrent
// use.
type batch struct {
	mutex   sync.Mutex
	busy    bool // somebody sends, or is about to
	waiting []*waiter
}

type waiter struct {
	id string
	// turn is closed when the waiter has to send for those that wait.
	turn chan struct{}
	done chan error
}

// do sends the id, alone or with others. A batch that EC2 refuses is repeated by each for itself, because
// one bad id fails them all, and not where EC2 is only busy. The wait for another call ends with that
// call, which has its own limit.
func (b *batch) do(ctx context.Context, id string, send func(ctx context.Context, ids []string) error) error {
	own := &waiter{id: id, turn: make(chan struct{}), done: make(chan error, 1)}
	b.mutex.Lock()
	b.waiting = append(b.waiting, own)
	if !b.busy {
		b.busy = true
		close(own.turn)
	}
	b.mutex.Unlock()
	var err error
	var size int
	select {
	case err = <-own.done:
		size = 2 // at least: the sender, and this one
	case <-own.turn:
		size, err = b.lead(ctx, send)
	}
	if err == nil || size == 1 || isPassing(err) {
		return err
	}
	return send(ctx, []string{id})
}

// lead sends the ids that wait, the caller's first, and returns their number. Then the next one leads.
func (b *batch) lead(ctx context.Context, send func(ctx context.Context, ids []string) error) (int, error) {
	b.mutex.Lock()
	taken := b.waiting[:min(len(b.waiting), mostInBatch)]
	b.waiting = b.waiting[len(taken):]
	b.mutex.Unlock()
	ids := make([]string, len(taken))
	for i, w := range taken {
		ids[i] = w.id
	}
	err := send(ctx, ids)
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, w := range taken[1:] {
		w.done <- err
	}
	if len(b.waiting) > 0 {
		close(b.waiting[0].turn)
	} else {
		b.busy = false
	}
	return len(taken), err
}
