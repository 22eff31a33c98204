package machine

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// mediaNodeConfig is the media type of user data that AL2023's nodeadm reads. cloud-init runs the
// others.
const mediaNodeConfig = "application/node.eks.aws"

// nodeadm reads a NodeConfig, alone or as parts of a MIME multipart document. Later parts override
// earlier ones.
func (u userData) nodeadm() (*joining, error) {
	if len(bytes.TrimSpace(u.text)) == 0 {
		return nil, errors.New(
			"user data is empty: a node needs a NodeConfig with the cluster's name, apiServerEndpoint, certificateAuthority " +
				"and cidr")
	}
	documents, err := nodeConfigs(u.text)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("user data has no part of type %s, so that nodeadm knows no cluster to join", mediaNodeConfig)
	}
	config, err := mergeNodeConfigs(documents)
	if err != nil {
		return nil, err
	}
	if err := config.validate(); err != nil {
		return nil, err
	}
	return config.joining()
}

// nodeConfigs returns the NodeConfig documents in their order.
func nodeConfigs(raw []byte) ([][]byte, error) {
	for _, start := range []string{"apiVersion:", "---", "kind:"} {
		if bytes.HasPrefix(bytes.TrimSpace(raw), []byte(start)) {
			return [][]byte{raw}, nil
		}
	}
	if bytes.HasPrefix(raw, []byte("#!")) || bytes.HasPrefix(raw, []byte("#cloud-config")) {
		return nil, nil // cloud-init's business
	}
	parts, err := mimeParts(raw)
	if err != nil {
		if !isMIME(raw) {
			return nil, errors.New("user data is neither a NodeConfig nor a MIME document")
		}
		return nil, err
	}
	var documents [][]byte
	for _, part := range parts {
		if part.media == mediaNodeConfig {
			documents = append(documents, part.body)
		}
	}
	return documents, nil
}

// joining converts the NodeConfig to the settings that all operating systems share.
func (c *nodeConfig) joining() (*joining, error) {
	// nodeadm writes them into the environment of the kubelet's unit, where systemd splits them;
	// quotes within a flag are taken off then.
	flags, err := shellWords(strings.Join(c.Kubelet.Flags, " "))
	if err != nil {
		return nil, fmt.Errorf("spec.kubelet.flags: %w", err)
	}
	j := &joining{
		cluster: c.Cluster.Name, endpoint: c.Cluster.APIServerEndpoint, cidr: c.Cluster.CIDR, flags: flags,
		kubeletField: "spec.kubelet.config.", flagsSetting: "spec.kubelet.flags", localStorage: c.localStorage(),
	}
	if j.authority, err = c.authority(); err != nil {
		return nil, err
	}
	given, err := c.kubeletConfiguration()
	if err != nil {
		return nil, err
	}
	j.kubelet, j.dns = *given, given.ClusterDNS
	if len(j.dns) > 0 {
		j.dnsFrom = "spec.kubelet.config.clusterDNS"
		return j, nil
	}
	prefix, err := netip.ParsePrefix(c.Cluster.CIDR)
	if err != nil {
		return nil, fmt.Errorf("spec.cluster.cidr %q is not an address range: %w", c.Cluster.CIDR, err)
	}
	j.dns = []string{dnsAddress(prefix).String()}
	return j, nil
}

// dnsAddress is where EKS puts the cluster's DNS: the tenth address of the service range.
func dnsAddress(services netip.Prefix) netip.Addr {
	address := services.Masked().Addr()
	for range 10 {
		address = address.Next()
	}
	return address
}
