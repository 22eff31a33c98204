// Package cloudformation is the local AWS's CloudFormation. It takes JSON templates through the
// service's own API, as the cdk and the aws command lines send them. It resolves parameters,
// conditions, mappings and intrinsic functions. It creates, updates and deletes resources in the
// order of their dependencies, with stack events, rollback and custom resources.
//
// The package itself knows custom resources and metadata only. Each service of the local AWS
// registers its resource types. An unknown type or property fails the stack, with a reason that
// names the logical ID.
package cloudformation
