package machine

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// bootstrapPath is the script with which Amazon Linux 2's EKS images join a cluster.
// https://github.com/awslabs/amazon-eks-ami, templates/al2/runtime/bootstrap.sh
const bootstrapPath = "/etc/eks/bootstrap.sh"

// bootstrapOptions are the script's options; each takes a value. Those that are true change
// something here.
func bootstrapOptions() map[string]bool {
	return map[string]bool{
		"--use-max-pods": true, "--b64-cluster-ca": true, "--apiserver-endpoint": true, "--kubelet-extra-args": true,
		"--dns-cluster-ip": true,
		"--local-disks":    true, "--ip-family": true, "--service-ipv4-cidr": true, "--service-ipv6-cidr": true,
		"--container-runtime":    true,
		"--enable-docker-bridge": false, "--aws-api-retry-attempts": false, "--docker-config-json": false,
		"--containerd-config-file":  false,
		"--pause-container-account": false, "--pause-container-version": false, "--cluster-id": false,
		"--enable-local-outpost": false, "--mount-bpf-fs": false,
	}
}

// bootstrapScript runs through the shell scripts of user data until one calls bootstrap.sh.
func (u userData) bootstrapScript() (*joining, error) {
	if len(strings.TrimSpace(string(u.text))) == 0 {
		return nil, errors.New("user data is empty: nothing calls " + bootstrapPath)
	}
	scripts := []mimePart{{"text/x-shellscript", u.text}}
	if isMIME(u.text) {
		var err error
		if scripts, err = mimeParts(u.text); err != nil {
			return nil, err
		}
	}
	for _, script := range scripts {
		if script.media != "text/x-shellscript" {
			continue
		}
		if !strings.HasPrefix(strings.TrimLeft(string(script.body), "\r\n"), "#!") {
			return nil, errors.New("a shell script of the user data does not begin with #!, so that cloud-init does not run it")
		}
		words, called, err := shellCall(string(script.body), func(name string) bool {
			return path.Base(name) == path.Base(bootstrapPath)
		})
		if err != nil {
			return nil, err
		}
		if called {
			return u.bootstrapArguments(words)
		}
	}
	return nil, fmt.Errorf("no shell script of the user data calls %s, so that the node knows no cluster to join",
		bootstrapPath)
}

// bootstrapArguments reads the command line of bootstrap.sh. It takes a value only after a space:
// an option with an equal sign is none to it.
func (u userData) bootstrapArguments(words []string) (*joining, error) {
	options, positional, err := splitBootstrapArguments(words)
	if err != nil {
		return nil, err
	}
	if len(positional) == 0 || positional[0] == "" {
		return nil, errors.New("CLUSTER_NAME is not defined: bootstrap.sh wants the cluster's name as its argument")
	}
	if strings.HasPrefix(positional[0], "-") || len(positional) > 1 {
		return nil, fmt.Errorf(
			"arguments %q are not options: the first is taken for the cluster's name, the others for nothing", positional)
	}
	j := &joining{
		cluster: positional[0], endpoint: options["--apiserver-endpoint"], cidr: options["--service-ipv4-cidr"],
		flagsSetting: "--kubelet-extra-args",
		kubeletField: "--kubelet-extra-args ",
	}
	if err := u.findCluster(j, "--apiserver-endpoint", "--b64-cluster-ca", options["--b64-cluster-ca"]); err != nil {
		return nil, err
	}
	if family := options["--ip-family"]; !slices.Contains([]string{"", "ipv4"}, family) {
		return nil, fmt.Errorf("--ip-family %s: the local clusters are of the family ipv4", family)
	}
	switch options["--use-max-pods"] {
	case "", "true":
	case "false":
		j.plainMaxPods = true
	default:
		return nil, fmt.Errorf("--use-max-pods %s: want true or false", options["--use-max-pods"])
	}
	if j.localStorage, err = localDisks(options["--local-disks"]); err != nil {
		return nil, err
	}
	if j.flags, err = shellWords(options["--kubelet-extra-args"]); err != nil {
		return nil, fmt.Errorf("--kubelet-extra-args: %w", err)
	}
	j.dns = []string{guessedDNS}
	if address := options["--dns-cluster-ip"]; address != "" {
		j.dns, j.dnsFrom = []string{address}, "--dns-cluster-ip"
	}
	return j, nil
}

// splitBootstrapArguments separates options with their values from other arguments.
func splitBootstrapArguments(words []string) (options map[string]string, positional []string, err error) {
	options = map[string]string{}
	for n := 0; n < len(words); n++ {
		if _, known := bootstrapOptions()[words[n]]; !known {
			positional = append(positional, words[n])
			continue
		}
		if n+1 == len(words) {
			return nil, nil, fmt.Errorf("option %s has no value", words[n])
		}
		options[words[n]] = words[n+1]
		n++
	}
	return options, positional, nil
}

// localDisks is the local storage of the script's option --local-disks.
func localDisks(disks string) (string, error) {
	switch disks {
	case "":
		return "", nil
	case "raid0", "raid10":
		return strings.ToUpper(disks), nil
	case "mount":
		return "Mount", nil
	default:
		return "", fmt.Errorf("--local-disks %s: want raid0, raid10 or mount", disks)
	}
}

// guessedDNS is the cluster DNS address that bootstrap scripts assume by default. In a VPC whose
// addresses begin with 10, EKS gives clusters the service range 172.20.0.0/16.
const guessedDNS = "172.20.0.10"

// findCluster completes endpoint and certificate authority; scripts ask eks:DescribeCluster for
// both where the user data lacks one.
func (u userData) findCluster(j *joining, endpointSetting, authoritySetting, authority string) error {
	if j.endpoint == "" || authority == "" {
		facts, found := u.cluster(j.cluster)
		if !found {
			return fmt.Errorf("%s or %s is missing, and eks:DescribeCluster knows no cluster %q", endpointSetting,
				authoritySetting, j.cluster)
		}
		j.endpoint, j.authority = facts.endpoint, facts.authority
		return nil
	}
	if err := checkEndpoint(endpointSetting, j.endpoint); err != nil {
		return err
	}
	var err error
	j.authority, err = decodeAuthority(authoritySetting, authority)
	return err
}
