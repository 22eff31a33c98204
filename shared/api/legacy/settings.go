package legacy

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Settings hold what old objects left to the cluster and to Karpenter's settings.
type Settings struct {
	// ClusterName is the cluster's name. If it is empty, the text UnknownCluster takes its place.
	ClusterName string
	// KubernetesVersion is the cluster's minor version, such as 1.31. An empty one counts as new.
	KubernetesVersion string
	// InstanceProfile is the profile of templates without one, Karpenter's setting
	// aws.defaultInstanceProfile.
	InstanceProfile string
	// Role is the name of the nodes' role for templates without a profile, where InstanceProfile is
	// empty. UnknownRole stands for a name that the caller cannot know. Without Role too, such
	// templates cannot be converted.
	Role string
	// WindowsRole takes the place of Role for Windows, where nodes of Windows have a role of their own.
	WindowsRole string
}

// UnknownCluster stands for a cluster's name that Settings lack. Shells and envsubst replace it.
const UnknownCluster = "${CLUSTER_NAME}"

// UnknownRole stands for the name of the nodes' role that Settings lack.
const UnknownRole = "${NODE_ROLE}"

// roleOf returns the role of a family's nodes. A role has one access entry, and those of Linux and
// Windows differ.
func (s Settings) roleOf(family string) string {
	if strings.HasPrefix(family, "Windows") {
		return cmp.Or(s.WindowsRole, s.Role)
	}
	return s.Role
}

func (s Settings) cluster() string { return cmp.Or(s.ClusterName, UnknownCluster) }

// lastAL2 is the last Kubernetes 1.x for which AWS publishes AL2 images.
const lastAL2 = 32

// hasAL2 reports whether AL2 images exist for the cluster's version.
func (s Settings) hasAL2() bool {
	major, minor, _ := strings.Cut(s.KubernetesVersion, ".")
	n, err := strconv.Atoi(minor)
	return err == nil && major == "1" && n <= lastAL2
}

// alias returns the alias of a family's newest image, or "" for a family without one.
func alias(family string) string {
	text := strings.ToLower(family) + "@" + api.AliasVersionLatest
	if _, ok := api.ParseAlias(text); ok {
		return text
	}
	return ""
}
