package cluster

import (
	"net/http"
)

// transport puts a fresh token on each request. A token kept in a rest.Config
// would outlive its 15 minutes in a warm container and then be refused.
type transport struct {
	tokens *TokenSource
	next   http.RoundTripper
}

// RoundTrip sends the request with a token. What was refused for its token is
// sent once more with a new one, a write too: the API server did not act on it.
// Of requests whose connection was lost while the container lay frozen, only a
// read is: a write may have got through.
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

// rewound is the request with its body from the start again, if that can be had.
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

func (t *transport) send(request *http.Request) (*http.Response, error) {
	token, err := t.tokens.Token(request.Context())
	if err != nil {
		return nil, err
	}
	signed := request.Clone(request.Context())
	signed.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(signed)
}
