package wire

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const testSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

func testCredentials() aws.Credentials {
	return aws.Credentials{AccessKeyID: "AKIATEST", SecretAccessKey: testSecret, SessionToken: "token"}
}

// signed makes a request as the SDK's own signer signs it.
func signed(t *testing.T, service, method, url, body string, at time.Time) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Odd-Header", "  two   spaces ")
	digest := sha256.Sum256([]byte(body))
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
	if err := signer.SignHTTP(t.Context(), testCredentials(), request, hex.EncodeToString(digest[:]), service, "us-east-1",
		at); err != nil {
		t.Fatal(err)
	}
	return request
}

func TestVerifySDKSignatures(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct{ service, method, url, body string }{
		{"sqs", http.MethodPost, "http://127.0.0.1:4566/", `{"QueueUrl":"x"}`},
		{
			"lambda", http.MethodGet, "http://127.0.0.1:4566/2015-03-31/functions/a%3Ab/invocations?Qualifier=%24LATEST&b=1&a=2",
			"",
		},
		{"s3", http.MethodPut, "http://127.0.0.1:4566/bucket/with%20space/%C3%BC?partNumber=1&uploadId=x%2By", "data"},
	} {
		t.Run(test.service, func(t *testing.T) {
			request := signed(t, test.service, test.method, test.url, test.body, now)
			signature, err := ParseSignature(request)
			if err != nil {
				t.Fatal(err)
			}
			if signature.Service != test.service || signature.Region != "us-east-1" || signature.AccessKeyID != "AKIATEST" ||
				signature.SessionToken != "token" {
				t.Errorf("read %+v", signature)
			}
			if err := signature.Verify(request, []byte(test.body), testSecret, now); err != nil {
				t.Errorf("a good signature was refused: %v", err)
			}
			for problem, verify := range map[string]func() error{
				"SignatureDoesNotMatch": func() error {
					return signature.Verify(request, []byte(test.body), "another secret", now)
				},
				"RequestExpired": func() error {
					return signature.Verify(request, []byte(test.body), testSecret, now.Add(time.Hour))
				},
			} {
				var answer *Error
				if err := verify(); !errors.As(err, &answer) || answer.Code != problem {
					t.Errorf("got %v, want %s", err, problem)
				}
			}
			request.URL.Path += "x"
			if err := signature.Verify(request, []byte(test.body), testSecret, now); err == nil {
				t.Error("a changed path was accepted")
			}
		})
	}
}

func TestVerifyNoticesAChangedBody(t *testing.T) {
	now := time.Now()
	request := signed(t, "sqs", http.MethodPost, "http://127.0.0.1/", "one", now)
	signature, err := ParseSignature(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := signature.Verify(request, []byte("two"), testSecret, now); err == nil {
		t.Error("another body was accepted")
	}
}

func TestVerifyPresigned(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		"https://sts.us-east-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-K8s-Aws-Id", "prod")
	empty := sha256.Sum256(nil)
	url, headers, err := v4.NewSigner().PresignHTTP(t.Context(), testCredentials(), request, hex.EncodeToString(empty[:]),
		"sts", "us-east-1", now)
	if err != nil {
		t.Fatal(err)
	}
	sent, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	sent.Header = headers
	signature, err := ParseSignature(sent)
	if err != nil {
		t.Fatal(err)
	}
	if !signature.Presigned || signature.Expires != time.Minute {
		t.Errorf("read %+v", signature)
	}
	if err := signature.Verify(sent, nil, testSecret, now.Add(59*time.Second)); err != nil {
		t.Errorf("a good URL was refused: %v", err)
	}
	if err := signature.Verify(sent, nil, testSecret, now.Add(61*time.Second)); err == nil ||
		!strings.Contains(err.Error(), "ExpiredToken") {
		t.Errorf("got %v, want ExpiredToken", err)
	}
	sent.Header.Set("X-K8s-Aws-Id", "test")
	if err := signature.Verify(sent, nil, testSecret, now); err == nil {
		t.Error("another cluster's name was accepted")
	}
}

func TestParseSignatureRefuses(t *testing.T) {
	for name, header := range map[string]string{
		"another algorithm": "AWS4-ECDSA-P256-SHA256 Credential=A/20261121/us-east-1/sqs/aws4_request, " +
			"SignedHeaders=host, Signature=ab",
		"half a scope":            "AWS4-HMAC-SHA256 Credential=A/20261121, SignedHeaders=host, Signature=ab",
		"no signature":            "AWS4-HMAC-SHA256 Credential=A/20261121/us-east-1/sqs/aws4_request, SignedHeaders=host",
		"no headers":              "AWS4-HMAC-SHA256 Credential=A/20261121/us-east-1/sqs/aws4_request, Signature=ab",
		"something else entirely": "Basic YTpi",
		"a malformed signing time": "AWS4-HMAC-SHA256 Credential=A/20261121/us-east-1/sqs/aws4_request, " +
			"SignedHeaders=host, Signature=ab",
	} {
		t.Run(name, func(t *testing.T) {
			request := signed(t, "sqs", http.MethodPost, "http://127.0.0.1/", "", time.Now())
			request.Header.Set("Authorization", header)
			if name == "a malformed signing time" {
				request.Header.Set("X-Amz-Date", "today")
			}
			signature, err := ParseSignature(request)
			var answer *Error
			if !errors.As(err, &answer) || answer.Code != "IncompleteSignature" {
				t.Errorf("got %+v, %v, want IncompleteSignature", signature, err)
			}
		})
	}
}
