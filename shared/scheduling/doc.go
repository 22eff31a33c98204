// Package scheduling holds what decides whether a pod may run on a node: the algebra of label requirements, taints and tolerations, the resources a
// pod asks for, and which pods wait for a node at all. It is pure: no clock, no client. Its meaning is Kubernetes' and Karpenter's
// (https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/, https://karpenter.sh/docs/concepts/scheduling/).
package scheduling
