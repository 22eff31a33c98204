package simulate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// stream is the body of a watch's answer. The function reads it while the simulation writes it.
type stream struct {
	ctx    context.Context
	name   string
	watch  *apiserver.Watch
	chunks chan []byte
	ended  chan struct{}
	over   bool // only the engine reads and writes it
	closed atomic.Bool
	rest   []byte
	last   time.Time // when the last event arrives
	count  int
}

// mostWaiting is how many events may wait in a stream. An API server ends the watch of a slow client.
const mostWaiting = 4096

// Read waits for the next events.
func (s *stream) Read(into []byte) (int, error) {
	for len(s.rest) == 0 {
		select {
		case chunk := <-s.chunks:
			s.rest = chunk
			continue
		default:
		}
		select {
		case chunk := <-s.chunks:
			s.rest = chunk
		case <-s.ended:
			return 0, io.EOF
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
	}
	n := copy(into, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close ends the watch.
func (s *stream) Close() error {
	s.closed.Store(true)
	return nil
}

func (s *stream) end() {
	if !s.over {
		s.over = true
		close(s.ended)
	}
}

// watch begins a watch.
func (r *Run) watch(c *call, back time.Duration) {
	watch, past, err := r.servers[c.invocation.network.server].Watch(c.request)
	if err != nil {
		r.trace("%s %s -> %v", c.name, c.what, err)
		refused := apiserver.StatusResponse(c.request, err) //nolint:bodyclose // the function closes it
		r.engine.In(back, func() { c.reply(refused, nil) })
		return
	}
	s := &stream{
		ctx: c.request.Context(), name: c.name, watch: watch, chunks: make(chan []byte, mostWaiting),
		ended: make(chan struct{}),
	}
	r.trace("%s %s -> watch", c.name, c.what)
	r.streams = append(r.streams, s)
	for _, event := range past {
		r.deliver(s, event, back)
	}
	seconds, _ := strconv.Atoi(c.request.URL.Query().Get("timeoutSeconds"))
	r.engine.In(time.Duration(max(seconds, 1))*time.Second, s.end)
	r.engine.In(back, func() {
		c.reply(&http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/2.0", ProtoMajor: 2, ContentLength: -1,
			Header: http.Header{"Content-Type": {"application/json;stream=watch"}}, Body: s, Request: c.request,
		}, nil)
	})
}

// deliver sends an event of a watch, not before those that were sent earlier.
func (r *Run) deliver(s *stream, event []byte, least time.Duration) {
	s.count++
	at := time.Now().Add(least + r.engine.Between(0, r.weather.watchLag, s.name, "event", fmt.Sprint(s.count)))
	if at.Before(s.last) {
		at = s.last
	}
	s.last = at
	r.engine.At(at, func() {
		if s.over || s.closed.Load() || s.ctx.Err() != nil {
			return
		}
		select {
		case s.chunks <- event:
		default:
			s.end()
		}
	})
}

// announce tells the watches a change.
func (r *Run) announce(change apiserver.Change) {
	open := r.streams[:0]
	for _, s := range r.streams {
		if s.over || s.closed.Load() || s.ctx.Err() != nil {
			continue
		}
		open = append(open, s)
		if event := s.watch.Event(change); event != nil {
			r.deliver(s, event, leastLatency)
		}
	}
	r.streams = open
}

// bookmark tells the watches up to which version they have seen everything.
func (r *Run) bookmark() {
	for _, s := range r.streams {
		if !s.over {
			r.deliver(s, s.watch.Bookmark(r.store.Version()), leastLatency)
		}
	}
}
