package clustertest

import (
	"bytes"
	"io"
	"net/http"
	"sync"
)

// Lag is an API server whose watch cache lags. After Freeze it answers each list with
// resourceVersion=0 as it answered the last one before. It answers other requests as they are.
type Lag struct {
	mutex   sync.Mutex
	frozen  bool
	answers map[string]answer // by URL
}

type answer struct {
	header http.Header
	body   []byte
}

// Freeze stops the watch cache.
func (l *Lag) Freeze() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.frozen = true
}

// Wrap is for the WrapTransport of a client.
func (l *Lag) Wrap(next http.RoundTripper) http.RoundTripper { return lagging{l, next} }

type lagging struct {
	*Lag
	next http.RoundTripper
}

// RoundTrip answers from memory, or remembers the answer.
func (l lagging) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Query().Get("resourceVersion") != "0" {
		return l.next.RoundTrip(request)
	}
	key := request.URL.String()
	l.mutex.Lock()
	old, known := l.answers[key]
	frozen := l.frozen
	l.mutex.Unlock()
	if frozen && known {
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: old.header.Clone(), Body: io.NopCloser(bytes.NewReader(old.body)),
			ContentLength: int64(len(old.body)), Request: request,
		}, nil
	}
	response, err := l.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.answers == nil {
		l.answers = map[string]answer{}
	}
	l.answers[key] = answer{response.Header.Clone(), body}
	return response, nil
}
