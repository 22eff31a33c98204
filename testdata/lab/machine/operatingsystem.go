package machine

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// operatingSystem holds what a Node reports about its system, and the device of the pods' data.
type operatingSystem struct {
	name, image, kernel, runtime string
	// build is the value of the label node.kubernetes.io/windows-build, empty for Linux.
	build string
	// disk is the device whose volume holds images and pods.
	disk string
}

const containerRuntime = "containerd://2.1.5"

// operatingSystemOf returns an image's operating system. An unknown image reports itself as Amazon
// Linux 2023. https://learn.microsoft.com/en-us/windows/release-health/windows-server-release-info
// has the builds.
func operatingSystemOf(image ec2.Image) operatingSystem {
	root := "/dev/xvda"
	if len(image.Devices) > 0 {
		root = image.Devices[0].Name
	}
	windows := func(year, build, kernel string) operatingSystem {
		return operatingSystem{
			"windows", "Windows Server " + year + " Datacenter", kernel, "containerd://1.7.27", build, root,
		}
	}
	switch image.Family {
	case ec2.FamilyAL2:
		return operatingSystem{"linux", "Amazon Linux 2", "5.10.245-241.976.amzn2.x86_64", "containerd://1.7.28", "", root}
	case ec2.FamilyBottlerocket:
		disk := root
		if len(image.Devices) > 1 {
			disk = image.Devices[1].Name
		}
		return operatingSystem{
			"linux", "Bottlerocket OS (aws-k8s-" + image.KubernetesVersion + ")", "6.12.55", containerRuntime + "+bottlerocket",
			"", disk,
		}
	case ec2.FamilyWindows2019:
		return windows("2019", "10.0.17763", "10.0.17763.7922")
	case ec2.FamilyWindows2022:
		return windows("2022", "10.0.20348", "10.0.20348.4294")
	case ec2.FamilyWindows2025:
		return windows("2025", "10.0.26100", "10.0.26100.6899")
	}
	if image.Platform == "windows" {
		return windows("2022", "10.0.20348", "10.0.20348.4294")
	}
	return operatingSystem{
		"linux", "Amazon Linux 2023.9 (simulated)", "6.12.46-66.121.amzn2023", containerRuntime, "", root,
	}
}

// kubeletVersion is that of an image's kubelet.
func kubeletVersion(image ec2.Image) string {
	if image.KubernetesVersion == "" {
		return "v1.36.3-eks-local"
	}
	return "v" + image.KubernetesVersion + ".3-eks-local"
}

// labels are those that the kubelet gives a node for its system.
func (o operatingSystem) labels() map[string]string {
	labels := map[string]string{corev1.LabelOSStable: o.name, "beta.kubernetes.io/os": o.name}
	if o.build != "" {
		labels[corev1.LabelWindowsBuild] = o.build
	}
	return labels
}
