// Package manifests reads Kubernetes manifests from files into the objects that a plan
// is made from. What an API server and its controllers would add to them, as far as it
// matters for where pods can go, it adds: defaults, the pods of Deployments and their
// like, the claims of StatefulSets.
package manifests
