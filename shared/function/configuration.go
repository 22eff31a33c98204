package function

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

const (
	// attempts is how often a call is made at most: an invocation lasts a minute, and what
	// has failed by then the next one does.
	attempts = 5
	// longestPause is the longest between two of them.
	longestPause = 5 * time.Second
)

// Retryer repeats calls that fail for a reason that goes by itself. It adapts to AWS
// asking for fewer calls: from then on a client makes no more of them than get through,
// first attempts and repetitions together. Each client has one of its own.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
func Retryer() aws.Retryer {
	adaptive := retry.NewAdaptiveMode(func(options *retry.AdaptiveModeOptions) {
		options.StandardOptions = append(options.StandardOptions, func(standard *retry.StandardOptions) {
			standard.MaxAttempts, standard.MaxBackoff = attempts, longestPause
		})
	})
	return &paced{RetryerV2: adaptive, throttles: retry.DefaultThrottles}
}

// Configuration is the AWS configuration of the environment.
func Configuration(ctx context.Context) (aws.Config, error) {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRetryer(Retryer))
	if err != nil {
		return aws.Config{}, fmt.Errorf("reading the AWS configuration of the environment: %w", err)
	}
	environment, err := config.NewEnvConfig()
	if err != nil {
		return aws.Config{}, fmt.Errorf("reading the AWS configuration of the environment: %w", err)
	}
	if most := environment.RetryMaxAttempts; most > 0 { // a retryer of one's own hides it from the SDK
		loaded.Retryer = func() aws.Retryer { return retry.AddWithMaxAttempts(Retryer(), most) }
	}
	if loaded.HTTPClient == nil {
		loaded.HTTPClient = awshttp.NewBuildableClient()
	}
	loaded.HTTPClient = plainBodies{loaded.HTTPClient}
	if DryRun() {
		loaded.APIOptions = append(loaded.APIOptions, onlyRead)
	}
	return loaded, nil
}

// plainBodies sends request bodies that can only be read. The SDK (smithy-go
// 1.28.8) closes a body as soon as the answer begins, while net/http may yet look
// whether the body has an end; the SDK's body answers that look with an error
// when it is asked to write itself (WriteTo), and with its end when it is read.
// On the error net/http closes the connection, and an answer too long for one
// read is cut off: the list of instance types, when EC2 is quick.
type plainBodies struct{ next aws.HTTPClient }

// Do sends the request.
func (c plainBodies) Do(request *http.Request) (*http.Response, error) {
	if _, writes := request.Body.(io.WriterTo); writes {
		request.Body = struct{ io.ReadCloser }{request.Body}
	}
	return c.next.Do(request)
}
