package function

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

const (
	// attempts is how often a call is made at most. An invocation lasts a minute, and the next one
	// tries again.
	attempts = 5
	// longestPause is the longest pause between two attempts.
	longestPause = 5 * time.Second
	// connectTime is how long a connection may take. AWS answers in milliseconds. In a VPC without a
	// way to a service every packet is lost, and all attempts together must leave time for the rest
	// of the invocation: five of them take less than 40 s.
	connectTime = 3 * time.Second
)

// Retryer repeats calls that fail for a passing reason. It adapts to throttling: from then on a
// client makes no more calls than AWS accepts, first attempts and repetitions together. Each client
// needs a Retryer of its own.
// https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html
func (d Deps) Retryer() aws.Retryer {
	adaptive := retry.NewAdaptiveMode(func(options *retry.AdaptiveModeOptions) {
		options.StandardOptions = append(options.StandardOptions, func(standard *retry.StandardOptions) {
			standard.MaxAttempts, standard.MaxBackoff = attempts, longestPause
		})
	})
	return &paced{RetryerV2: adaptive, throttles: retry.DefaultThrottles, now: d.Clock()}
}

// Configuration reads the AWS configuration of the environment. In a dry run its clients send only
// calls that change nothing. The error names the part of the environment that is wrong.
func (d Deps) Configuration(ctx context.Context) (aws.Config, error) {
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRetryer(d.Retryer))
	if err != nil {
		return aws.Config{}, fmt.Errorf("reading the AWS configuration of the environment: %w", err)
	}
	environment, err := config.NewEnvConfig()
	if err != nil {
		return aws.Config{}, fmt.Errorf("reading the AWS configuration of the environment: %w", err)
	}
	if most := environment.RetryMaxAttempts; most > 0 { // the SDK ignores it beside another Retryer
		loaded.Retryer = func() aws.Retryer { return retry.AddWithMaxAttempts(d.Retryer(), most) }
	}
	loaded.HTTPClient = plainBodies{d.client(loaded.HTTPClient)}
	if d.DryRun() {
		loaded.APIOptions = append(loaded.APIOptions, onlyRead)
	}
	return loaded, nil
}

// client returns the client through which requests to AWS go. Without a transport it is the one of
// the environment.
func (d Deps) client(environments aws.HTTPClient) aws.HTTPClient {
	if d.Transport != nil {
		return through{d.Transport}
	}
	client, ok := environments.(*awshttp.BuildableClient)
	if !ok {
		client = awshttp.NewBuildableClient()
	}
	return client.WithDialerOptions(func(dialer *net.Dialer) { dialer.Timeout = connectTime })
}

// through sends requests by a transport. The AWS SDK follows no redirects.
type through struct{ transport http.RoundTripper }

// Do sends the request.
func (t through) Do(request *http.Request) (*http.Response, error) {
	return t.transport.RoundTrip(request)
}

// plainBodies hides WriteTo of request bodies. The SDK (smithy-go 1.28.8) closes a body as soon as
// the answer begins, while net/http may still check whether the body has an end. The SDK's body
// then returns an error from WriteTo, but io.EOF from Read. On the error net/http closes the
// connection, and cuts off an answer that is too long for one read. When EC2 is quick, the list of
// instance types is such an answer.
type plainBodies struct{ next aws.HTTPClient }

// Do sends the request.
func (c plainBodies) Do(request *http.Request) (*http.Response, error) {
	if _, writes := request.Body.(io.WriterTo); writes {
		request.Body = struct{ io.ReadCloser }{request.Body}
	}
	return c.next.Do(request)
}
