package clustertest

import (
	"errors"
	"net/http"
	"sync"
)

// ErrCut is what a call gives after the function was cut off.
var ErrCut = errors.New("cut off")

// Cut lets a number of changing calls through, and then no call at all: as if the
// function had died. It is safe for concurrent use.
type Cut struct {
	mutex sync.Mutex
	left  int
	over  bool
	made  int
}

// After returns a Cut that lets n changing calls through.
func After(n int) *Cut { return &Cut{left: n} }

// Call tells, by ErrCut, whether the call is not made any more.
func (c *Cut) Call(changes bool) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.over && changes {
		c.over = c.left == 0
		c.left--
	}
	if c.over {
		return ErrCut
	}
	if changes {
		c.made++
	}
	return nil
}

// Over tells whether a call was refused.
func (c *Cut) Over() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.over
}

// Made is how many changing calls were let through.
func (c *Cut) Made() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.made
}

// Wrap puts the Cut between a client and the API server.
func (c *Cut) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if err := c.Call(request.Method != http.MethodGet); err != nil {
			return nil, err
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
