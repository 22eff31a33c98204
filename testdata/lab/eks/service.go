package eks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Verifier returns the signer of a presigned GetCallerIdentity URL and its signed headers.
type Verifier interface {
	VerifyPresigned(rawURL string, headers http.Header) (wire.Caller, error)
}

// Instances knows the private DNS names of instances, which are their nodes' names.
type Instances interface {
	PrivateDNSName(instanceID string) (name string, found bool)
}

// Config has the service's dependencies.
type Config struct {
	AccountID, Region string
	Verifier          Verifier
	Instances         Instances
	// AccessDelay is the time until the first API server knows that an access entry is new, or is
	// deleted; some seconds on EKS.
	AccessDelay time.Duration
	// AccessSpread is the time after that until the second one knows it too. Meanwhile the two answer
	// in turn.
	AccessSpread time.Duration
}

// Cluster is a control plane that EKS is to know.
type Cluster struct {
	Name string
	// Endpoint is the API server's https URL, CertificateAuthority the PEM that it is trusted by.
	Endpoint             string
	CertificateAuthority []byte
	// Version is major and minor, such as 1.36.
	Version string
	// ServiceCIDR is the range of service addresses.
	ServiceCIDR string
	VPCID       string
	SubnetIDs   []string
	// SecurityGroupID is the cluster security group.
	SecurityGroupID string
	// CreatorARN is the principal that created the cluster and becomes its administrator; empty for
	// none.
	CreatorARN string
	Tags       map[string]string
}

type cluster struct {
	Cluster
	created time.Time
	entries map[string]*accessEntry // by principal ARN
	deleted map[string]*accessEntry // the last one that was deleted, by principal ARN
}

// Service is the local EKS of one account and region.
type Service struct {
	config Config

	mu       sync.Mutex
	clusters map[string]*cluster
}

// New makes a service without clusters.
func New(config Config) (*Service, error) {
	if config.AccountID == "" || config.Region == "" || config.Verifier == nil || config.Instances == nil {
		return nil, errors.New("config needs an account, a region, a verifier of tokens and the instances' names")
	}
	return &Service{config: config, clusters: map[string]*cluster{}}, nil
}

// RegisterCluster makes a cluster known, and knows it again if it was registered before: its access
// entries stay.
func (s *Service) RegisterCluster(c Cluster) error {
	if c.Name == "" || c.Version == "" || c.ServiceCIDR == "" || len(c.CertificateAuthority) == 0 {
		return fmt.Errorf("registering cluster %q: name, version, service CIDR and certificate authority are needed", c.Name)
	}
	if at, err := url.Parse(c.Endpoint); err != nil || at.Scheme != "https" {
		return fmt.Errorf("registering cluster %q: endpoint %q is not an https URL", c.Name, c.Endpoint)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.clusters[c.Name]
	if known == nil {
		known = &cluster{created: time.Now(), entries: map[string]*accessEntry{}, deleted: map[string]*accessEntry{}}
		s.clusters[c.Name] = known
	}
	known.Cluster = c
	if c.CreatorARN != "" && known.entries[c.CreatorARN] == nil {
		entry := s.newEntry(known, c.CreatorARN, typeStandard)
		entry.policies = []string{clusterAdminPolicy}
		known.entries[c.CreatorARN] = entry
	}
	return nil
}

// Register answers the server's calls to EKS and mounts the token webhook.
func (s *Service) Register(server *wire.Server) {
	server.Register("eks", s)
	server.Mount(WebhookPath, s.tokenWebhook())
}

// RegisterTypes holds the service's CloudFormation types.
func (s *Service) RegisterTypes(cfn *cloudformation.Service) {
	cfn.RegisterType("AWS::EKS::AccessEntry", s.AccessEntryType())
}

// AccessEntryType is AWS::EKS::AccessEntry.
func (s *Service) AccessEntryType() cloudformation.ResourceType { return &accessEntryType{s} }

type handler func(c *wire.Call, path []string) (any, error)

// route finds the action for a request. path has the parts of the URL that are names.
func (s *Service) route(c *wire.Call) (action string, serve handler, path []string) {
	parts, err := pathParts(c.HTTP.URL)
	if err != nil {
		return "", nil, nil
	}
	for _, r := range s.routes() {
		if names, matches := r.match(c.HTTP.Method, parts); matches {
			return r.action, r.serve, names
		}
	}
	return "", nil, nil
}

// route is a REST operation. A * in its path stands for a name.
type route struct {
	method, path string
	action       string
	serve        handler
}

func (s *Service) routes() []route {
	const entries = "clusters/*/access-entries"
	return []route{
		{http.MethodGet, "clusters", "ListClusters", s.listClusters},
		{http.MethodGet, "clusters/*", "DescribeCluster", s.describeCluster},
		{http.MethodPost, entries, "CreateAccessEntry", s.createAccessEntry},
		{http.MethodGet, entries + "/*", "DescribeAccessEntry", s.describeAccessEntry},
		{http.MethodDelete, entries + "/*", "DeleteAccessEntry", s.deleteAccessEntry},
		{http.MethodPost, entries + "/*/access-policies", "AssociateAccessPolicy", s.associateAccessPolicy},
		{http.MethodGet, entries + "/*/access-policies", "ListAssociatedAccessPolicies", s.listAccessPolicies},
		{http.MethodDelete, entries + "/*/access-policies/*", "DisassociateAccessPolicy", s.disassociateAccessPolicy},
	}
}

// match returns the names in a path that fits the route.
func (r route) match(method string, parts []string) (names []string, matches bool) {
	wanted := strings.Split(r.path, "/")
	if method != r.method || len(parts) != len(wanted) {
		return nil, false
	}
	for i, part := range wanted {
		switch part {
		case "*":
			names = append(names, parts[i])
		case parts[i]:
		default:
			return nil, false
		}
	}
	return names, true
}

// pathParts splits a path before it is unescaped: ARNs have slashes of their own.
func pathParts(u *url.URL) ([]string, error) {
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i := range parts {
		var err error
		if parts[i], err = url.PathUnescape(parts[i]); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// Describe names the action of a call.
func (s *Service) Describe(c *wire.Call) string {
	action, _, _ := s.route(c)
	return action
}

// Serve answers one call.
func (s *Service) Serve(_ context.Context, c *wire.Call) (*wire.Response, error) {
	action, serve, path := s.route(c)
	if serve == nil {
		return nil, wire.Errorf("InvalidRequestException", http.StatusBadRequest, "the local EKS does not hold %s %s",
			c.HTTP.Method, c.HTTP.URL.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := serve(c, path)
	if err != nil {
		return nil, err
	}
	response, err := wire.JSON(out)
	if err != nil {
		return nil, fmt.Errorf("answering %s: %w", action, err)
	}
	return response, nil
}

func (s *Service) cluster(name string) (*cluster, error) {
	c := s.clusters[name]
	if c == nil {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusNotFound, "No cluster found for name: %s.", name)
	}
	return c, nil
}

func (s *Service) arn(kind string) string {
	return fmt.Sprintf("arn:aws:eks:%s:%s:%s", s.config.Region, s.config.AccountID, kind)
}

func (s *Service) listClusters(*wire.Call, []string) (any, error) {
	names := []string{}
	for name := range s.clusters {
		names = append(names, name)
	}
	slices.Sort(names)
	return map[string]any{"clusters": names}, nil
}
