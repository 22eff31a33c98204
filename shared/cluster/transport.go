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

// RoundTrip sends the request with a token. A read whose connection was lost
// while the container lay frozen, or whose token was refused, is sent once more.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.send(request)
	if request.Method != http.MethodGet || request.Context().Err() != nil {
		return response, err
	}
	switch {
	case err != nil:
		return t.send(request)
	case response.StatusCode == http.StatusUnauthorized:
		response.Body.Close()
		t.tokens.forget()
		return t.send(request)
	}
	return response, nil
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
