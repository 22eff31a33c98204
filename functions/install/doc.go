// Package install gives a CloudFormation custom resource. It applies Whittle's definitions, namespace
// and rights in the cluster when CloudFormation creates, changes or deletes the stack.
//
// Its input is CloudFormation's request, its output the answer. Package manifests holds the objects.
//
// Invariants:
//   - Each step can run twice, late, or after a failure.
//   - It never deletes a definition, a NodePool or the namespace.
//   - It answers CloudFormation before its time ends.
package install
