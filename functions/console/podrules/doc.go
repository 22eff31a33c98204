// Package podrules finds what an API server refuses in the spec of a pod, as far as a plan reads it,
// and what it accepts although nobody means it. Package manifests asks it for each pod and template of
// a file. The rules are those of
// https://github.com/kubernetes/kubernetes/blob/release-1.36/pkg/apis/core/validation/validation.go.
package podrules
