package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/testdata/instancetypes"
)

// kubeletSettings is what the kubelet of a machine runs with.
type kubeletSettings struct {
	labels         map[string]string
	taints         []corev1.Taint
	maxPods        int
	kubeReserved   corev1.ResourceList
	systemReserved corev1.ResourceList
	// evictionHard holds amounts and percentages by signal, such as memory.available.
	evictionHard map[string]string
	version      string
}

// kubeletConfiguration has the fields of a KubeletConfiguration that change what is seen of a node from outside.
// https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
type kubeletConfiguration struct {
	MaxPods            *int              `json:"maxPods,omitempty"`
	PodsPerCore        *int              `json:"podsPerCore,omitempty"`
	ClusterDNS         []string          `json:"clusterDNS,omitempty"`
	RegisterWithTaints []corev1.Taint    `json:"registerWithTaints,omitempty"`
	KubeReserved       map[string]string `json:"kubeReserved,omitempty"`
	SystemReserved     map[string]string `json:"systemReserved,omitempty"`
	EvictionHard       map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft       map[string]string `json:"evictionSoft,omitempty"`
}

// otherKubeletFields are further fields of a KubeletConfiguration; a kubelet takes them and nothing here depends on them.
func otherKubeletFields() []string {
	return []string{
		"apiVersion", "kind", "authentication", "authorization", "cgroupDriver", "cgroupRoot", "clusterDomain", "containerLogMaxFiles", "containerLogMaxSize",
		"containerRuntimeEndpoint", "cpuCFSQuota", "cpuCFSQuotaPeriod", "cpuManagerPolicy", "cpuManagerPolicyOptions", "crashLoopBackOff",
		"evictionMaxPodGracePeriod", "evictionMinimumReclaim", "evictionPressureTransitionPeriod", "evictionSoftGracePeriod", "eventBurst",
		"eventRecordQPS", "featureGates", "hairpinMode", "imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "imageMaximumGCAge",
		"imageMinimumGCAge", "kubeAPIBurst", "kubeAPIQPS", "kubeReservedCgroup", "logging", "maxParallelImagePulls", "memoryManagerPolicy",
		"memoryThrottlingFactor", "nodeStatusReportFrequency", "nodeStatusUpdateFrequency", "podPidsLimit", "protectKernelDefaults", "providerID",
		"readOnlyPort", "registryBurst", "registryPullQPS", "reservedMemory", "reservedSystemCPUs", "runtimeRequestTimeout", "serializeImagePulls",
		"serverTLSBootstrap", "shutdownGracePeriod", "shutdownGracePeriodCriticalPods", "singleProcessOOMKill", "staticPodPath",
		"streamingConnectionIdleTimeout", "swapBehavior", "failSwapOn", "memorySwap", "syncFrequency", "systemReservedCgroup", "tlsCipherSuites",
		"tlsMinVersion", "topologyManagerPolicy", "topologyManagerPolicyOptions", "topologyManagerScope", "volumeStatsAggPeriod",
	}
}

// settings checks what the NodeConfig hands to the kubelet and completes it with what nodeadm sets.
func (c *nodeConfig) settings(facts instancetypes.InstanceType) (*kubeletSettings, error) {
	given, err := c.kubeletConfiguration()
	if err != nil {
		return nil, err
	}
	densePods := podDensity(facts)
	s := &kubeletSettings{
		labels: map[string]string{}, taints: given.RegisterWithTaints, maxPods: densePods, version: nodeVersion,
		// https://awslabs.github.io/amazon-eks-ami/nodeadm/: what nodeadm reserves follows the type's own pod density, not maxPods.
		kubeReserved: reservedByDefault(facts.VCPUs, densePods),
		evictionHard: map[string]string{"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
	}
	if given.MaxPods != nil {
		s.maxPods = *given.MaxPods
	}
	if given.PodsPerCore != nil && *given.PodsPerCore > 0 {
		s.maxPods = min(s.maxPods, *given.PodsPerCore*facts.VCPUs)
	}
	if s.maxPods < 0 {
		return nil, fmt.Errorf("spec.kubelet.config.maxPods is %d: want at least 0", s.maxPods)
	}
	if err := reserve(s.kubeReserved, "kubeReserved", given.KubeReserved); err != nil {
		return nil, err
	}
	s.systemReserved = corev1.ResourceList{}
	if err := reserve(s.systemReserved, "systemReserved", given.SystemReserved); err != nil {
		return nil, err
	}
	if given.EvictionHard != nil { // the kubelet's own rule: a map that is given replaces the default one
		s.evictionHard = given.EvictionHard
	}
	for signal, threshold := range s.evictionHard {
		if _, err := thresholdOf(threshold, resource.MustParse("1Gi")); err != nil {
			return nil, fmt.Errorf("spec.kubelet.config.evictionHard[%q]: %w", signal, err)
		}
	}
	return s, s.applyFlags(c.Kubelet.Flags)
}

func (c *nodeConfig) kubeletConfiguration() (*kubeletConfiguration, error) {
	known := map[string]any{}
	others := otherKubeletFields()
	for field, value := range c.Kubelet.Config {
		if !slices.Contains(others, field) {
			known[field] = value
		}
	}
	text, err := yaml.Marshal(known)
	if err != nil {
		return nil, fmt.Errorf("spec.kubelet.config: %w", err)
	}
	given := &kubeletConfiguration{}
	if err := yaml.UnmarshalStrict(text, given); err != nil {
		return nil, fmt.Errorf("spec.kubelet.config is not a KubeletConfiguration: %w", err)
	}
	for _, taint := range given.RegisterWithTaints {
		if err := checkTaint(taint); err != nil {
			return nil, fmt.Errorf("spec.kubelet.config.registerWithTaints: %w", err)
		}
	}
	return given, nil
}

func checkTaint(taint corev1.Taint) error {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if taint.Key == "" || !slices.Contains(effects, taint.Effect) {
		return fmt.Errorf("taint %q has no key or an effect that is none of %q", taint.ToString(), effects)
	}
	return nil
}

func reserve(onto corev1.ResourceList, field string, amounts map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		amount, err := resource.ParseQuantity(amounts[name])
		if err != nil {
			return fmt.Errorf("spec.kubelet.config.%s[%q] is %q: %w", field, name, amounts[name], err)
		}
		if !slices.Contains([]string{"cpu", "memory", "ephemeral-storage", "pid"}, name) {
			return fmt.Errorf("spec.kubelet.config.%s[%q]: only cpu, memory, ephemeral-storage and pid can be reserved", field, name)
		}
		onto[corev1.ResourceName(name)] = amount
	}
	return nil
}

// flagsWithoutEffect are kubelet flags that change nothing here.
func flagsWithoutEffect() []string {
	return []string{
		"cert-dir", "cloud-provider", "config", "config-dir", "container-runtime-endpoint", "hostname-override", "image-credential-provider-bin-dir",
		"image-credential-provider-config", "kubeconfig", "node-ip", "pod-infra-container-image", "register-node", "root-dir", "runtime-cgroups", "v",
	}
}

// applyFlags reads the kubelet's command line, which wins over its configuration.
func (s *kubeletSettings) applyFlags(flags []string) error {
	for _, flag := range flags {
		name, value, assigned := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if !strings.HasPrefix(flag, "--") && !strings.HasPrefix(flag, "-v") || !assigned {
			return fmt.Errorf("spec.kubelet.flags: %q is not of the form --name=value", flag)
		}
		var err error
		switch name {
		case "node-labels":
			err = s.addLabels(value)
		case "register-with-taints":
			err = s.addTaints(value)
		case "max-pods":
			s.maxPods, err = strconv.Atoi(value)
		default:
			if !slices.Contains(flagsWithoutEffect(), name) {
				err = errors.New("unknown flag")
			}
		}
		if err != nil {
			return fmt.Errorf("spec.kubelet.flags: %q: %w", flag, err)
		}
	}
	return nil
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
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
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
