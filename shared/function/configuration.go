package function

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
)

// Configuration is the AWS configuration of the environment.
func Configuration(ctx context.Context) (aws.Config, error) {
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return aws.Config{}, fmt.Errorf("reading the AWS configuration of the environment: %w", err)
	}
	if loaded.HTTPClient == nil {
		loaded.HTTPClient = awshttp.NewBuildableClient()
	}
	loaded.HTTPClient = plainBodies{loaded.HTTPClient}
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
