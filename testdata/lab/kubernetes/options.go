package kubernetes

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"time"
)

// defaultServiceCIDR is one of the two ranges that EKS itself chooses from:
// https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
const defaultServiceCIDR = "10.100.0.0/16"

// Options say how a control plane is run.
type Options struct {
	// Binary is the path that Build returned.
	Binary string
	// Directory keeps the state, the certificates and the log. A control plane that starts again in
	// the same directory has the same objects and the same certificate authority. One directory
	// serves one control plane at a time.
	Directory string
	// Port is the port of 127.0.0.1 for the API server; 0 takes a free one.
	Port int
	// TokenWebhookURL is the address of a TokenReview (authentication.k8s.io/v1) webhook that is
	// asked about each bearer token which is not a service account's. Empty: such tokens are
	// refused.
	TokenWebhookURL string
	// ServiceCIDR is the IPv4 range of the services' addresses, between /12 and /24 as on EKS.
	// Empty: defaultServiceCIDR.
	ServiceCIDR string
	// NodeMonitorGracePeriod is the silence after which a node is marked unreachable. Zero means
	// Kubernetes' default of 50 seconds, which EKS keeps.
	NodeMonitorGracePeriod time.Duration
	// WithoutWatchCache makes each list come from etcd. By default the API server lists from its
	// memory. A list of recent writes then waits up to a tenth of a second until that memory is up
	// to date. A list with resourceVersion 0 may be outdated.
	WithoutWatchCache bool
	// AuditGroups are the user groups whose requests AuditedRequests returns.
	AuditGroups []string
	// Log also gets the log of Directory/controlplane.log. It may be nil.
	Log io.Writer
}

// withDefaults fills optional fields and checks all others.
func (o Options) withDefaults() (Options, error) {
	if o.ServiceCIDR == "" {
		o.ServiceCIDR = defaultServiceCIDR
	}
	var problems []error
	if o.Binary == "" {
		problems = append(problems, errors.New("option Binary is empty: give the path that Build returns"))
	}
	if o.Directory == "" {
		problems = append(problems, errors.New("option Directory is empty: give a directory for state, certificates and log"))
	}
	if o.Port < 0 || o.Port > 65535 {
		problems = append(problems, fmt.Errorf("option Port %d is not between 0 and 65535", o.Port))
	}
	problems = append(problems, o.checkWebhook(), o.checkServiceCIDR())
	if o.NodeMonitorGracePeriod < 0 {
		problems = append(problems, fmt.Errorf("option NodeMonitorGracePeriod %s is negative", o.NodeMonitorGracePeriod))
	}
	return o, errors.Join(problems...)
}

func (o Options) checkWebhook() error {
	if o.TokenWebhookURL == "" {
		return nil
	}
	address, err := url.Parse(o.TokenWebhookURL)
	if err != nil {
		return fmt.Errorf("option TokenWebhookURL: %w", err)
	}
	if address.Scheme != "http" || address.Host == "" {
		return fmt.Errorf("option TokenWebhookURL %q is not an http URL with a host", o.TokenWebhookURL)
	}
	return nil
}

func (o Options) checkServiceCIDR() error {
	prefix, err := netip.ParsePrefix(o.ServiceCIDR)
	switch {
	case err != nil:
		return fmt.Errorf("option ServiceCIDR: %w", err)
	case !prefix.Addr().Is4() || prefix.Bits() < 12 || prefix.Bits() > 24:
		return fmt.Errorf("option ServiceCIDR %q is not an IPv4 range between /12 and /24", o.ServiceCIDR)
	case prefix != prefix.Masked():
		return fmt.Errorf("option ServiceCIDR %q has host bits set: give %q", o.ServiceCIDR, prefix.Masked())
	}
	return nil
}

// clusterDNS is the address of the cluster's DNS service, the tenth of the range by the convention
// that EKS and its node bootstrap share. ServiceCIDR is valid.
func (o Options) clusterDNS() netip.Addr {
	address := netip.MustParsePrefix(o.ServiceCIDR).Addr().As4()
	address[3] += 10
	return netip.AddrFrom4(address)
}
