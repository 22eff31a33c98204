package nodeclass

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/whittle-dev/whittle/shared/api"
)

// table is a table of a TOML document.
type table = map[string]any

// bottlerocket writes the node's settings into the user's TOML document. The node's settings win,
// and labels are added to the user's labels.
// https://bottlerocket.dev/en/os/latest/#/api/settings/kubernetes/
func bottlerocket(s settings, image api.AMI, own string) (string, error) {
	document := table{}
	if err := toml.Unmarshal([]byte(own), &document); err != nil {
		var bad *toml.DecodeError
		if errors.As(err, &bad) {
			row, column := bad.Position()
			return "", fmt.Errorf("is not well-formed TOML: line %d, column %d: %w", row, column, err)
		}
		return "", fmt.Errorf("is not well-formed TOML: %w", err)
	}
	kubernetes, err := inside(document, "settings", "kubernetes")
	if err != nil {
		return "", err
	}
	labels, err := inside(document, "settings", "kubernetes", "node-labels")
	if err != nil {
		return "", err
	}
	for key, value := range s.labels {
		labels[key] = value
	}
	if name, has := kubernetes["cluster-name"]; has && name != s.cluster.Name {
		return "", fmt.Errorf(
			"has settings.kubernetes.cluster-name %q, and its nodes join cluster %q: remove it, it is written for you",
			name, s.cluster.Name,
		)
	}
	kubernetes["cluster-name"] = s.cluster.Name
	kubernetes["api-server"] = s.cluster.Endpoint
	kubernetes["cluster-certificate"] = base64.StdEncoding.EncodeToString(s.cluster.CertificateAuthority)
	taints := map[string][]string{}
	for _, taint := range s.taints {
		taints[taint.Key] = append(taints[taint.Key], taint.Value+":"+string(taint.Effect))
	}
	kubernetes["node-taints"] = taints
	bottlerocketKubelet(kubernetes, s.kubelet)
	if s.raid0 {
		commands, err := inside(document, "settings", "bootstrap-commands", "000-mount-instance-storage")
		if err != nil {
			return "", err
		}
		commands["commands"] = mountInstanceStorage(image)
		commands["mode"], commands["essential"] = "always", true
	}
	written, err := toml.Marshal(document)
	return string(written), err
}

// bottlerocketKubelet maps the kubelet's settings to Bottlerocket's names.
func bottlerocketKubelet(kubernetes table, k api.KubeletConfiguration) {
	if len(k.ClusterDNS) > 0 {
		kubernetes["cluster-dns-ip"] = k.ClusterDNS[0]
	}
	if k.MaxPods != nil {
		kubernetes["max-pods"] = *k.MaxPods
	}
	for name, values := range map[string]map[string]string{
		"system-reserved": k.SystemReserved, "kube-reserved": k.KubeReserved, "eviction-hard": k.EvictionHard,
		"eviction-soft": k.EvictionSoft,
	} {
		if len(values) > 0 {
			kubernetes[name] = values
		}
	}
	if len(k.EvictionSoftGracePeriod) > 0 {
		periods := map[string]string{}
		for signal, period := range k.EvictionSoftGracePeriod {
			periods[signal] = period.Duration.String()
		}
		kubernetes["eviction-soft-grace-period"] = periods
	}
	if k.EvictionMaxPodGracePeriod != nil {
		kubernetes["eviction-max-pod-grace-period"] = *k.EvictionMaxPodGracePeriod
	}
	// Bottlerocket takes these percentages as text.
	if k.ImageGCHighThresholdPercent != nil {
		kubernetes["image-gc-high-threshold-percent"] = strconv.Itoa(int(*k.ImageGCHighThresholdPercent))
	}
	if k.ImageGCLowThresholdPercent != nil {
		kubernetes["image-gc-low-threshold-percent"] = strconv.Itoa(int(*k.ImageGCLowThresholdPercent))
	}
	if k.CPUCFSQuota != nil {
		kubernetes["cpu-cfs-quota-enforced"] = *k.CPUCFSQuota
	}
}

// mountInstanceStorage returns the commands that join the instance store disks and move growing
// data there. From release 1.46 on, Bottlerocket knows that data itself. The image's name contains
// its release.
// https://bottlerocket.dev/en/os/latest/#/concepts/bootstrap-commands/
func mountInstanceStorage(image api.AMI) [][]string {
	bind := []string{"apiclient", "ephemeral-storage", "bind"}
	if !bindsByDefault(image.Name) {
		bind = append(bind, "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods")
	}
	return [][]string{{"apiclient", "ephemeral-storage", "init"}, bind}
}

// release matches 1 and 46 in bottlerocket-aws-k8s-1.36-x86_64-v1.46.0-0123abcd.
var release = regexp.MustCompile(`-v(\d+)\.(\d+)\.\d+`)

func bindsByDefault(imageName string) bool {
	found := release.FindStringSubmatch(imageName)
	if found == nil || !strings.HasPrefix(imageName, "bottlerocket-") {
		return false
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	return major > 1 || major == 1 && minor >= 46
}

// inside returns the table at a path of the document, and creates it where needed.
func inside(document table, path ...string) (table, error) {
	for i, key := range path {
		if document[key] == nil {
			document[key] = table{}
		}
		next, ok := document[key].(table)
		if !ok {
			return nil, fmt.Errorf("%s is %v and not a table", strings.Join(path[:i+1], "."), document[key])
		}
		document = next
	}
	return document, nil
}
