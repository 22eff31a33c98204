// Package cluster is the Kubernetes edge: it signs the tokens with which a
// function reaches an EKS cluster, and reads and writes the objects that the
// deciding packages work on. It decides nothing.
//
// Core kinds travel as protobuf, Karpenter's kinds as JSON (custom resources
// have no other form). Lists are served from the API server's watch cache
// (resourceVersion=0): what a function reads may be a moment old, so every
// write that depends on what was read carries a resourceVersion or a UID.
package cluster
