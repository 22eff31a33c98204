package cloudformation

import "context"

// ResourceType makes and unmakes the resources of one CloudFormation type. Its methods may be
// called at the same time for different resources. The text of their errors becomes the reason in
// the stack's events.
type ResourceType interface {
	// Create creates the resource. A result with a PhysicalID beside an error means that the
	// rollback must delete something.
	Create(ctx context.Context, r Request) (Result, error)
	// Update changes the resource from OldProperties to Properties. A new PhysicalID in the result
	// means replacement: the old resource is deleted when the stack's update is through.
	Update(ctx context.Context, r Request) (Result, error)
	// Delete removes the resource. It succeeds for one that does not exist.
	Delete(ctx context.Context, r Request) error
}

// Request is the argument of a ResourceType's methods. Its properties contain no intrinsic
// functions.
type Request struct {
	StackName string
	StackID   string // the stack's ARN
	LogicalID string
	// PhysicalID is the resource's ID. On Create it equals GeneratedName, which the type may
	// ignore.
	PhysicalID string
	// GeneratedName is a new name of CloudFormation's form: stack, logical ID and a random suffix.
	// Create and Update use it if the template gives no name. See the function GeneratedName for
	// services with short limits.
	GeneratedName string
	Type          string
	Properties    map[string]any
	// OldProperties are those of the last successful create or update; nil on Create.
	OldProperties map[string]any
	// Tags are the stack's tags.
	Tags map[string]string
}

// Result identifies a created or updated resource.
type Result struct {
	// PhysicalID is the value of Ref.
	PhysicalID string
	// Attributes are the values of Fn::GetAtt. Names may contain dots ("Endpoint.Address").
	Attributes map[string]any
}
