//go:build conformance

package conformance

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/whittle-dev/whittle/testdata/lab/savingsplans"
)

// answer is a server's answer to one call.
type answer struct {
	service, action string
	status          int
	body            []byte
}

// recorder is the SDK's HTTP client that keeps all answers.
type recorder struct {
	mu      sync.Mutex
	answers []answer
}

func scopePattern() *regexp.Regexp {
	return regexp.MustCompile(`Credential=[^/]+/[0-9]{8}/[^/]+/([^/]+)/aws4_request`)
}

// Do sends a request and records its answer.
func (r *recorder) Do(request *http.Request) (*http.Response, error) {
	made := answer{}
	if match := scopePattern().FindStringSubmatch(request.Header.Get("Authorization")); match != nil {
		made.service = match[1]
	}
	if request.Body != nil {
		sent, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		_ = request.Body.Close()
		request.Body = io.NopCloser(bytes.NewReader(sent))
		if form, err := url.ParseQuery(string(sent)); err == nil {
			made.action = form.Get("Action")
		}
	}
	if made.service == savingsplans.Name {
		made.action = path.Base(request.URL.Path)
	}
	if target := request.Header.Get("X-Amz-Target"); target != "" {
		made.action = target[strings.LastIndexByte(target, '.')+1:]
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	made.status = response.StatusCode
	made.body, err = io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(made.body))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, made)
	return response, nil
}

// all are the answers so far.
func (r *recorder) all() []answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]answer{}, r.answers...)
}
