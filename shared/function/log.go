package function

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/whittle-dev/whittle/shared/version"
)

// newLogger returns the log of a function: one JSON object a line. Each has the cluster, the function
// and the version, and during an invocation its requestId. Lambda sets AWS_LAMBDA_LOG_LEVEL to the
// function's application log level.
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
func newLogger(out io.Writer, lookup func(name string) string) *slog.Logger {
	var attributes []slog.Attr
	if cluster := lookup("CLUSTER_NAME"); cluster != "" {
		attributes = append(attributes, slog.String("cluster", cluster))
	}
	if name := lookup("AWS_LAMBDA_FUNCTION_NAME"); name != "" {
		attributes = append(attributes, slog.String("function", name[strings.LastIndexByte(name, '-')+1:]))
	}
	attributes = append(attributes, slog.String("version", version.String()))
	level := logLevel(lookup("AWS_LAMBDA_LOG_LEVEL"))
	lines := slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level})
	return slog.New(requestHandler{lines.WithAttrs(attributes)})
}

// logLevel returns the level of one of Lambda's names. slog has no name for TRACE and FATAL.
func logLevel(name string) slog.Level {
	switch strings.ToUpper(name) {
	case "TRACE":
		return slog.LevelDebug - 4
	case "FATAL":
		return slog.LevelError + 4
	}
	var level slog.Level // INFO
	if level.UnmarshalText([]byte(name)) != nil {
		return slog.LevelInfo
	}
	return level
}

// requestHandler adds the id of the invocation that the context belongs to.
type requestHandler struct{ slog.Handler }

func (h requestHandler) Handle(ctx context.Context, record slog.Record) error {
	if invocation, ok := lambdacontext.FromContext(ctx); ok {
		record.AddAttrs(slog.String("requestId", invocation.AwsRequestID))
	}
	return h.Handler.Handle(ctx, record)
}

func (h requestHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(attributes)}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}
