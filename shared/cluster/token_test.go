package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// tokenSource signs with fixed keys at a time that the test moves.
func tokenSource(provider aws.CredentialsProvider) (source *TokenSource, clock *time.Time) {
	now := noon
	return NewTokenSource("prod", "eu-west-1", provider, func() time.Time { return now }), &now
}

func static() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("AKIATEST", "secret", "session")
}

func token(t *testing.T, source *TokenSource) string {
	t.Helper()
	token, err := source.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// signedURL decodes a token as EKS does.
func signedURL(t *testing.T, token string) *url.URL {
	t.Helper()
	encoded, found := strings.CutPrefix(token, "k8s-aws-v1.")
	if !found {
		t.Fatalf("token %q does not begin with k8s-aws-v1.", token)
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		t.Fatalf("token is not unpadded base64url: %v", err)
	}
	parsed, err := url.Parse(string(decoded))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestTokenIsAPresignedCallThatNamesTheCluster(t *testing.T) {
	source, _ := tokenSource(static())
	signed := signedURL(t, token(t, source))
	if signed.Scheme != "https" || signed.Host != "sts.eu-west-1.amazonaws.com" {
		t.Errorf("signed for %s://%s, want the region's STS", signed.Scheme, signed.Host)
	}
	for parameter, want := range map[string]string{
		"Action": "GetCallerIdentity", "Version": "2011-06-15", "X-Amz-Expires": "60", "X-Amz-Date": "20260301T120000Z",
		"X-Amz-Credential": "AKIATEST/20260301/eu-west-1/sts/aws4_request", "X-Amz-Security-Token": "session",
		"X-Amz-SignedHeaders": "host;x-k8s-aws-id",
	} {
		if got := signed.Query().Get(parameter); got != want {
			t.Errorf("%s is %q, want %q", parameter, got, want)
		}
	}
	// The header's value is signed too: another cluster's token has another signature.
	other, _ := tokenSource(static())
	other.cluster = "staging"
	if signedURL(t, token(t, other)).Query().Get("X-Amz-Signature") == signed.Query().Get("X-Amz-Signature") {
		t.Error("a token of cluster staging passes for one of prod")
	}
}

func TestTokenIsSignedAgainAfterFourteenMinutes(t *testing.T) {
	source, clock := tokenSource(static())
	first := token(t, source)
	*clock = noon.Add(14*time.Minute - time.Second)
	if token(t, source) != first {
		t.Error("signed anew before 14 minutes were over")
	}
	*clock = noon.Add(14 * time.Minute)
	second := token(t, source)
	if date := signedURL(t, second).Query().Get("X-Amz-Date"); date != "20260301T121400Z" {
		t.Errorf("after 14 minutes the token is of %s", date)
	}
	source.forget()
	*clock = noon.Add(15 * time.Minute)
	if token(t, source) == second {
		t.Error("a forgotten token is used again")
	}
}

func TestTokenEndsWithItsCredentials(t *testing.T) {
	expires := noon.Add(3 * time.Minute)
	source, clock := tokenSource(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "ASIATEST", SecretAccessKey: "secret", CanExpire: true, Expires: expires}, nil
	}))
	first := token(t, source)
	*clock = expires
	if token(t, source) == first {
		t.Error("a token outlives the credentials that signed it")
	}
}

func TestTokenNeedsCredentials(t *testing.T) {
	none := errors.New("no credentials")
	source, _ := tokenSource(aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials,
		error) {
		return aws.Credentials{}, none
	}))
	if _, err := source.Token(t.Context()); !errors.Is(err, none) || !strings.Contains(err.Error(), `"prod"`) {
		t.Errorf("error is %v, want one that wraps the provider's and names the cluster", err)
	}
}

func TestChinaHasItsOwnDomain(t *testing.T) {
	source, _ := tokenSource(static())
	source.region = "cn-north-1"
	if host := signedURL(t, token(t, source)).Host; host != "sts.cn-north-1.amazonaws.com.cn" {
		t.Errorf("host is %s", host)
	}
}
