// Package cloudformation is the local AWS's CloudFormation: it takes JSON templates through the service's own API, as the
// cdk and the aws command lines use it, resolves parameters, conditions, mappings and intrinsic functions, and creates,
// updates and deletes resources in the order of their dependencies, with stack events, rollback and custom resources.
//
// It knows no resource type of its own but custom resources and metadata: each service of the local AWS registers what it
// holds. A type or a property that nobody knows fails the stack with a reason that names the logical id.
package cloudformation
