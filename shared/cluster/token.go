package cluster

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	// tokenPrefix marks a token that EKS reads as a presigned URL.
	tokenPrefix = "k8s-aws-v1."
	// clusterHeader binds a token to one cluster. It must be among the signed headers.
	clusterHeader = "x-k8s-aws-id"
	// tokenLifetime is how long a token is used. EKS accepts it for 15 minutes after its date. The
	// last minute allows for clocks that differ.
	tokenLifetime = 14 * time.Minute
	// emptyBodyHash is the SHA-256 of an empty body, as of a presigned GET.
	emptyBodyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// TokenSource signs the bearer tokens that EKS accepts for one cluster. A token is a presigned URL
// of STS GetCallerIdentity, and signing it is offline. It is safe for concurrent use.
type TokenSource struct {
	cluster     string
	region      string
	credentials aws.CredentialsProvider
	now         func() time.Time

	mutex   sync.Mutex
	token   string
	expires time.Time
}

// NewTokenSource returns a source of tokens for the cluster, signed with the credentials. Now
// is the clock of the signatures.
func NewTokenSource(cluster, region string, credentials aws.CredentialsProvider, now func() time.Time) *TokenSource {
	return &TokenSource{cluster: cluster, region: region, credentials: credentials, now: now}
}

// Token returns a token that is valid for at least a minute. Its errors are those of reading the
// credentials.
func (s *TokenSource) Token(ctx context.Context) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.now()
	if s.token != "" && now.Before(s.expires) {
		return s.token, nil
	}
	credentials, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return "", fmt.Errorf("signing a token for cluster %q: reading credentials: %w", s.cluster, err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf(
		"https://sts.%s.%s/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60", s.region, domain(s.region)), nil)
	if err != nil {
		return "", fmt.Errorf("signing a token for cluster %q: %w", s.cluster, err)
	}
	request.Header.Set(clusterHeader, s.cluster)
	signed, _, err := v4.NewSigner().PresignHTTP(ctx, credentials, request, emptyBodyHash, "sts", s.region, now)
	if err != nil {
		return "", fmt.Errorf("signing a token for cluster %q: %w", s.cluster, err)
	}
	s.token = tokenPrefix + base64.RawURLEncoding.EncodeToString([]byte(signed))
	s.expires = now.Add(tokenLifetime)
	// A token ends with the temporary credentials that signed it.
	if credentials.CanExpire && credentials.Expires.Before(s.expires) {
		s.expires = credentials.Expires
	}
	return s.token, nil
}

// forget drops the token, so that the next request signs a new one.
func (s *TokenSource) forget() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.token = ""
}

// domain is the DNS suffix of the region's partition.
func domain(region string) string {
	if len(region) > 3 && region[:3] == "cn-" {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}
