// Package manifests reads Kubernetes manifests from files into the objects that a plan needs. It
// adds what an API server and its controllers would add, as far as scheduling depends on it:
// defaults, the pods of Deployments and similar kinds, the claims of StatefulSets.
//
// Its input is package document's documents, its output a Manifests. Each error names file, line,
// object and field. The order of the files changes nothing, except that the last of two equal
// objects counts.
package manifests
