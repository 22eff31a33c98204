package logs

import (
	"context"
	"fmt"
	"net/http"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Register makes the server answer the call of `aws logs tail`, and queries of Logs Insights.
func (s *Service) Register(server *wire.Server) {
	server.Register("logs", wire.Actions{
		"FilterLogEvents": s.filterLogEvents, "StartQuery": s.startQuery, "GetQueryResults": s.getQueryResults,
	})
}

func (s *Service) filterLogEvents(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		LogGroupName string
		StartTime    int64 // milliseconds
	}
	var given map[string]any
	for _, into := range []any{&in, &given} {
		if err := c.DecodeJSON(into); err != nil {
			return nil, err
		}
	}
	for name := range given {
		if name != "logGroupName" && name != "startTime" && name != "interleaved" {
			return nil, wire.Errorf("InvalidParameterException", http.StatusBadRequest,
				"the local logs do not hold the parameter %s: leave it out", name)
		}
	}
	if !s.has(in.LogGroupName) {
		return nil, wire.Errorf("ResourceNotFoundException", http.StatusBadRequest, "log group %q does not exist",
			in.LogGroupName)
	}
	events := []map[string]any{}
	for _, e := range s.Events(in.LogGroupName) {
		if at := e.Time.UnixMilli(); at >= in.StartTime {
			events = append(events, map[string]any{
				"logStreamName": e.Stream, "timestamp": at, "ingestionTime": at, "message": e.Message,
				"eventId": fmt.Sprintf("%056d", e.number),
			})
		}
	}
	return wire.JSON(map[string]any{"events": events})
}
