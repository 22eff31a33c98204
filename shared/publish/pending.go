package publish

import (
	"context"
	"sync"

	"github.com/whittle-dev/whittle/events/own"
)

// Pending holds the events of a pass until its urgent work is done. The zero value is ready, and it
// is safe for concurrent use.
type Pending struct {
	mutex   sync.Mutex
	details []own.Detail
}

// Add keeps the events until the next Flush.
func (p *Pending) Add(details ...own.Detail) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.details = append(p.details, details...)
}

// Flush publishes the events that were added, and forgets them.
func (p *Pending) Flush(ctx context.Context, publisher *Publisher) {
	p.mutex.Lock()
	details := p.details
	p.details = nil
	p.mutex.Unlock()
	publisher.Publish(ctx, details...)
}
