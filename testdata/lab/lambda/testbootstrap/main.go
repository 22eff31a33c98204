// Command bootstrap is the function that the tests of the local Lambda run: its payload says what
// to do.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

type order struct {
	Do           string
	Milliseconds int
	Megabytes    int
	Text         string
	Records      []events.SQSMessage
}

type report struct {
	Count       int
	PID         int
	RequestID   string
	FunctionARN string
	Deadline    time.Time
	Environment []string `json:",omitempty"`
	Text        string   `json:",omitempty"`
}

func main() {
	if os.Getenv("FAIL_INIT") != "" {
		fmt.Println("about to fail")
		os.Exit(3)
	}
	if os.Getenv("TAKE_IN_INIT") != "" {
		take(300)
		time.Sleep(time.Hour)
	}
	count := 0
	lambda.Start(func(ctx context.Context, payload json.RawMessage) (any, error) {
		count++
		var o order
		if err := json.Unmarshal(payload, &o); err != nil {
			return nil, err
		}
		if o.Records != nil {
			return batch(o.Records)
		}
		call, _ := lambdacontext.FromContext(ctx)
		out := report{
			Count: count, PID: os.Getpid(), RequestID: call.AwsRequestID, FunctionARN: call.InvokedFunctionArn, Text: o.Text,
		}
		out.Deadline, _ = ctx.Deadline()
		switch o.Do {
		case "sleep":
			time.Sleep(time.Duration(o.Milliseconds) * time.Millisecond)
		case "compute":
			compute(time.Duration(o.Milliseconds) * time.Millisecond)
		case "take":
			take(o.Megabytes)
		case "crash":
			fmt.Println("going down")
			os.Exit(1)
		case "error":
			return nil, errors.New("told to fail")
		case "print":
			fmt.Println(o.Text)
		case "environment":
			out.Environment = os.Environ()
		case "trace":
			out.Text = os.Getenv("_X_AMZN_TRACE_ID")
		}
		return out, nil
	})
}

// compute takes processor time.
func compute(least time.Duration) {
	used := func() time.Duration {
		var usage syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	for end := used() + least; used() < end; {
	}
}

// take has memory for a moment, every page of it.
func take(megabytes int) {
	memory := make([]byte, megabytes<<20)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
}

// sendOn sends a message to the queue that the environment names, with what Lambda gives an SDK and
// nothing else.
func sendOn(body string) error {
	configuration, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		return err
	}
	_, err = sqs.NewFromConfig(configuration).SendMessage(context.Background(), &sqs.SendMessageInput{
		QueueUrl: aws.String(os.Getenv("QUEUE_URL")), MessageBody: aws.String(body),
	})
	return err
}

// batch fails the messages that say so, crashes or errs on those, and answers nonsense for
// "malformed".
func batch(records []events.SQSMessage) (any, error) {
	var response events.SQSEventResponse
	for _, record := range records {
		if strings.HasPrefix(record.Body, "loop") {
			if err := sendOn(record.Body); err != nil {
				return nil, err
			}
		}
		fmt.Println("message", record.Body, "receive", record.Attributes["ApproximateReceiveCount"])
		switch {
		case record.Body == "malformed":
			return map[string]any{"batchItemFailures": "all of them"}, nil
		case record.Body == "error":
			return nil, errors.New("the batch failed")
		case strings.HasPrefix(record.Body, "slow"):
			time.Sleep(1500 * time.Millisecond)
		case strings.HasPrefix(record.Body, "fail"):
			response.BatchItemFailures = append(response.BatchItemFailures,
				events.SQSBatchItemFailure{ItemIdentifier: record.MessageId})
		}
	}
	return response, nil
}
