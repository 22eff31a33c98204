package machine

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
)

// joining holds the settings in a node's user data, in whatever language they were written.
type joining struct {
	// program reads the user data and signs its console lines: nodeadm, bootstrap.sh, bottlerocket
	// or Start-EKSBootstrap.ps1.
	program string

	cluster, endpoint string
	// authority is the PEM of the cluster's certificate authority.
	authority []byte
	// cidr is the cluster's service range, empty where the user data does not speak of it.
	cidr string
	// dns are the addresses of the cluster's DNS; dnsFrom is the setting that gives them, empty
	// where the operating system chose them itself.
	dns     []string
	dnsFrom string

	// kubelet is the configuration and flags the command line that wins over it; the paths say
	// where the user finds them.
	kubelet                    kubeletConfiguration
	flags                      []string
	kubeletField, flagsSetting string

	// plainMaxPods gives a node without a maxPods setting the kubelet's default instead of its
	// type's density.
	plainMaxPods bool
	// reservesForPods derives the reserved amounts from the node's own number of pods instead of
	// the type's density.
	reservesForPods bool
	// keepsFree is the default memory threshold below which the kubelet evicts pods; empty is
	// Linux's.
	// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#hard-eviction-thresholds
	keepsFree string
	// localStorage is the use of the instance's own disks: RAID0, RAID10, Mount or empty.
	localStorage string
}

// kubeletMaxPods is the kubelet's own default of maxPods.
const kubeletMaxPods = 110

// field names one field of the kubelet's configuration as its user finds it.
func (j *joining) field(name string) string { return j.kubeletField + name }

// checkEndpoint checks the address of an API server.
func checkEndpoint(setting, endpoint string) error {
	if endpoint == "" {
		return fmt.Errorf("%s is missing", setting)
	}
	if parsed, err := url.Parse(endpoint); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return fmt.Errorf("%s %q is not an https URL", setting, endpoint)
	}
	return nil
}

// decodeAuthority returns the PEM of a certificate authority.
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
