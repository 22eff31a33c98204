package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sort"
	"strings"

	"github.com/aws/aws-lambda-go/cfn"
)

// maxAnswer is the largest answer, in bytes of JSON, that CloudFormation accepts.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
const maxAnswer = 4096

// installedID is the physical id of a completed installation.
func installedID(cluster string) string { return "whittle-install-" + cluster }

// physicalIDAfter returns the id of the resource after a creation or an update. CloudFormation
// deletes a resource whose creation failed. The id then differs, so that this deletion needs no
// cluster. A failed update keeps its id, because CloudFormation deletes a resource that loses its.
func physicalIDAfter(event cfn.Event, cluster string, err error) string {
	switch {
	case err == nil:
		return installedID(cluster)
	case event.RequestType == cfn.RequestCreate || event.PhysicalResourceID == "":
		return installedID(cluster) + "-failed"
	}
	return event.PhysicalResourceID
}

// answer sends the outcome to CloudFormation. A run by hand prints it.
func (h *handler) answer(ctx context.Context, event cfn.Event) (any, error) {
	if event.ResponseURL == "" {
		_, data, err := h.handle(ctx, event)
		return data, err
	}
	return cfn.LambdaWrap(func(ctx context.Context, event cfn.Event) (string, map[string]any, error) {
		id, data, err := h.handle(ctx, event)
		if err != nil {
			slog.ErrorContext(ctx, "the request failed", "request", event.RequestType, "id", id, "error", err)
			err = errors.New(fitting(cfn.Response{
				Status: cfn.StatusFailed, RequestID: event.RequestID, LogicalResourceID: event.LogicalResourceID,
				StackID: event.StackID, PhysicalResourceID: id, Data: data, Reason: err.Error(),
			}))
		}
		return id, data, err
	})(ctx, event)
}

// fitting returns the response's reason, with as much of its beginning as CloudFormation accepts.
func fitting(response cfn.Response) string {
	whole := response.Reason
	without := func(bytes int) string {
		return strings.ToValidUTF8(whole[:len(whole)-bytes], "") + "... (the function's log has the whole)"
	}
	fits := func() bool {
		body, err := json.Marshal(response)
		return err == nil && len(body) <= maxAnswer
	}
	if fits() {
		return whole
	}
	return without(sort.Search(len(whole), func(bytes int) bool {
		response.Reason = without(bytes)
		return fits()
	}))
}
