// Package cloudformation is the local AWS's CloudFormation, for deployments directly or by a change
// set. It takes JSON templates through the service's own API, as the cdk and Whittle's command line
// send them. It creates, updates and deletes resources in the order of their dependencies, with stack
// events, rollback and custom resources.
//
// It holds what the stack uses: Ref, Fn::GetAtt, Fn::Sub and Fn::Join. It refuses everything else by
// name: other intrinsic functions, parameters, mappings, exports and dynamic references.
//
// The package itself knows custom resources and metadata only. Each service of the local AWS
// registers its resource types. An unknown type or property fails the stack, with a reason that
// names the logical ID.
package cloudformation
