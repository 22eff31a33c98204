package lambda

import (
	"context"
	"slices"
	"sync"
	"time"
)

// function is a function and its sandboxes.
type function struct {
	service *Service
	name    string
	arn     string

	mu            sync.Mutex
	configuration Configuration
	code          code
	generation    int
	deleted       bool
	events        eventSettings

	idle []*sandbox // the latest used last
	busy map[*sandbox]bool
	// taken counts concurrent invocations: busy sandboxes and those about to start.
	taken int
	// freed is closed and replaced when a place becomes free.
	freed chan struct{}
}

func newFunction(s *Service, configuration Configuration, code code) *function {
	return &function{
		service: s, name: configuration.Name, arn: s.arn(configuration.Name), configuration: configuration, code: code,
		events: defaultEventSettings(),
		busy:   map[*sandbox]bool{}, freed: make(chan struct{}),
	}
}

func (f *function) settings() Configuration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.configuration.clone()
}

// acquire returns an idle sandbox, or nil with the right to start one. Without a free place it
// fails with errThrottled, or waits if wait is set.
func (f *function) acquire(ctx context.Context, wait bool) (*sandbox, error) {
	for {
		f.mu.Lock()
		if f.deleted {
			f.mu.Unlock()
			return nil, errNotFound
		}
		if f.taken < f.service.concurrency {
			f.taken++
			var sb *sandbox
			if last := len(f.idle) - 1; last >= 0 {
				sb = f.idle[last]
				f.idle = f.idle[:last]
				sb.idleTimer.Stop()
				f.busy[sb] = true
			}
			f.mu.Unlock()
			return sb, nil
		}
		freed := f.freed
		f.mu.Unlock()
		if !wait {
			return nil, errThrottled
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, errThrottled
		}
	}
}

// startTaken starts a sandbox in a place that acquire gave.
func (f *function) startTaken() (*sandbox, error) {
	f.mu.Lock()
	configuration, code, generation := f.configuration.clone(), f.code, f.generation
	f.mu.Unlock()
	sb, err := f.start(configuration, code, generation)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.leave()
		return nil, err
	}
	select {
	case <-sb.exited:
		// It ended before it was known here, so drop found nothing to give back.
		f.leave()
	default:
		f.busy[sb] = true
		if f.service.ctx.Err() != nil {
			sb.kill()
		}
	}
	return sb, nil
}

// release is called when a sandbox asks for its next invocation: it waits for one, or ends if its
// time has come.
func (f *function) release(sb *sandbox) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.busy[sb] {
		return
	}
	delete(f.busy, sb)
	f.leave()
	if over := sb.finished(); over != nil {
		defer close(over)
	}
	if f.deleted || sb.generation != f.generation || time.Since(sb.born) > maximumAge || f.service.ctx.Err() != nil {
		sb.kill()
		return
	}
	f.idle = append(f.idle, sb)
	sb.idleTimer = time.AfterFunc(f.service.idleTime, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if i := slices.Index(f.idle, sb); i >= 0 {
			f.idle = slices.Delete(f.idle, i, i+1)
			sb.kill()
		}
	})
}

// drop forgets a sandbox whose process has exited.
func (f *function) drop(sb *sandbox) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[sb] {
		delete(f.busy, sb)
		f.leave()
	}
	if i := slices.Index(f.idle, sb); i >= 0 {
		f.idle = slices.Delete(f.idle, i, i+1)
		sb.idleTimer.Stop()
	}
}

// leave returns a place back; the caller holds the lock.
func (f *function) leave() {
	f.taken--
	f.announce()
}

// announce wakes a call that waits for a place.
func (f *function) announce() {
	close(f.freed)
	f.freed = make(chan struct{})
}

// replace returns the function other settings; sandboxes of the old ones end, busy ones after their
// invocation.
func (f *function) replace(configuration Configuration, code code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.configuration, f.code = configuration, code
	f.generation++
	f.endIdle()
	f.announce()
}

// remove ends the idle sandboxes now and the busy ones after their invocation.
func (f *function) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted = true
	f.announce()
	f.endIdle()
}

// retire kills everything at once.
func (f *function) retire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deleted = true
	f.announce()
	f.endIdle()
	for sb := range f.busy {
		sb.kill()
	}
}

func (f *function) endIdle() {
	for _, sb := range f.idle {
		sb.idleTimer.Stop()
		sb.kill()
	}
	f.idle = nil
}
