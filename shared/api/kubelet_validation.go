package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// evictionSignals returns the signals of eviction thresholds.
// https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#eviction-signals
func evictionSignals() []string {
	return []string{
		"memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree",
		"pid.available",
	}
}

// reservedResources returns the resources that a kubelet can reserve for the system.
func reservedResources() []string {
	return []string{"cpu", "memory", "ephemeral-storage", "pid"}
}

// validateKubelet checks a class's kubelet settings, which its schema leaves open. First come the
// rules of the kubelet, then those of the AMI family. Karpenter has the same rules and reasons.
// Whittle writes no settings for the family Custom, so nothing is unsupported there. Expressions are
// checked where they are evaluated.
func (f *findings) validateKubelet(path string, k *KubeletConfiguration, family string) {
	if k == nil {
		return
	}
	f.validateOther(path, k)
	f.validateReserved(path+".systemReserved", k.SystemReserved)
	f.validateReserved(path+".kubeReserved", k.KubeReserved)
	f.validateThresholds(path+".evictionHard", k.EvictionHard)
	f.validateThresholds(path+".evictionSoft", k.EvictionSoft)
	f.validateGracePeriods(path, k.EvictionSoft, k.EvictionSoftGracePeriod)
	f.validateImageGC(path, k.ImageGCHighThresholdPercent, k.ImageGCLowThresholdPercent)
	for _, field := range []struct {
		name  string
		value *int32
	}{
		{"maxPods", k.MaxPods}, {"podsPerCore", k.PodsPerCore},
		{"evictionMaxPodGracePeriod", k.EvictionMaxPodGracePeriod},
	} {
		if field.value != nil && *field.value < 0 {
			f.add(path+"."+field.name, *field.value, "is negative: use zero or more")
		}
	}
	for i, address := range k.ClusterDNS {
		if family == AMIFamilyCustom {
			break
		}
		if _, err := netip.ParseAddr(address); err != nil {
			f.add(fmt.Sprintf("%s.clusterDNS[%d]", path, i), address, "is not an IP address: write one such as 10.100.0.10")
		}
	}
	if family != AMIFamilyAL2023 && family != AMIFamilyCustom {
		f.validateSupported(path, k, family)
	}
}

// validateOther checks the settings that have no field. maxPods is among them where it is an
// expression, which is left out.
func (f *findings) validateOther(path string, k *KubeletConfiguration) {
	other := maps.Clone(k.Other)
	if isJSONString(other[KubeletMaxPods]) {
		delete(other, KubeletMaxPods)
	}
	if taints, ok := other["registerWithTaints"]; ok {
		f.add(path+".registerWithTaints", string(taints),
			"is set by the launch: use the node pool's taints and startupTaints")
		delete(other, "registerWithTaints")
	}
	f.validateShape(path, other)
	// Kubernetes' type takes any text as a grace period. A kubelet would not start with it.
	var periods map[string]string
	if json.Unmarshal(other["evictionSoftGracePeriod"], &periods) == nil {
		for _, signal := range sortedKeys(periods) {
			if _, err := time.ParseDuration(periods[signal]); err != nil {
				f.add(fmt.Sprintf("%s.evictionSoftGracePeriod[%s]", path, signal), periods[signal],
					"is not a duration: write such as 90s")
			}
		}
	}
	var reclaim map[string]string
	if json.Unmarshal(other["evictionMinimumReclaim"], &reclaim) == nil {
		f.validateThresholds(path+".evictionMinimumReclaim", reclaim)
	}
}

// validateSupported refuses settings that the user data of a family other than AL2023 cannot pass
// on.
func (f *findings) validateSupported(path string, k *KubeletConfiguration, family string) {
	if len(k.ClusterDNS) > 1 {
		f.addWithReason(ReasonUnsupportedKubeletConfiguration, path+".clusterDNS", k.ClusterDNS,
			"has more than one address, which only AL2023 supports: leave one")
	}
	if k.PodsPerCore != nil && family == AMIFamilyBottlerocket {
		f.addWithReason(ReasonUnsupportedKubeletConfiguration, path+".podsPerCore", *k.PodsPerCore,
			"cannot be set for Bottlerocket: use maxPods")
	}
	for _, name := range sortedKeys(k.Other) {
		if !slices.Contains(knownKubeletFields(), name) {
			f.addWithReason(ReasonUnsupportedKubeletConfiguration, path+"."+name, string(k.Other[name]),
				"is not supported by %s: use AL2023, or remove it", family)
		}
	}
}

func (f *findings) validateReserved(path string, reserved map[string]string) {
	for _, name := range sortedKeys(reserved) {
		at := fmt.Sprintf("%s[%s]", path, name)
		if !slices.Contains(reservedResources(), name) {
			f.add(at, reserved[name], "is for a resource that cannot be reserved: use one of %s", join(reservedResources()))
			continue
		}
		quantity, err := resource.ParseQuantity(reserved[name])
		if strings.HasPrefix(reserved[name], "-") || err == nil && quantity.Sign() < 0 {
			f.add(at, reserved[name], "is negative: use zero or more")
		}
	}
}

func (f *findings) validateThresholds(path string, thresholds map[string]string) {
	for _, signal := range sortedKeys(thresholds) {
		at, value := fmt.Sprintf("%s[%s]", path, signal), thresholds[signal]
		if !slices.Contains(evictionSignals(), signal) {
			f.add(at, value, "is for no eviction signal: use one of %s", join(evictionSignals()))
			continue
		}
		if text, isPercentage := strings.CutSuffix(value, "%"); isPercentage {
			if percentage, err := strconv.ParseFloat(text, 64); err != nil || !(percentage >= 0 && percentage <= 100) {
				f.add(at, value, "is not a percentage from 0%% to 100%%: write such as 5%%")
			}
			continue
		}
		if quantity, err := resource.ParseQuantity(value); err != nil || quantity.Sign() < 0 {
			f.add(at, value, "is neither an amount nor a percentage: write such as 200Mi or 5%%")
		}
	}
}

func (f *findings) validateGracePeriods(path string, soft map[string]string, periods map[string]metav1.Duration) {
	for _, signal := range sortedKeys(soft) {
		if _, ok := periods[signal]; !ok {
			f.addField(fmt.Sprintf("%s.evictionSoftGracePeriod[%s]", path, signal),
				"is missing: evictionSoft has this signal, add how long it may last")
		}
	}
	for _, signal := range sortedKeys(periods) {
		at, period := fmt.Sprintf("%s.evictionSoftGracePeriod[%s]", path, signal), periods[signal].Duration
		if _, ok := soft[signal]; !ok {
			f.add(at, period.String(), "is for a signal that evictionSoft does not have: add it there, or remove it")
		}
		if period < 0 {
			f.add(at, period.String(), "is negative: use zero or more")
		}
	}
}

func (f *findings) validateImageGC(path string, high, low *int32) {
	f.validateRange(path+".imageGCHighThresholdPercent", asInt64(high), 0, 100)
	f.validateRange(path+".imageGCLowThresholdPercent", asInt64(low), 0, 100)
	if high != nil && low != nil && *high <= *low {
		f.add(path+".imageGCHighThresholdPercent", *high,
			"is not above imageGCLowThresholdPercent, which is %d: raise it or lower that", *low)
	}
}
