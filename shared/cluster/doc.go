// Package cluster is the Kubernetes edge. It signs the tokens with which a function reaches an EKS
// cluster, and it reads and writes the objects that the deciding packages work on. It decides
// nothing.
//
// Core kinds travel as protobuf. Karpenter's kinds travel as JSON, the only form of custom
// resources. The API server answers most lists from its watch cache (resourceVersion=0), so that
// they may be a moment old. A write that depends on what was read therefore carries a
// resourceVersion or a UID. Decisions to delete, evict or terminate use a Consistent client.
//
// Pods, nodes and NodeClaims are listed past the watch cache. A client with a Cache reads only those
// that have changed since its last list.
//
// # Errors
//
// Errors wrap those of the API server, for the functions of k8s.io/apimachinery/pkg/api/errors.
// IsGone reports an object that has gone, IsConflict one that has changed, IsForbidden a missing
// right, and IsEvictionRefused a disruption budget that forbids an eviction. Every call may fail
// because the API server is throttled, busy or unreachable. The caller returns such an error, and
// the next invocation repeats the work. Each function documents only what it treats otherwise.
package cluster
