package formats

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/xml"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"sigs.k8s.io/aws-iam-authenticator/pkg/token"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// sts starts the local STS and sends it every call of the default transport, which the
// authenticator uses.
func sts(t *testing.T) *identity.Service {
	t.Helper()
	service, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer()
	service.Register(server)
	if _, err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	front := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward(t, server.URL(), w, r)
	}))
	t.Cleanup(front.Close)
	before := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = before })
	http.DefaultTransport = &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the name is that of AWS
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, front.Listener.Addr().String())
		},
	}
	return service
}

// forward asks the local STS, with the host's name that was signed. STS answers in JSON if the
// caller asks for that, and the local one only in XML.
func forward(t *testing.T, address string, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	target, _ := url.Parse(address)
	request := r.Clone(r.Context())
	request.RequestURI, request.URL.Scheme, request.URL.Host = "", "http", target.Host
	response, err := (&http.Transport{}).RoundTrip(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, bytes.NewReader(body))
		return
	}
	var read struct {
		Result struct{ Arn, UserId, Account string } `xml:"GetCallerIdentityResult"` //nolint:revive,staticcheck // STS's name
	}
	if err := xml.Unmarshal(body, &read); err != nil {
		t.Errorf("%v in %s", err, body)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"GetCallerIdentityResponse": map[string]any{"GetCallerIdentityResult": read.Result},
	})
}

// TestEKSAcceptsTheToken verifies tokens as the API server of an EKS cluster does.
func TestEKSAcceptsTheToken(t *testing.T) {
	operator := sts(t).Operator()
	provider := credentials.NewStaticCredentialsProvider(
		operator.AccessKeyID, operator.SecretAccessKey, operator.SessionToken,
	)
	signed, err := cluster.NewTokenSource("prod", "us-east-1", provider, time.Now).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	verified, err := token.NewVerifier("prod", "aws", "us-east-1").Verify(signed)
	if err != nil {
		t.Fatal(err)
	}
	if verified.AccountID != "123456789012" || verified.AccessKeyID != operator.AccessKeyID ||
		!strings.HasPrefix(verified.ARN, "arn:aws:") {
		t.Errorf("the token is %+v", verified)
	}
	if other, err := token.NewVerifier("staging", "aws", "us-east-1").Verify(signed); err == nil {
		t.Errorf("cluster staging accepts the token of cluster prod as %+v", other)
	}
	forged, err := cluster.NewTokenSource("prod", "us-east-1", credentials.NewStaticCredentialsProvider(
		operator.AccessKeyID, "guessed", operator.SessionToken,
	), time.Now).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if other, err := token.NewVerifier("prod", "aws", "us-east-1").Verify(forged); err == nil {
		t.Errorf("a token with another secret passes as %+v", other)
	}
}
