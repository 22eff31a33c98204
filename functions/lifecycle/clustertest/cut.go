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
	mutex  sync.Mutex
	left   int
	unseen bool
	over   bool
	made   int
}

// After returns a Cut that lets n changing calls through.
func After(n int) *Cut { return &Cut{left: n} }

// AfterUnseen returns a Cut that lets n changing calls through, and one more that is
// made but whose answer the function does not live to see.
func AfterUnseen(n int) *Cut { return &Cut{left: n, unseen: true} }

// Call tells, by ErrCut, whether the call is not made any more.
func (c *Cut) Call(changes bool) error {
	_, err := c.call(changes)
	return err
}

// Do makes the call unless the function is cut off before it; its answer may be lost.
func (c *Cut) Do(changes bool, call func() error) error {
	unseen, err := c.call(changes)
	if err != nil {
		return err
	}
	err = call()
	if unseen {
		return ErrCut
	}
	return err
}

func (c *Cut) call(changes bool) (unseen bool, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.over && changes {
		c.over = c.left == 0
		c.left--
		if c.over && c.unseen {
			c.made++
			return true, nil
		}
	}
	if c.over {
		return false, ErrCut
	}
	if changes {
		c.made++
	}
	return false, nil
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
		unseen, err := c.call(request.Method != http.MethodGet)
		if err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(request)
		if unseen && err == nil {
			_ = response.Body.Close()
			return nil, ErrCut
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
