package cloudformation

import "context"

// ResourceType makes and unmakes the resources of one CloudFormation type. Its methods may be called at the same time for
// different resources. The text of their errors becomes the reason in the stack's events.
type ResourceType interface {
	// Create makes the resource. A result with a PhysicalID beside an error says that something was made and has to be deleted
	// when the stack rolls back.
	Create(ctx context.Context, r Request) (Result, error)
	// Update changes the resource from OldProperties to Properties. A new PhysicalID in the result means replacement: the old
	// resource is deleted when the stack's update is through.
	Update(ctx context.Context, r Request) (Result, error)
	// Delete removes the resource. One that is gone already is a success.
	Delete(ctx context.Context, r Request) error
}

// Request is what a ResourceType is asked to do. Properties are resolved: no intrinsic functions are left in them.
type Request struct {
	StackName string
	StackID   string // the stack's ARN
	LogicalID string
	// PhysicalID is the resource's id; on Create the same as GeneratedName, which the type may use or ignore.
	PhysicalID string
	// GeneratedName is a fresh name as CloudFormation makes them (stack, logical id, random suffix), set on Create and Update:
	// for a resource, or the replacement of one, whose template gives no name. See the function GeneratedName for services with short limits.
	GeneratedName string
	Type          string
	Properties    map[string]any
	// OldProperties are those of the last successful create or update; nil on Create.
	OldProperties map[string]any
	// Tags are the stack's tags.
	Tags map[string]string
}

// Result is what a created or updated resource is known by.
type Result struct {
	// PhysicalID is what Ref gives.
	PhysicalID string
	// Attributes are what Fn::GetAtt gives; names may contain dots ("Endpoint.Address").
	Attributes map[string]any
}
