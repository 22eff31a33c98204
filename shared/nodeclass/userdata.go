package nodeclass

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

// Cluster holds the facts that a node needs to join.
type Cluster struct {
	Name                 string
	Endpoint             string
	CertificateAuthority []byte // PEM
	ServiceCIDR          string
	DNS                  string // kube-dns's address; empty leaves it to the node
}

// IPv6 reports whether the cluster's pods and services have IPv6 addresses.
func (c Cluster) IPv6() bool { return strings.Contains(c.ServiceCIDR, ":") }

// Join holds the facts that a node of one pool needs to join.
type Join struct {
	Cluster Cluster
	Labels  map[string]string
	Taints  []corev1.Taint // in the node's first registration
}

// MaximumUserData is the number of bytes that EC2 accepts, before base64.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html
const MaximumUserData = 16 << 10

// UserData returns the user data of the class's nodes, without base64, in the format of its AMI
// family. Errors name the class and the field.
//
// The settings that depend on the instance type, maxPods and the reservations for the kubelet, are
// written only where needed (Variation.Kubelet). So are the values of expressions. nodeadm, AL2's
// bootstrap.sh and Bottlerocket compute both by the planner's formulas, so one launch template
// serves all types.
func UserData(class *api.EC2NodeClass, join Join) (string, error) {
	return userData(class, api.AMI{}, join, nil)
}

func userData(class *api.EC2NodeClass, image api.AMI, join Join, ofType *api.KubeletConfiguration) (string, error) {
	own := ""
	if class.Spec.UserData != nil {
		own = *class.Spec.UserData
	}
	settings := settingsOf(class, join, ofType)
	var data string
	var err error
	switch family := class.AMIFamily(); family {
	case api.AMIFamilyCustom:
		return own, nil
	case api.AMIFamilyAL2023:
		data, err = al2023(settings, own)
	case api.AMIFamilyAL2:
		data, err = al2(settings, own)
	case api.AMIFamilyBottlerocket:
		data, err = bottlerocket(settings, image, own)
	case api.AMIFamilyWindows2019, api.AMIFamilyWindows2022, api.AMIFamilyWindows2025:
		data, err = windows(settings, own)
	default:
		return "", fmt.Errorf("ec2nodeclass %q: spec.amiFamily %q is not a family: see its enumeration", class.Name, family)
	}
	if err != nil {
		return "", fmt.Errorf("ec2nodeclass %q: spec.userData: %w", class.Name, err)
	}
	return data, nil
}

// checkSize refuses user data that is too long for EC2.
func checkSize(class *api.EC2NodeClass, data string) error {
	if len(data) <= MaximumUserData {
		return nil
	}
	return fmt.Errorf(
		"ec2nodeclass %q: user data has %d bytes with the cluster's own part, EC2 takes %d: shorten spec.userData",
		class.Name, len(data), MaximumUserData,
	)
}

// settings are the facts in the user data of every family.
type settings struct {
	cluster Cluster
	kubelet api.KubeletConfiguration // with the cluster's DNS where the class has none
	labels  map[string]string
	taints  []corev1.Taint
	raid0   bool // joins the instance store disks
}

func settingsOf(class *api.EC2NodeClass, join Join, ofType *api.KubeletConfiguration) settings {
	made := settings{cluster: join.Cluster, labels: joinLabels(join.Labels), taints: join.Taints}
	// No node can read an expression. The settings of the type hold its value.
	if own := kubelet.Resolved(class.Spec.Kubelet, kubelet.Values{}); own != nil {
		made.kubelet = *own
	}
	if ofType != nil {
		made.kubelet.MaxPods = cmp.Or(ofType.MaxPods, made.kubelet.MaxPods)
		if ofType.KubeReserved != nil {
			made.kubelet.KubeReserved = ofType.KubeReserved
		}
		if ofType.SystemReserved != nil {
			made.kubelet.SystemReserved = ofType.SystemReserved
		}
	}
	// The default thresholds of Windows images have changed between versions.
	if family := class.AMIFamily(); len(made.kubelet.EvictionHard) > 0 || strings.HasPrefix(family, "Windows") {
		made.kubelet.EvictionHard = api.EvictionHard(family, made.kubelet.EvictionHard)
	}
	if len(made.kubelet.ClusterDNS) == 0 && join.Cluster.DNS != "" {
		made.kubelet.ClusterDNS = []string{join.Cluster.DNS}
	}
	policy := class.Spec.InstanceStorePolicy
	made.raid0 = policy != nil && *policy == api.InstanceStorePolicyRAID0
	return made
}

// joinLabels returns the labels that a node gives itself. The API server refuses labels of
// Kubernetes' own domains from a node, so lifecycle sets those at registration. The kubelet brings
// all taints, and registration must not restore a startup taint that its owner has removed.
func joinLabels(labels map[string]string) map[string]string {
	own := map[string]string{api.NodeDoNotSyncTaintsLabelKey: "true"}
	for key, value := range labels {
		domain, _, _ := strings.Cut(key, "/")
		if domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || domain == "k8s.io" ||
			strings.HasSuffix(domain, ".k8s.io") {
			continue
		}
		own[key] = value
	}
	return own
}

// pairs returns a map in the order of its keys, such as cpu=100m,memory=1Gi.
func pairs[V any](values map[string]V, between string) string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, fmt.Sprintf("%s%s%v", key, between, values[key]))
	}
	return strings.Join(list, ",")
}
