package functiontest

import (
	"errors"
	"net/http"
	"sync"
)

// ErrCut is the error of a call after the function was cut off.
var ErrCut = errors.New("cut off")

// Cut lets a number of writes through, and after them no call at all. It is safe for concurrent
// use.
type Cut struct {
	mutex sync.Mutex
	left  int
	over  bool
}

// After returns a Cut that lets n writes through.
func After(n int) *Cut { return &Cut{left: n} }

// Over reports whether a call was refused.
func (c *Cut) Over() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.over
}

// Wrap puts the Cut between a client and the API server.
func (c *Cut) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if c.refuses(request.Method != http.MethodGet) {
			return nil, ErrCut
		}
		return next.RoundTrip(request)
	})
}

func (c *Cut) refuses(changes bool) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if changes {
		c.over = c.over || c.left == 0
		c.left--
	}
	return c.over
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
