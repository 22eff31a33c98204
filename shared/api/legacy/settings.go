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
}

// UnknownCluster stands for a cluster's name that Settings lack. Shells and envsubst replace it.
const UnknownCluster = "${CLUSTER_NAME}"

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
