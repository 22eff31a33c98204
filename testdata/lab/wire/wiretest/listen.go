package wiretest

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Service is one of the local AWS.
type Service interface {
	Register(server *wire.Server)
}

// Listen lets the server answer for the services until the test ends, and gives
// what the SDK's NewFromConfig needs to call them. Its keys are nobody's; their
// secret is "secret". What a service refuses is not tried again.
func Listen(t testing.TB, server *wire.Server, services ...Service) aws.Config {
	t.Helper()
	for _, service := range services {
		service.Register(server)
	}
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: &url,
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""), Retryer: retryer,
	}
}

// retryer tries again what net/http dropped after smithy-go closed the request's
// body under it, as a busy machine lets it, and nothing else.
func retryer() aws.Retryer {
	return retry.NewStandard(func(options *retry.StandardOptions) {
		options.MaxAttempts = 10
		options.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		options.Retryables = []retry.IsErrorRetryable{retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			return aws.BoolTernary(errors.Is(err, net.ErrClosed))
		})}
	})
}
