package legacy

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// containerd is the container runtime of all images.
const containerd = "containerd"

// kubeletOf converts the settings of the kubelet. It returns nil where none is left.
func (c *changes) kubeletOf(old *KubeletConfiguration, field, family string) *api.KubeletConfiguration {
	if old == nil {
		return nil
	}
	if runtime := old.ContainerRuntime; runtime != nil && *runtime != containerd {
		c.add(Lost, field+".containerRuntime", "spec.kubelet", "nodes only have containerd, and no "+*runtime,
			"remove it, and let no pod use the socket of the runtime")
	}
	kubelet := &api.KubeletConfiguration{
		ClusterDNS: slices.Clone(old.ClusterDNS), MaxPods: old.MaxPods, PodsPerCore: old.PodsPerCore,
		SystemReserved: textsOf(old.SystemReserved), KubeReserved: textsOf(old.KubeReserved),
		EvictionHard: maps.Clone(old.EvictionHard), EvictionSoft: maps.Clone(old.EvictionSoft),
		EvictionSoftGracePeriod:     maps.Clone(old.EvictionSoftGracePeriod),
		EvictionMaxPodGracePeriod:   old.EvictionMaxPodGracePeriod,
		ImageGCHighThresholdPercent: old.ImageGCHighThresholdPercent,
		ImageGCLowThresholdPercent:  old.ImageGCLowThresholdPercent, CPUCFSQuota: old.CPUCFSQuota,
	}
	if kubelet.PodsPerCore != nil && family == api.AMIFamilyBottlerocket {
		kubelet.PodsPerCore = nil
		c.add(Lost, field+".podsPerCore", "spec.kubelet", "Bottlerocket ignores it", "use maxPods")
	}
	if len(kubelet.ClusterDNS) > 1 && family != api.AMIFamilyAL2023 {
		kubelet.ClusterDNS = kubelet.ClusterDNS[:1]
		c.add(Lost, field+".clusterDNS", "spec.kubelet.clusterDNS", "only the first address counted", "remove the others")
	}
	return kubelet
}

// textsOf returns the amounts as v1 writes them.
func textsOf(amounts corev1.ResourceList) map[string]string {
	if amounts == nil {
		return nil
	}
	texts := map[string]string{}
	for name, amount := range amounts {
		texts[string(name)] = amount.String()
	}
	return texts
}
