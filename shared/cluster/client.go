package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// FieldManager is the name under which Whittle owns the fields that it writes.
const FieldManager = "whittle"

// requestTimeout bounds one request to the API server where the caller sets no bound. A stuck connection
// then costs a function only a part of its time.
const requestTimeout = 15 * time.Second

// Endpoint is the address of a cluster, with what its nodes need to join it.
type Endpoint struct {
	Name                 string
	URL                  string
	CertificateAuthority []byte // PEM
	// Version is the Kubernetes minor version, such as 1.36; empty when not read from EKS.
	Version string
	// ServiceCIDR holds the addresses of services; empty when not read from EKS.
	ServiceCIDR string
	// Private is true for an endpoint that answers inside the cluster's VPC. PublicCIDRs are the
	// addresses outside the VPC that it answers; none for a private endpoint, and when not read from
	// EKS.
	Private     bool
	PublicCIDRs []string
	// AutoMode is true while EKS launches nodes itself, in Auto Mode.
	AutoMode bool
}

// Find reads the cluster's endpoint from EKS. It returns an error for a cluster that is not active
// yet, and EKS's error for one that does not exist (ResourceNotFoundException).
func Find(ctx context.Context, client *eks.Client, name string) (Endpoint, error) {
	output, err := client.DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &name})
	if err != nil {
		return Endpoint{}, fmt.Errorf("describing cluster %q: %w", name, err)
	}
	described := output.Cluster
	if described == nil || described.Endpoint == nil ||
		described.CertificateAuthority == nil || described.CertificateAuthority.Data == nil {
		return Endpoint{}, fmt.Errorf("cluster %q has no endpoint or certificate authority yet: "+
			"wait until it is ACTIVE", name)
	}
	authority, err := base64.StdEncoding.DecodeString(*described.CertificateAuthority.Data)
	if err != nil {
		return Endpoint{}, fmt.Errorf("cluster %q: certificateAuthority.data is not base64: %w", name, err)
	}
	endpoint := Endpoint{
		Name: name, URL: *described.Endpoint, CertificateAuthority: authority, Version: aws.ToString(described.Version),
	}
	if network := described.KubernetesNetworkConfig; network != nil {
		endpoint.ServiceCIDR = aws.ToString(network.ServiceIpv4Cidr)
		if endpoint.ServiceCIDR == "" {
			endpoint.ServiceCIDR = aws.ToString(network.ServiceIpv6Cidr)
		}
	}
	if vpc := described.ResourcesVpcConfig; vpc != nil {
		endpoint.Private = vpc.EndpointPrivateAccess
		if vpc.EndpointPublicAccess {
			endpoint.PublicCIDRs = vpc.PublicAccessCidrs
		}
	}
	endpoint.AutoMode = described.ComputeConfig != nil && aws.ToBool(described.ComputeConfig.Enabled)
	return endpoint, nil
}

// Client reads and writes one cluster's objects. It is safe for concurrent use.
type Client struct {
	Endpoint Endpoint
	rest     *rest.RESTClient
	config   *rest.Config    // of rest
	decoder  runtime.Decoder // of built-in kinds
	dryRun   bool
	// consistent makes every read see the newest version.
	consistent bool
	cache      *Cache // nil without one
	leases     *knownLeases
	now        func() time.Time
}

// DryRun returns a client of the same cluster whose writes the API server checks, and does not
// keep.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run
func (c *Client) DryRun() *Client {
	dry := *c
	dry.dryRun = true
	return &dry
}

// Consistent returns a client of the same cluster that never reads what the watch cache had a moment
// ago. Every deletion, eviction and termination is decided on such reads, because an API server that
// lags may show minutes-old objects.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (c *Client) Consistent() *Client {
	consistent := *c
	consistent.consistent = true
	return &consistent
}

// Now is the time on the clock by which the client's Leases end.
func (c *Client) Now() time.Time { return c.now() }

// CertificateAuthority is the certificate of the cluster's authority in PEM.
func (c *Client) CertificateAuthority() []byte { return c.Endpoint.CertificateAuthority }

// New returns a client for the endpoint whose requests carry the source's tokens. It has the
// source's clock. Its requests go through the transport, or over the network for nil. New sends
// nothing, and returns an error for a malformed endpoint.
func New(endpoint Endpoint, tokens *TokenSource, through http.RoundTripper) (*Client, error) {
	config := &rest.Config{
		Host:      endpoint.URL,
		Transport: through,
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return &transport{tokens: tokens, next: next}
		},
	}
	if through == nil {
		config.TLSClientConfig = rest.TLSClientConfig{CAData: endpoint.CertificateAuthority}
	}
	return newClient(endpoint, config, tokens.now)
}

// NewForConfig returns a client for a connection that the caller describes: the command line's
// kubeconfig, or a test's certificate.
func NewForConfig(endpoint Endpoint, config *rest.Config) (*Client, error) {
	return newClient(endpoint, config, time.Now)
}

func newClient(endpoint Endpoint, config *rest.Config, now func() time.Time) (*Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "whittle"
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	// client-go's default of 5 requests a second is made for controllers that live for days. A
	// function has seconds, and the API server's priority and fairness protects the cluster. Each
	// function bounds how many requests it has under way. This limit is for a missing bound.
	config.QPS, config.Burst = 1000, 1000
	codecs := serializer.NewCodecFactory(newScheme())
	config.ContentConfig = rest.ContentConfig{
		GroupVersion:         &schema.GroupVersion{Version: "v1"},
		NegotiatedSerializer: codecs.WithoutConversion(),
		AcceptContentTypes:   protobufOrJSON,
		ContentType:          runtime.ContentTypeProtobuf,
	}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %q at %s: %w", endpoint.Name, endpoint.URL, err)
	}
	return &Client{
		Endpoint: endpoint, rest: client, config: config, decoder: codecs.UniversalDeserializer(), now: now,
		leases: &knownLeases{},
	}, nil
}

// protobufOrJSON are the media types of built-in kinds.
const protobufOrJSON = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// newScheme knows only the built-in kinds that Whittle uses. A full clientset doubles a function's
// size and cold start.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme,
		coordinationv1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // two kinds under one name: a mistake in this list
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}

// list reads a whole collection of a built-in kind without managedFields, from the watch cache unless
// the client is consistent or the parameters name a resourceVersion.
func (c *Client) list(ctx context.Context, path string, into runtime.Object, parameters ...string) error {
	request := c.rest.Get().AbsPath(path)
	if !c.consistent && !slices.Contains(parameters, versionParameter) {
		request = request.Param(versionParameter, cachedVersion)
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		request = request.Param(parameters[i], parameters[i+1])
	}
	if err := request.Do(ctx).Into(into); err != nil {
		return fmt.Errorf("listing %s: %w", path, err)
	}
	return withoutManagedFields(into)
}

// readJSON reads an object or a collection of a custom kind.
func (c *Client) readJSON(ctx context.Context, path string, into any, parameters ...string) error {
	request := c.rest.Get().AbsPath(path).SetHeader("Accept", runtime.ContentTypeJSON)
	for i := 0; i+1 < len(parameters); i += 2 {
		if c.consistent && parameters[i] == versionParameter && parameters[i+1] == cachedVersion {
			continue
		}
		request = request.Param(parameters[i], parameters[i+1])
	}
	return finish(request.Do(ctx), "reading "+path, into)
}

// writeJSON sends an object with the verb, and reads the stored object into the other one.
func (c *Client) writeJSON(ctx context.Context, verb, path string, object, into any, parameters ...string) error {
	request, err := c.writing(verb, path, object, parameters...)
	if err != nil {
		return err
	}
	return send(ctx, request, path, into)
}

// send sends a request that writes, unless the time to write has ended.
func send(ctx context.Context, request *rest.Request, path string, into any) error {
	ctx, cancel, err := fenced(ctx)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer cancel()
	return finish(request.Do(ctx), "writing "+path, into)
}

// writing is the request that sends the object.
func (c *Client) writing(verb, path string, object any, parameters ...string) (*rest.Request, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", path, err)
	}
	request := c.rest.Verb(verb).AbsPath(path).SetHeader("Accept", runtime.ContentTypeJSON).
		SetHeader("Content-Type", contentType(verb)).Param("fieldManager", FieldManager).Body(body)
	if c.dryRun {
		request = request.Param("dryRun", metav1.DryRunAll)
	}
	for i := 0; i+1 < len(parameters); i += 2 {
		request = request.Param(parameters[i], parameters[i+1])
	}
	return request, nil
}

func contentType(verb string) string {
	if verb == http.MethodPatch {
		return "application/merge-patch+json"
	}
	return runtime.ContentTypeJSON
}

func finish(result rest.Result, doing string, into any) error {
	body, err := result.Raw()
	if err == nil && into != nil {
		err = decode(body, into)
	}
	if err != nil {
		// The error of Result.Error has the server's message and reason; Raw's has not.
		if status := result.Error(); status != nil {
			err = status
		}
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}
