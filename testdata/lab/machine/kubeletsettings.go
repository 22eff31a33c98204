package machine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// kubeletSettings is the complete configuration of a machine's kubelet.
type kubeletSettings struct {
	labels         map[string]string
	taints         []corev1.Taint
	maxPods        int
	kubeReserved   corev1.ResourceList
	systemReserved corev1.ResourceList
	// evictionHard holds amounts and percentages by signal, such as memory.available.
	evictionHard map[string]string
}

// kubeletConfiguration has the fields of a KubeletConfiguration that change the Node or keep a
// kubelet from starting. https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/
type kubeletConfiguration struct {
	MaxPods                   *int              `json:"maxPods,omitempty"`
	PodsPerCore               *int              `json:"podsPerCore,omitempty"`
	ClusterDNS                []string          `json:"clusterDNS,omitempty"`
	RegisterWithTaints        []corev1.Taint    `json:"registerWithTaints,omitempty"`
	KubeReserved              map[string]string `json:"kubeReserved,omitempty"`
	SystemReserved            map[string]string `json:"systemReserved,omitempty"`
	EvictionHard              map[string]string `json:"evictionHard,omitempty"`
	EvictionSoft              map[string]string `json:"evictionSoft,omitempty"`
	EvictionSoftGracePeriod   map[string]string `json:"evictionSoftGracePeriod,omitempty"`
	EvictionMaxPodGracePeriod *int              `json:"evictionMaxPodGracePeriod,omitempty"`
	ImageGCHighThreshold      *int              `json:"imageGCHighThresholdPercent,omitempty"`
	ImageGCLowThreshold       *int              `json:"imageGCLowThresholdPercent,omitempty"`
	CPUCFSQuota               *bool             `json:"cpuCFSQuota,omitempty"`
}

// otherKubeletFields lists more fields of a KubeletConfiguration. A kubelet accepts them, and
// nothing here depends on them.
func otherKubeletFields() []string {
	return []string{
		"apiVersion", "kind", "authentication", "authorization", "cgroupDriver", "cgroupRoot", "clusterDomain",
		"containerLogMaxFiles", "containerLogMaxSize",
		"containerRuntimeEndpoint", "cpuCFSQuotaPeriod", "cpuManagerPolicy", "cpuManagerPolicyOptions", "crashLoopBackOff",
		"evictionMinimumReclaim", "evictionPressureTransitionPeriod", "eventBurst",
		"eventRecordQPS", "featureGates", "hairpinMode", "imageMaximumGCAge",
		"imageMinimumGCAge", "kubeAPIBurst", "kubeAPIQPS", "kubeReservedCgroup", "logging", "maxParallelImagePulls",
		"memoryManagerPolicy",
		"memoryThrottlingFactor", "nodeStatusReportFrequency", "nodeStatusUpdateFrequency", "podPidsLimit",
		"protectKernelDefaults", "providerID",
		"readOnlyPort", "registryBurst", "registryPullQPS", "reservedMemory", "reservedSystemCPUs", "runtimeRequestTimeout",
		"serializeImagePulls",
		"serverTLSBootstrap", "shutdownGracePeriod", "shutdownGracePeriodCriticalPods", "singleProcessOOMKill",
		"staticPodPath",
		"streamingConnectionIdleTimeout", "swapBehavior", "failSwapOn", "memorySwap", "syncFrequency", "systemReservedCgroup",
		"tlsCipherSuites",
		"tlsMinVersion", "topologyManagerPolicy", "topologyManagerPolicyOptions", "topologyManagerScope",
		"volumeStatsAggPeriod",
	}
}

// kubeletConfiguration reads the kubelet's part of a NodeConfig.
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
	return given, nil
}

// settings checks the user data's kubelet settings and adds the operating system's.
func (j *joining) settings(facts builtin.InstanceType) (*kubeletSettings, error) {
	given := j.kubelet
	s := &kubeletSettings{labels: map[string]string{}, taints: slices.Clone(given.RegisterWithTaints)}
	reserved, err := s.applyFlags(j.flagsSetting, j.flags, &given)
	if err != nil {
		return nil, err
	}
	if err := j.checkKubelet(&given); err != nil {
		return nil, err
	}
	density := podDensity(facts)
	s.maxPods = density
	if j.plainMaxPods {
		s.maxPods = kubeletMaxPods
	}
	if given.MaxPods != nil {
		s.maxPods = *given.MaxPods
	}
	if given.PodsPerCore != nil && *given.PodsPerCore > 0 {
		s.maxPods = min(s.maxPods, *given.PodsPerCore*facts.VCPUs)
	}
	// Amazon Linux reserves by the type's pod density instead of maxPods:
	// https://awslabs.github.io/amazon-eks-ami/nodeadm/
	pods := density
	if j.reservesForPods {
		pods = s.maxPods
	}
	s.kubeReserved = reservedByDefault(facts.VCPUs, pods)
	if reserved { // the flag replaces the whole map that the operating system wrote into the configuration
		s.kubeReserved = corev1.ResourceList{}
	}
	s.systemReserved = corev1.ResourceList{}
	if err := errors.Join(reserve(s.kubeReserved, j.field("kubeReserved"), given.KubeReserved),
		reserve(s.systemReserved, j.field("systemReserved"), given.SystemReserved)); err != nil {
		return nil, err
	}
	s.evictionHard = map[string]string{
		"memory.available": cmp.Or(j.keepsFree, "100Mi"), "nodefs.available": "10%", "nodefs.inodesFree": "5%",
	}
	if given.EvictionHard != nil { // the kubelet's own rule: a map that is given replaces the default one
		s.evictionHard = given.EvictionHard
	}
	return s, nil
}

// evictionSignals are those that a kubelet knows on some operating system.
func evictionSignals() []string {
	return []string{
		"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
		"containerfs.available", "containerfs.inodesFree", "pid.available",
	}
}

// checkKubelet returns the reason why a kubelet with this configuration does not start.
func (j *joining) checkKubelet(given *kubeletConfiguration) error {
	for _, taint := range given.RegisterWithTaints {
		if err := checkTaint(taint); err != nil {
			return fmt.Errorf("%s: %w", j.field("registerWithTaints"), err)
		}
	}
	for field, number := range map[string]*int{
		"maxPods": given.MaxPods, "podsPerCore": given.PodsPerCore,
		"evictionMaxPodGracePeriod":   given.EvictionMaxPodGracePeriod,
		"imageGCHighThresholdPercent": given.ImageGCHighThreshold, "imageGCLowThresholdPercent": given.ImageGCLowThreshold,
	} {
		if number != nil && *number < 0 {
			return fmt.Errorf("%s is %d: want at least 0", j.field(field), *number)
		}
	}
	for field, thresholds := range map[string]map[string]string{
		"evictionHard": given.EvictionHard, "evictionSoft": given.EvictionSoft,
	} {
		for _, signal := range slices.Sorted(maps.Keys(thresholds)) {
			if !slices.Contains(evictionSignals(), signal) {
				return fmt.Errorf("%s[%q]: the kubelet knows the signals %q", j.field(field), signal, evictionSignals())
			}
			if _, err := thresholdOf(thresholds[signal], resource.MustParse("1Gi")); err != nil {
				return fmt.Errorf("%s[%q]: %w", j.field(field), signal, err)
			}
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(given.EvictionSoft)) {
		if _, ok := given.EvictionSoftGracePeriod[signal]; !ok {
			return fmt.Errorf("%s[%q]: grace period must be specified for the soft eviction threshold",
				j.field("evictionSoftGracePeriod"), signal)
		}
	}
	for _, signal := range slices.Sorted(maps.Keys(given.EvictionSoftGracePeriod)) {
		if period, err := time.ParseDuration(given.EvictionSoftGracePeriod[signal]); err != nil || period < 0 {
			return fmt.Errorf("%s[%q] is %q: want a duration such as 90s", j.field("evictionSoftGracePeriod"), signal,
				given.EvictionSoftGracePeriod[signal])
		}
	}
	return j.checkImageGC(given)
}

// The kubelet's own thresholds of image garbage collection, in percent of the disk.
const imageGCHigh, imageGCLow = 85, 80

func (j *joining) checkImageGC(given *kubeletConfiguration) error {
	high, low := imageGCHigh, imageGCLow
	if given.ImageGCHighThreshold != nil {
		high = *given.ImageGCHighThreshold
	}
	if given.ImageGCLowThreshold != nil {
		low = *given.ImageGCLowThreshold
	}
	if high > 100 || low >= high {
		return fmt.Errorf("%s %d must be at most 100 and more than imageGCLowThresholdPercent %d",
			j.field("imageGCHighThresholdPercent"), high, low)
	}
	return nil
}

func checkTaint(taint corev1.Taint) error {
	effects := []corev1.TaintEffect{
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
	}
	if taint.Key == "" || !slices.Contains(effects, taint.Effect) {
		return fmt.Errorf("taint %q has no key or an effect that is none of %q", taint.ToString(), effects)
	}
	return nil
}

func reserve(onto corev1.ResourceList, field string, amounts map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		amount, err := resource.ParseQuantity(amounts[name])
		if err != nil || amount.Sign() < 0 {
			return fmt.Errorf("%s[%q] is %q: want an amount such as 100m or 1Gi", field, name, amounts[name])
		}
		if !slices.Contains([]string{"cpu", "memory", "ephemeral-storage", "pid"}, name) {
			return fmt.Errorf("%s[%q]: only cpu, memory, ephemeral-storage and pid can be reserved", field, name)
		}
		onto[corev1.ResourceName(name)] = amount
	}
	return nil
}
