package machine

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
)

// bottlerocketSettings are the settings of Bottlerocket's user data.
// https://bottlerocket.dev/en/os/latest/api/settings/
type bottlerocketSettings struct {
	Kubernetes        bottlerocketKubernetes           `toml:"kubernetes"`
	BootstrapCommands map[string]bottlerocketBootstrap `toml:"bootstrap-commands"`
}

// bottlerocketKubernetes holds the settings under settings.kubernetes that change the Node, or that
// a node needs to join.
type bottlerocketKubernetes struct {
	APIServer                 string              `toml:"api-server"`
	ClusterName               string              `toml:"cluster-name"`
	ClusterCertificate        string              `toml:"cluster-certificate"`
	ClusterDNS                any                 `toml:"cluster-dns-ip"`
	NodeLabels                map[string]string   `toml:"node-labels"`
	NodeTaints                map[string][]string `toml:"node-taints"`
	MaxPods                   *int                `toml:"max-pods"`
	KubeReserved              map[string]string   `toml:"kube-reserved"`
	SystemReserved            map[string]string   `toml:"system-reserved"`
	EvictionHard              map[string]string   `toml:"eviction-hard"`
	EvictionSoft              map[string]string   `toml:"eviction-soft"`
	EvictionSoftGracePeriod   map[string]string   `toml:"eviction-soft-grace-period"`
	EvictionMaxPodGracePeriod *int                `toml:"eviction-max-pod-grace-period"`
	ImageGCHigh               any                 `toml:"image-gc-high-threshold-percent"`
	ImageGCLow                any                 `toml:"image-gc-low-threshold-percent"`
	CPUCFSQuota               *bool               `toml:"cpu-cfs-quota-enforced"`
}

// bottlerocketBootstrap is one entry of settings.bootstrap-commands.
type bottlerocketBootstrap struct {
	Commands  [][]string `toml:"commands"`
	Mode      string     `toml:"mode"`
	Essential bool       `toml:"essential"`
}

// otherBottlerocketSettings lists more settings under settings.kubernetes, and bottlerocketParts
// those beside it. Bottlerocket accepts them, and nothing here depends on them. Its API refuses
// every other setting, and the node does not come up.
func otherBottlerocketSettings() []string {
	return []string{
		"allowed-unsafe-sysctls", "authentication-mode", "bootstrap-token", "cloud-provider", "cluster-domain",
		"container-log-max-files", "container-log-max-size",
		"container-log-max-workers", "container-log-monitor-interval", "cpu-manager-policy", "cpu-manager-policy-options",
		"cpu-manager-reconcile-period",
		"credential-providers", "device-ownership-from-security-context", "event-burst", "event-qps", "hostname-override",
		"hostname-override-source",
		"ids-per-pod", "kube-api-burst", "kube-api-qps", "log-level", "memory-manager-policy",
		"memory-manager-reserved-memory", "node-ip", "nvidia",
		"pod-infra-container-image", "pod-pids-limit", "provider-id", "registry-burst", "registry-qps", "reserved-cpus",
		"seccomp-default", "server-certificate",
		"server-key", "server-tls-bootstrap", "shutdown-grace-period", "shutdown-grace-period-for-critical-pods",
		"single-process-oom-kill", "standalone-mode",
		"static-pods", "topology-manager-policy", "topology-manager-policy-options", "topology-manager-scope",
	}
}

func bottlerocketParts() []string {
	return []string{
		"autoscaling", "aws", "boot", "bootstrap-commands", "bootstrap-containers", "cloudformation", "container-registry",
		"container-runtime",
		"container-runtime-plugins", "dns", "host-containers", "kernel", "kubelet-device-plugins", "kubernetes", "metrics",
		"motd", "network", "ntp",
		"oci-defaults", "oci-hooks", "pki", "updates",
	}
}

// bottlerocket reads TOML as Bottlerocket's early-boot-config does.
func (u userData) bottlerocket() (*joining, error) {
	if len(bytes.TrimSpace(u.text)) == 0 {
		return nil, errors.New(
			"user data is empty: a node needs settings.kubernetes with cluster-name, api-server and cluster-certificate")
	}
	settings, err := decodeBottlerocket(u.text)
	if err != nil {
		return nil, err
	}
	given := &settings.Kubernetes
	j := &joining{
		cluster: given.ClusterName, endpoint: given.APIServer, kubeletField: "settings.kubernetes ",
		flagsSetting: "settings.kubernetes", reservesForPods: true,
	}
	if j.cluster == "" {
		return nil, errors.New("settings.kubernetes.cluster-name is missing")
	}
	if err := checkEndpoint("settings.kubernetes.api-server", j.endpoint); err != nil {
		return nil, err
	}
	if j.authority, err = decodeAuthority("settings.kubernetes.cluster-certificate",
		given.ClusterCertificate); err != nil {
		return nil, err
	}
	if j.dns, err = textOrList("settings.kubernetes.cluster-dns-ip", given.ClusterDNS); err != nil {
		return nil, err
	}
	if len(j.dns) > 0 {
		j.dnsFrom = "settings.kubernetes.cluster-dns-ip"
	}
	j.kubelet = kubeletConfiguration{
		MaxPods: given.MaxPods, KubeReserved: given.KubeReserved, SystemReserved: given.SystemReserved,
		EvictionHard: given.EvictionHard,
		EvictionSoft: given.EvictionSoft, EvictionSoftGracePeriod: given.EvictionSoftGracePeriod,
		EvictionMaxPodGracePeriod: given.EvictionMaxPodGracePeriod,
		CPUCFSQuota:               given.CPUCFSQuota,
	}
	if j.kubelet.ImageGCHighThreshold, err = percent("image-gc-high-threshold-percent", given.ImageGCHigh); err != nil {
		return nil, err
	}
	if j.kubelet.ImageGCLowThreshold, err = percent("image-gc-low-threshold-percent", given.ImageGCLow); err != nil {
		return nil, err
	}
	if err := bottlerocketTaints(j, given.NodeTaints); err != nil {
		return nil, err
	}
	if len(given.NodeLabels) > 0 {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(given.NodeLabels)) {
			labels = append(labels, key+"="+given.NodeLabels[key])
		}
		j.flags = []string{"--node-labels=" + strings.Join(labels, ",")}
	}
	return j, bottlerocketStorage(j, settings.BootstrapCommands)
}

// decodeBottlerocket refuses unknown settings.
func decodeBottlerocket(text []byte) (*bottlerocketSettings, error) {
	var loose map[string]any
	if err := toml.Unmarshal(text, &loose); err != nil {
		var position *toml.DecodeError
		if errors.As(err, &position) {
			row, column := position.Position()
			return nil, fmt.Errorf("user data is not TOML: line %d, column %d: %w", row, column, err)
		}
		return nil, fmt.Errorf("user data is not TOML: %w", err)
	}
	for _, table := range slices.Sorted(maps.Keys(loose)) {
		if table != "settings" {
			return nil, fmt.Errorf("user data has %q beside settings, which is all that Bottlerocket reads", table)
		}
	}
	parts, ok := loose["settings"].(map[string]any)
	if !ok {
		return nil, errors.New("user data has no table settings")
	}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		if !slices.Contains(bottlerocketParts(), part) {
			return nil, fmt.Errorf("unknown setting settings.%s", part)
		}
	}
	kept := map[string]any{}
	if kubernetes, ok := parts["kubernetes"].(map[string]any); ok {
		for _, other := range otherBottlerocketSettings() {
			delete(kubernetes, other)
		}
		kept["kubernetes"] = kubernetes
	}
	if commands, ok := parts["bootstrap-commands"]; ok {
		kept["bootstrap-commands"] = commands
	}
	known, err := toml.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	settings := &bottlerocketSettings{}
	decoder := toml.NewDecoder(bytes.NewReader(known)).DisallowUnknownFields()
	if err := decoder.Decode(settings); err != nil {
		var unknown *toml.StrictMissingError
		if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
			return nil, fmt.Errorf("unknown setting settings.%s", strings.Join(unknown.Errors[0].Key(), "."))
		}
		return nil, fmt.Errorf("settings: %w", err)
	}
	return settings, nil
}

func textOrList(setting string, value any) ([]string, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{v}, nil
	case []any:
		var all []string
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, fmt.Errorf("%s holds %v, which is not text", setting, item)
			}
			all = append(all, text)
		}
		return all, nil
	}
	return nil, fmt.Errorf("%s is %v: want an address or a list of them", setting, value)
}

// percent reads a threshold, which Bottlerocket takes as a number or as text.
func percent(setting string, value any) (*int, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case int64:
		n := int(v)
		return &n, nil
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			return &n, nil
		}
	}
	return nil, fmt.Errorf("settings.kubernetes.%s is %v: want a percentage", setting, value)
}

// bottlerocketTaints reads taints of the form key = ["value:effect"].
func bottlerocketTaints(j *joining, given map[string][]string) error {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		for _, text := range given[key] {
			value, effect, ok := strings.Cut(text, ":")
			if !ok {
				return fmt.Errorf("settings.kubernetes.node-taints.%q: %q is not of the form value:effect", key, text)
			}
			j.kubelet.RegisterWithTaints = append(j.kubelet.RegisterWithTaints,
				corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	return nil
}

// bottlerocketStorage finds the commands that put the instance's own disks to use, and refuses such
// as cannot run.
func bottlerocketStorage(j *joining, commands map[string]bottlerocketBootstrap) error {
	initialised, bound := false, false
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		command := commands[name]
		if !slices.Contains([]string{"", "off", "once", "always"}, command.Mode) {
			return fmt.Errorf("settings.bootstrap-commands.%s.mode is %q: want off, once or always", name, command.Mode)
		}
		for _, words := range command.Commands {
			if len(words) == 0 || words[0] != "apiclient" {
				return fmt.Errorf("settings.bootstrap-commands.%s: %q: only apiclient can be run", name, words)
			}
			if command.Mode == "off" || len(words) < 3 || words[1] != "ephemeral-storage" {
				continue
			}
			initialised = initialised || words[2] == "init"
			bound = bound || initialised && words[2] == "bind"
		}
	}
	if bound {
		j.localStorage = "RAID0"
	}
	return nil
}
