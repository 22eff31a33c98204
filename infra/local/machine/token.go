package machine

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// A token is good for 15 minutes; one is used for 14.
const tokenLife = 14 * time.Minute

// emptyPayload is the SHA-256 of nothing, the payload of a GET.
const emptyPayload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// tokenSource makes bearer tokens of an instance's role, as `aws eks get-token` does on a node.
type tokenSource struct {
	cluster, region, role, session string
	sessions                       Sessions

	mu    sync.Mutex
	token string
	made  time.Time
}

// wrap adds the token to each request.
func (s *tokenSource) wrap(next http.RoundTripper) http.RoundTripper { return &tokenTransport{s, next} }

type tokenTransport struct {
	source *tokenSource
	next   http.RoundTripper
}

// RoundTrip sends the request with a token that is still good.
func (t *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.source.get(r)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := t.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusUnauthorized {
		t.source.drop(token) // whatever is wrong with it, the next request comes with another
	}
	return response, err
}

func (s *tokenSource) drop(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = ""
	}
}

func (s *tokenSource) get(r *http.Request) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.token != "" && now.Sub(s.made) < tokenLife {
		return s.token, nil
	}
	session, err := s.sessions.Session(s.role, s.session)
	if err != nil {
		return "", fmt.Errorf("getting credentials of role %s for instance %s: %w", s.role, s.session, err)
	}
	// The endpoint is never called: EKS takes the URL out of the token and asks STS itself.
	url := "https://sts." + s.region + ".amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60"
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("making a token for cluster %q: %w", s.cluster, err)
	}
	request.Header.Set("x-k8s-aws-id", s.cluster)
	signed, _, err := v4.NewSigner().PresignHTTP(r.Context(), aws.Credentials{
		AccessKeyID: session.AccessKeyID, SecretAccessKey: session.SecretAccessKey, SessionToken: session.SessionToken,
	}, request, emptyPayload, "sts", s.region, now)
	if err != nil {
		return "", fmt.Errorf("signing a token for cluster %q: %w", s.cluster, err)
	}
	s.token, s.made = "k8s-aws-v1."+base64.RawURLEncoding.EncodeToString([]byte(signed)), now
	return s.token, nil
}
