package nodeclass

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kubeletFlags returns the kubelet's command line, for families without another way of
// configuration. The values are in double quotes, because a shell and, on Linux, systemd split them
// at spaces and interpret < and %.
// https://kubernetes.io/docs/reference/command-line-tools-reference/kubelet/
func kubeletFlags(s settings) string {
	var flags []string
	quoted := func(name, value string) {
		if value != "" {
			flags = append(flags, fmt.Sprintf(`--%s="%s"`, name, value))
		}
	}
	quoted("node-labels", pairs(s.labels, "="))
	quoted("register-with-taints", taintList(s.taints))
	number := func(name string, value *int32) {
		if value != nil {
			flags = append(flags, fmt.Sprintf("--%s=%d", name, *value))
		}
	}
	k := s.kubelet
	number("max-pods", k.MaxPods)
	number("pods-per-core", k.PodsPerCore)
	quoted("system-reserved", pairs(k.SystemReserved, "="))
	quoted("kube-reserved", pairs(k.KubeReserved, "="))
	quoted("eviction-hard", pairs(k.EvictionHard, "<"))
	quoted("eviction-soft", pairs(k.EvictionSoft, "<"))
	periods := map[string]string{}
	for signal, period := range k.EvictionSoftGracePeriod {
		periods[signal] = period.Duration.String()
	}
	quoted("eviction-soft-grace-period", pairs(periods, "="))
	number("eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod)
	number("image-gc-high-threshold", k.ImageGCHighThresholdPercent)
	number("image-gc-low-threshold", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		flags = append(flags, fmt.Sprintf("--cpu-cfs-quota=%t", *k.CPUCFSQuota))
	}
	return strings.Join(flags, " ")
}

// taintList returns taints as key=value:effect, with commas between them.
func taintList(taints []corev1.Taint) string {
	var list []string
	for i := range taints {
		list = append(list, taints[i].ToString())
	}
	return strings.Join(list, ",")
}
