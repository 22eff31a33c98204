package api

import (
	"strings"
)

// Finalizers.
const (
	// TerminationFinalizer holds a NodeClaim and its Node until EC2 has terminated the instance.
	TerminationFinalizer = Group + "/termination"
	// EC2NodeClassTerminationFinalizer holds an EC2NodeClass until no claim names it.
	EC2NodeClassTerminationFinalizer = AWSGroup + "/termination"
)

// EC2 tag keys of the instances, volumes, fleets and launch templates of a cluster.
const (
	// NodePoolTagKey names the node pool.
	NodePoolTagKey = NodePoolLabelKey
	// NodeClassTagKey names the node class.
	NodeClassTagKey = LabelNodeClass
	// NameTagKey is the tag that EC2's console shows. Its value is the node's name.
	NameTagKey = "Name"
	// NodeClaimTagKey names the node claim.
	NodeClaimTagKey = Group + "/nodeclaim"
	// BatchTagKey is the client token of the launch, on an instance that was launched for a batch
	// of node claims. Such an instance gets NodeClaimTagKey when its node registers.
	BatchTagKey = OwnGroup + "/batch"
	// EKSClusterNameTagKey names the cluster.
	EKSClusterNameTagKey = "eks:eks-cluster-name"
	// ClusterTagKeyPrefix is the prefix of the tag that marks a resource as owned by a cluster.
	ClusterTagKeyPrefix = "kubernetes.io/cluster/"
	// ClusterTagOwned is the value of that tag.
	ClusterTagOwned = "owned"
)

// ClusterTagKey returns the key of the tag that marks a resource as owned by a cluster.
func ClusterTagKey(cluster string) string {
	return ClusterTagKeyPrefix + cluster
}

// IsReservedTag reports whether Whittle sets a tag itself, so that a node class may not set it.
func IsReservedTag(key string) bool {
	switch key {
	case "", EKSClusterNameTagKey, NodePoolTagKey, NodeClaimTagKey, NodeClassTagKey, BatchTagKey:
		return true
	}
	return strings.HasPrefix(key, strings.TrimSuffix(ClusterTagKeyPrefix, "/"))
}

// ProviderID returns the name of an EC2 instance in spec.providerID of its Node, such as
// aws:///us-east-1a/i-0123456789abcdef0.
func ProviderID(zone, instanceID string) string {
	return "aws:///" + zone + "/" + instanceID
}

// InstanceID returns the EC2 instance in a provider id, or false where the text is not the provider
// id of an EC2 instance.
func InstanceID(providerID string) (string, bool) {
	rest, ok := strings.CutPrefix(providerID, "aws:///")
	if !ok {
		return "", false
	}
	_, id, ok := strings.Cut(rest, "/")
	if !ok || !strings.HasPrefix(id, "i-") || len(id) == len("i-") || strings.Contains(id, "/") {
		return "", false
	}
	return id, true
}
