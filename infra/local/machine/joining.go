package machine

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
)

// joining is what user data tells a node, whatever language the node's operating system wants it in.
type joining struct {
	// program is who reads the user data, as it signs its lines on the console: nodeadm, bootstrap.sh, bottlerocket or Start-EKSBootstrap.ps1.
	program string

	cluster, endpoint string
	// authority is the PEM of the cluster's certificate authority.
	authority []byte
	// cidr is the cluster's service range, empty where the user data does not speak of it.
	cidr string
	// dns are the addresses of the cluster's DNS; dnsFrom is the setting that gives them, empty where the operating system chose them itself.
	dns     []string
	dnsFrom string

	// kubelet is the configuration and flags the command line that wins over it; the paths say where the user finds them.
	kubelet                    kubeletConfiguration
	flags                      []string
	kubeletField, flagsSetting string

	// plainMaxPods says that a node to which nobody gives a number takes as many pods as any kubelet, and not its type's density.
	plainMaxPods bool
	// reservesForPods says that what is reserved follows the node's own number of pods and not the type's density.
	reservesForPods bool
	// keepsFree is the memory below which a kubelet evicts pods unless somebody says otherwise; empty is Linux's.
	// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
	keepsFree string
	// localStorage is what becomes of the instance's own disks: RAID0, RAID10, Mount or nothing.
	localStorage string
}

// kubeletMaxPods is the kubelet's own default of maxPods.
const kubeletMaxPods = 110

// field names one field of the kubelet's configuration as its user finds it.
func (j *joining) field(name string) string { return j.kubeletField + name }

// checkEndpoint finds what is wrong with the address of an API server.
func checkEndpoint(setting, endpoint string) error {
	if endpoint == "" {
		return fmt.Errorf("%s is missing", setting)
	}
	if parsed, err := url.Parse(endpoint); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return fmt.Errorf("%s %q is not an https URL", setting, endpoint)
	}
	return nil
}

// decodeAuthority gives the PEM of a certificate authority.
func decodeAuthority(setting, text string) ([]byte, error) {
	if text == "" {
		return nil, fmt.Errorf("%s is missing", setting)
	}
	certificate, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not base64: %w", setting, err)
	}
	if block, _ := pem.Decode(certificate); block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New(setting + " is not base64 of a PEM certificate")
	}
	return certificate, nil
}
