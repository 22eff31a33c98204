package function

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/whittle-dev/whittle/shared/version"
)

func TestLinesNameTheirInvocation(t *testing.T) {
	var out bytes.Buffer
	environment := map[string]string{"CLUSTER_NAME": "prod", "AWS_LAMBDA_FUNCTION_NAME": "whittle-prod-provision"}
	log := newLogger(&out, func(name string) string { return environment[name] })
	ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r-1"})
	log.With("NodeClaim", "a").InfoContext(ctx, "launched nodeclaim")
	log.Warn("outside")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []map[string]string{
		{"level": "INFO", "msg": "launched nodeclaim", "requestId": "r-1", "NodeClaim": "a"},
		{"level": "WARN", "msg": "outside", "requestId": ""},
	} {
		want["cluster"], want["function"], want["version"] = "prod", "provision", version.String()
		var got map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if text, _ := got[key].(string); text != value {
				t.Errorf("line %d: %s is %q, want %q", i, key, text, value)
			}
		}
	}
}

func TestLambdaSetsTheLogLevel(t *testing.T) {
	for level, lines := range map[string]int{"": 3, "TRACE": 4, "DEBUG": 4, "INFO": 3, "WARN": 2, "ERROR": 1, "FATAL": 0, "?": 3} {
		var out bytes.Buffer
		log := newLogger(&out, func(name string) string {
			if name == "AWS_LAMBDA_LOG_LEVEL" {
				return level
			}
			return ""
		})
		log.Debug("a")
		log.Info("b")
		log.Warn("c")
		log.Error("d")
		if got := strings.Count(out.String(), "\n"); got != lines {
			t.Errorf("%q has %d lines, want %d", level, got, lines)
		}
	}
}
