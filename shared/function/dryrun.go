package function

import (
	"context"
	"log/slog"
	"reflect"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// DryRun returns whether DRY_RUN is true: the function logs its decisions and does nothing.
// Configuration and Connection obey it for AWS and for the cluster.
func (d Deps) DryRun() bool { return d.getenv("DRY_RUN") == "true" }

// dryRunOperation is EC2's code for a call that would have been made.
const dryRunOperation = "DryRunOperation"

// onlyRead keeps AWS calls that change anything from being sent. It lets pass the calls that ask
// EC2 for a dry run themselves, and the messages between the functions, which continue the dry run.
func onlyRead(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("WhittleDryRun", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		if reads(operation) || service == "SQS" && isAboutMessages(operation) || asksForDryRun(in.Parameters) {
			return next.HandleInitialize(ctx, in)
		}
		slog.InfoContext(ctx, "dry run: not called", "service", service, "operation", operation)
		return middleware.InitializeOutput{}, middleware.Metadata{}, &smithy.GenericAPIError{
			Code: dryRunOperation, Message: operation + " is not called in a dry run", Fault: smithy.FaultClient,
		}
	}), middleware.After)
}

// isAboutMessages reports whether the call sends messages, or keeps one that is not done.
func isAboutMessages(operation string) bool {
	return strings.HasPrefix(operation, "SendMessage") || strings.HasPrefix(operation, "ChangeMessageVisibility")
}

func reads(operation string) bool {
	for _, prefix := range []string{"Describe", "Get", "List"} {
		if strings.HasPrefix(operation, prefix) {
			return true
		}
	}
	return false
}

// asksForDryRun returns whether the call's own DryRun is set. It finds the field by name, because
// the EC2 client would double the size of functions that do not use it.
func asksForDryRun(parameters any) bool {
	input := reflect.ValueOf(parameters)
	if input.Kind() != reflect.Pointer || input.Elem().Kind() != reflect.Struct {
		return false
	}
	field := input.Elem().FieldByName("DryRun")
	if !field.IsValid() {
		return false
	}
	asked, ok := field.Interface().(*bool)
	return ok && asked != nil && *asked
}
