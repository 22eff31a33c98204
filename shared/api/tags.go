package api

import (
	"strings"
)

// Finalizers.
const (
	// TerminationFinalizer holds a NodeClaim and its Node until the instance is gone.
	TerminationFinalizer = Group + "/termination"
	// EC2NodeClassTerminationFinalizer holds an EC2NodeClass until its claims are gone.
	EC2NodeClassTerminationFinalizer = AWSGroup + "/termination"
)

// EC2 tag keys of what is launched for a cluster.
const (
	// NodePoolTagKey names the node pool.
	NodePoolTagKey = NodePoolLabelKey
	// NodeClassTagKey names the node class.
	NodeClassTagKey = LabelNodeClass
	// NameTagKey is the tag that EC2's console shows; its value is the node's name.
	NameTagKey = "Name"
	// NodeClaimTagKey names the node claim.
	NodeClaimTagKey = Group + "/nodeclaim"
	// BatchTagKey is, on an instance that was launched for a batch of node claims, the token
	// of that launch. The instance gets NodeClaimTagKey when its node registers.
	BatchTagKey = OwnGroup + "/batch"
	// EKSClusterNameTagKey names the cluster.
	EKSClusterNameTagKey = "eks:eks-cluster-name"
	// ClusterTagKeyPrefix begins the key that says a cluster owns a thing.
	ClusterTagKeyPrefix = "kubernetes.io/cluster/"
	// ClusterTagOwned is the value of that tag.
	ClusterTagOwned = "owned"
)

// ClusterTagKey is the key of the tag by which a cluster owns a thing.
func ClusterTagKey(cluster string) string {
	return ClusterTagKeyPrefix + cluster
}

// IsReservedTag reports whether a tag key is set by the launch itself, so that a
// node class may not set it.
func IsReservedTag(key string) bool {
	switch key {
	case "", EKSClusterNameTagKey, NodePoolTagKey, NodeClaimTagKey, NodeClassTagKey, BatchTagKey:
		return true
	}
	return strings.HasPrefix(key, strings.TrimSuffix(ClusterTagKeyPrefix, "/"))
}

// ProviderID is how a node names its EC2 instance, such as
// aws:///us-east-1a/i-0123456789abcdef0.
func ProviderID(zone, instanceID string) string {
	return "aws:///" + zone + "/" + instanceID
}

// InstanceID is the EC2 instance in a provider id, and false where the text is not
// the provider id of an EC2 instance.
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
