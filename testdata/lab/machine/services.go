package machine

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// checkServices compares the user data's service settings with the cluster. A real node with a
// wrong service range or DNS address joins, and its pods resolve no name. A machine here stays away
// and logs the reason, so that the mistake shows at once.
func (m *machine) checkServices(ctx context.Context, j *joining) error {
	m.owner.mu.Lock()
	cluster, found := m.owner.clusters[j.cluster]
	m.owner.mu.Unlock()
	if !found {
		return nil // the API server refuses the token of a node that names another cluster
	}
	services, err := serviceRange(ctx, cluster.client)
	if err != nil {
		m.console.print("%s: the service range of cluster %s cannot be read, so that it is not checked: %v", j.program,
			j.cluster, err)
		return nil
	}
	if given, err := netip.ParsePrefix(j.cidr); j.cidr != "" && (err != nil || given.Masked() != services.Masked()) {
		return fmt.Errorf("%s: the user data says that services are in %s, but those of cluster %s are in %s", j.program,
			j.cidr, j.cluster, services)
	}
	for _, address := range j.dns {
		served, err := servesDNS(ctx, cluster.client, services, address)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %s: %w", j.program, j.dnsFrom, err)
		case !served && j.dnsFrom == "":
			m.console.print("%s: warning: nobody gave the address of the cluster's DNS, and the usual one, %s, is none of %s",
				j.program, address, services)
		case !served:
			return fmt.Errorf("%s: %s is %s, at which cluster %s serves no DNS: its services are in %s", j.program, j.dnsFrom,
				address, j.cluster, services)
		}
	}
	return nil
}

// serviceRange is the cluster's range of service addresses.
func serviceRange(ctx context.Context, client kubernetes.Interface) (netip.Prefix, error) {
	first, err := client.NetworkingV1().ServiceCIDRs().Get(ctx, "kubernetes", metav1.GetOptions{})
	if err != nil {
		return netip.Prefix{}, err
	}
	if len(first.Spec.CIDRs) == 0 {
		return netip.Prefix{}, fmt.Errorf("servicecidr %q names no range", first.Name)
	}
	return netip.ParsePrefix(first.Spec.CIDRs[0])
}

// servesDNS reports whether the cluster's DNS can be at an address. It accepts the usual address of
// the service range, even before a Service exists, that of any Service, and a link-local one for a
// cache on the node.
func servesDNS(ctx context.Context, client kubernetes.Interface, services netip.Prefix, text string) (bool, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return false, fmt.Errorf("%q is not an address", text)
	}
	if address.IsLinkLocalUnicast() || address == dnsAddress(services) {
		return true, nil
	}
	list, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Items, func(s corev1.Service) bool {
		return slices.Contains(s.Spec.ClusterIPs, text)
	}), nil
}
