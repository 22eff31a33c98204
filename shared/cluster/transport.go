package cluster

import (
	"net/http"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maximumPause is how long a connection may be idle. The load balancer before EKS forgets one after 350 s. While
// the container is frozen, nothing tells either end.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/update-idle-timeout.html
const maximumPause = 5 * time.Minute

// transport adds a valid token to each request. A token in a rest.Config would expire after 15
// minutes in a warm container.
type transport struct {
	tokens *TokenSource
	next   http.RoundTripper
	// last is when the last request began, in seconds on the clock of the wall, which goes on in a frozen container.
	last atomic.Int64
}

// WrappedRoundTripper is the next transport, by which client-go finds the one that cancels requests.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip sends the request with a token. It repeats a request once whose token was refused, even
// a write, because the API server has not acted on it. A connection may be lost while the container
// is frozen. RoundTrip then repeats a read only, because a write may have taken effect.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.send(request)
	if request.Context().Err() != nil {
		return response, err
	}
	switch {
	case err != nil && request.Method == http.MethodGet:
		return t.send(request)
	case err == nil && response.StatusCode == http.StatusUnauthorized:
		t.tokens.forget()
		again, ok := rewound(request)
		if !ok {
			return response, nil
		}
		response.Body.Close()
		return t.send(again)
	}
	return response, err
}

// rewound returns the request with its body from the start, if the body can be read again.
func rewound(request *http.Request) (*http.Request, bool) {
	if request.Body == nil || request.Body == http.NoBody {
		return request, true
	}
	if request.GetBody == nil {
		return nil, false
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, false
	}
	again := request.Clone(request.Context())
	again.Body = body
	return again, true
}

// closeIdle closes the idle connections of a transport, or of the one that it wraps.
func closeIdle(through http.RoundTripper) {
	for through != nil {
		switch transport := through.(type) {
		case interface{ CloseIdleConnections() }:
			transport.CloseIdleConnections()
			return
		case utilnet.RoundTripperWrapper:
			through = transport.WrappedRoundTripper()
		default:
			return // a test's, without connections
		}
	}
}

func (t *transport) send(request *http.Request) (*http.Response, error) {
	token, err := t.tokens.Token(request.Context())
	if err != nil {
		return nil, err
	}
	now := t.tokens.now().Unix()
	if last := t.last.Swap(now); last != 0 && now-last > int64(maximumPause/time.Second) {
		closeIdle(t.next) // a request on a lost one waits until its own limit
	}
	signed := request.Clone(request.Context())
	signed.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(signed)
}
