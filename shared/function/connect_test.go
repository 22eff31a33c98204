package function

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// eksAnswers serves DescribeCluster with one answer after the other; the last
// one stays.
func eksAnswers(t *testing.T, answers ...func(http.ResponseWriter)) (aws.Config, *atomic.Int64) {
	t.Helper()
	calls := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/clusters/prod" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		answers[min(int(calls.Add(1)), len(answers))-1](w)
	}))
	t.Cleanup(server.Close)
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
	}, calls
}

func active(authority string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		fmt.Fprintf(
			w,
			`{"cluster": {"endpoint": "https://prod.example.com", "version": "1.36",
			"kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16"},
			"resourcesVpcConfig": {
				"endpointPrivateAccess": true, "endpointPublicAccess": true, "publicAccessCidrs": ["203.0.113.0/24"]
			},
			"computeConfig": {"enabled": true},
			"certificateAuthority": {"data": %q}}}`,
			authority,
		)
	}
}

func creating(w http.ResponseWriter) { fmt.Fprint(w, `{"cluster": {"status": "CREATING"}}`) }

func gone(w http.ResponseWriter) {
	w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"message": "No cluster found for name: prod."}`)
}

// authority is the PEM of some certificate.
func authority(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func TestTheEndpointIsReadOncePerContainer(t *testing.T) {
	bundle := authority(t)
	config, calls := eksAnswers(t, creating, active(base64.StdEncoding.EncodeToString([]byte(bundle))))
	connection := (Deps{}).Connection(config, "prod")
	if _, err := connection.Client(t.Context()); err == nil {
		t.Error("connected to a cluster without an endpoint")
	}
	// The failure is not remembered, the success is.
	for range 3 {
		client, err := connection.Client(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		endpoint := client.Endpoint
		if endpoint.Name != "prod" || endpoint.URL != "https://prod.example.com" ||
			string(endpoint.CertificateAuthority) != bundle ||
			endpoint.Version != "1.36" || endpoint.ServiceCIDR != "10.100.0.0/16" ||
			!endpoint.Private || !slices.Equal(endpoint.PublicCIDRs, []string{"203.0.113.0/24"}) || !endpoint.AutoMode {
			t.Errorf("endpoint is %+v", endpoint)
		}
	}
	if calls.Load() != 2 {
		t.Errorf("%d calls, want two", calls.Load())
	}
}

func TestAMissingClusterIsItsOwnError(t *testing.T) {
	config, _ := eksAnswers(t, gone)
	_, err := (Deps{}).Connection(config, "prod").Client(t.Context())
	var missing *types.ResourceNotFoundException
	if !errors.As(err, &missing) {
		t.Errorf("error is %v, want EKS's own in its chain", err)
	}
}

func TestAnAuthorityThatIsNotBase64IsRefused(t *testing.T) {
	config, _ := eksAnswers(t, active("not base64!"))
	if _, err := (Deps{}).Connection(config, "prod").Client(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "certificateAuthority.data is not base64") {
		t.Errorf("error is %v", err)
	}
	config, _ = eksAnswers(t, active(base64.StdEncoding.EncodeToString([]byte("no certificate"))))
	if _, err := (Deps{}).Connection(config, "prod").Client(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("error is %v", err)
	}
}
