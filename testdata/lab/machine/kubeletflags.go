package machine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// flagsWithoutEffect are kubelet flags that change nothing here.
func flagsWithoutEffect() []string {
	return []string{
		"cert-dir", "cloud-provider", "config", "config-dir", "container-runtime-endpoint", "feature-gates",
		"hostname-override", "image-credential-provider-bin-dir",
		"image-credential-provider-config", "kubeconfig", "node-ip", "pod-infra-container-image", "register-node", "root-dir",
		"runtime-cgroups", "v",
		"cpu-manager-policy", "topology-manager-policy", "pod-max-pids", "registry-qps", "registry-burst", "kube-api-qps",
		"kube-api-burst",
		"container-log-max-size", "container-log-max-files", "serialize-image-pulls", "max-open-files", "read-only-port",
		"allowed-unsafe-sysctls",
	}
}

// applyFlags reads the kubelet's command line, which overrides its configuration. reserved reports
// whether kubeReserved was among the flags.
func (s *kubeletSettings) applyFlags(setting string, flags []string, given *kubeletConfiguration) (reserved bool,
	err error) {
	for _, flag := range flags {
		name, value, assigned := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if !strings.HasPrefix(flag, "--") && !strings.HasPrefix(flag, "-v") || !assigned {
			return false, fmt.Errorf("%s: %q is not of the form --name=value", setting, flag)
		}
		if err := s.applyFlag(name, value, given); err != nil {
			return false, fmt.Errorf("%s: %q: %w", setting, flag, err)
		}
		reserved = reserved || name == "kube-reserved"
	}
	return reserved, nil
}

func (s *kubeletSettings) applyFlag(name, value string, given *kubeletConfiguration) (err error) {
	numbers := map[string]**int{
		"max-pods": &given.MaxPods, "pods-per-core": &given.PodsPerCore,
		"eviction-max-pod-grace-period": &given.EvictionMaxPodGracePeriod,
		"image-gc-high-threshold":       &given.ImageGCHighThreshold, "image-gc-low-threshold": &given.ImageGCLowThreshold,
	}
	if target := numbers[name]; target != nil {
		*target, err = number(value)
		return err
	}
	switch name {
	case "node-labels":
		return s.addLabels(value)
	case "register-with-taints":
		return s.addTaints(value)
	case "cluster-dns":
		given.ClusterDNS = strings.Split(value, ",")
	case "kube-reserved":
		given.KubeReserved, err = pairs(value, "=")
	case "system-reserved":
		given.SystemReserved, err = pairs(value, "=")
	case "eviction-hard":
		given.EvictionHard, err = pairs(value, "<")
	case "eviction-soft":
		given.EvictionSoft, err = pairs(value, "<")
	case "eviction-soft-grace-period":
		given.EvictionSoftGracePeriod, err = pairs(value, "=")
	case "cpu-cfs-quota":
		_, err = strconv.ParseBool(value)
	default:
		if !slices.Contains(flagsWithoutEffect(), name) {
			return errors.New("unknown flag")
		}
	}
	return err
}

func number(text string) (*int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, errors.New("want a whole number")
	}
	return &n, nil
}

// pairs reads key=value,key=value with any separator between the two.
func pairs(text, separator string) (map[string]string, error) {
	found := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, separator)
		if !ok {
			return nil, fmt.Errorf("%q is not of the form key%svalue", pair, separator)
		}
		found[key] = value
	}
	return found, nil
}

func (s *kubeletSettings) addLabels(value string) error {
	var refused []string
	for pair := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return fmt.Errorf("label %q is not of the form key=value", pair)
		}
		if !labelAllowed(key) {
			refused = append(refused, key)
		}
		s.labels[key] = value
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return fmt.Errorf("unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: %q", refused)
	}
	return nil
}

// labelAllowed is the kubelet's own rule for labels that it may set on its Node.
func labelAllowed(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	within := func(parent string) bool { return domain == parent || strings.HasSuffix(domain, "."+parent) }
	if !strings.Contains(key, "/") || !within("kubernetes.io") && !within("k8s.io") {
		return true
	}
	if within("kubelet.kubernetes.io") || within("node.kubernetes.io") {
		return true
	}
	return slices.Contains([]string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
		corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable,
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	}, key)
}

// addTaints reads key=value:effect and key:effect, between commas.
func (s *kubeletSettings) addTaints(value string) error {
	for text := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		at := strings.LastIndexByte(text, ':')
		if at < 0 {
			return fmt.Errorf("taint %q has no effect", text)
		}
		key, value, _ := strings.Cut(text[:at], "=")
		taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(text[at+1:])}
		if err := checkTaint(taint); err != nil {
			return err
		}
		s.taints = append(s.taints, taint)
	}
	return nil
}
