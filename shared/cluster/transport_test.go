package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// answers is a connection that returns one answer after the other, and keeps the requests.
type answers struct {
	statuses []int // 0 loses the connection
	tokens   []string
	bodies   []string
	before   func() // called with each request
	closed   int    // how often idle connections were closed
}

func (a *answers) CloseIdleConnections() { a.closed++ }

var errLost = errors.New("connection lost")

func (a *answers) RoundTrip(request *http.Request) (*http.Response, error) {
	a.tokens = append(a.tokens, request.Header.Get("Authorization"))
	body := ""
	if request.Body != nil {
		content, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		body = string(content)
	}
	a.bodies = append(a.bodies, body)
	if a.before != nil {
		a.before()
	}
	status := a.statuses[len(a.bodies)-1]
	if status == 0 {
		return nil, errLost
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("")), Request: request}, nil
}

func TestTransportSendsAgainWhatMayBeSentAgain(t *testing.T) {
	for _, test := range []struct {
		name     string
		method   string
		statuses []int
		want     int // status, 0 an error
	}{
		{"a read is answered", "GET", []int{200}, 200},
		{"a read is missing", "GET", []int{404}, 404},
		{"a read loses its connection", "GET", []int{0, 200}, 200},
		{"a read loses its connection twice", "GET", []int{0, 0}, 0},
		{"a read is refused for its token", "GET", []int{401, 200}, 200},
		{"a read is refused twice", "GET", []int{401, 401}, 401},
		{"a write is answered", "POST", []int{201}, 201},
		{"a write may have got through", "POST", []int{0}, 0},
		{"a write is refused for its token", "POST", []int{401, 201}, 201},
		{"a write is refused for its rights", "PATCH", []int{403}, 403},
	} {
		t.Run(test.name, func(t *testing.T) {
			source, clock := tokenSource(static())
			connection := &answers{statuses: test.statuses, before: func() { *clock = clock.Add(time.Second) }}
			body := ""
			var reader io.Reader
			if test.method != "GET" {
				body = "content"
				reader = strings.NewReader(body)
			}
			request, err := http.NewRequestWithContext(t.Context(), test.method, "https://prod.example.com/api", reader)
			if err != nil {
				t.Fatal(err)
			}
			response, err := (&transport{tokens: source, next: connection}).RoundTrip(request)
			status := 0
			if err == nil {
				status = response.StatusCode
				response.Body.Close()
			} else if !errors.Is(err, errLost) {
				t.Errorf("error is %v", err)
			}
			if status != test.want || len(connection.bodies) != len(test.statuses) {
				t.Errorf("status %d after %d requests, want %d after %d", status, len(connection.bodies), test.want,
					len(test.statuses))
			}
			for i, sent := range connection.bodies {
				if sent != body {
					t.Errorf("request %d has the body %q, want %q", i, sent, body)
				}
			}
			if test.statuses[0] == 401 && connection.tokens[0] == connection.tokens[1] {
				t.Error("the refused token was sent again")
			}
			if slices.ContainsFunc(connection.tokens, func(token string) bool {
				return !strings.HasPrefix(token,
					"Bearer k8s-aws-v1.")
			}) {
				t.Errorf("tokens are %q", connection.tokens)
			}
			if request.Header.Get("Authorization") != "" {
				t.Error("the caller's request was changed")
			}
		})
	}
}

// TestAFrozenConnectionIsNotUsed thaws a container after a pause in which a load balancer forgets connections.
func TestAFrozenConnectionIsNotUsed(t *testing.T) {
	source, _ := tokenSource(static())
	now := time.Now()
	source.now = func() time.Time { return now }
	connection := &answers{statuses: []int{200, 200, 200, 200}}
	through := &transport{tokens: source, next: connection}
	for _, step := range []struct {
		pause  time.Duration
		closed int
	}{{0, 0}, {maximumPause, 0}, {maximumPause + time.Second, 1}, {time.Second, 1}} {
		now = now.Add(step.pause)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://prod.example.com/api", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := through.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if connection.closed != step.closed {
			t.Errorf("after a pause of %s idle connections were closed %d times, want %d", step.pause, connection.closed,
				step.closed)
		}
	}
}

func TestTransportStopsWithItsCaller(t *testing.T) {
	source, _ := tokenSource(static())
	ctx, cancel := context.WithCancel(t.Context())
	connection := &answers{statuses: []int{0, 200}, before: cancel}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://prod.example.com/api", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := (&transport{tokens: source, next: connection}).RoundTrip(request); err == nil {
		response.Body.Close()
		t.Error("an answer came after the caller had left")
	}
	if len(connection.bodies) != 1 {
		t.Errorf("%d requests were sent, want one", len(connection.bodies))
	}
}

func TestARefusedTokenIsForgottenEvenWhenTheBodyCannotBeSentAgain(t *testing.T) {
	source, _ := tokenSource(static())
	connection := &answers{statuses: []int{401}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://prod.example.com/api",
		io.NopCloser(strings.NewReader("once")))
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&transport{tokens: source, next: connection}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized || source.token != "" {
		t.Errorf("status %d, token kept: %v", response.StatusCode, source.token != "")
	}
}
