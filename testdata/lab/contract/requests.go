package contract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"
)

// code is the code of an AWS error, empty for none.
func code(err error) string {
	var coded smithy.APIError
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return ""
}

// requestFacts need nothing.
func requestFacts() []fact {
	return []fact{
		{
			assumption: "InvalidInstanceID.NotFound names all unknown ids.",
			observe: func(ctx context.Context, a *Account) (bool, string, error) {
				ids := []string{"i-0000000000000000a", "i-0000000000000000b"}
				_, err := a.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: ids})
				if err == nil {
					return false, "no error", nil
				}
				all := code(err) == "InvalidInstanceID.NotFound" && strings.Contains(err.Error(), ids[0]) &&
					strings.Contains(err.Error(), ids[1])
				return all, fmt.Sprintf("%s: %s", code(err), message(err)), nil
			},
			changes: "the garbage collection asks for each instance by itself",
		},
		{
			assumption: "EC2 compresses its answers.",
			observe:    observeCompression,
			changes:    "the cost page's data of a NAT gateway: up to ten times",
		},
	}
}

// compressed notes whether an answer came compressed. Go's transport asks for it and unpacks it.
type compressed struct {
	http.Transport
	seen bool
}

func (c *compressed) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Del("Accept-Encoding")
	response, err := c.Transport.RoundTrip(request)
	if err == nil && (response.Uncompressed || response.Header.Get("Content-Encoding") != "") {
		c.seen = true
	}
	return response, err
}

func observeCompression(ctx context.Context, a *Account) (bool, string, error) {
	noting := &compressed{}
	if client, ok := a.config.HTTPClient.(*awshttp.BuildableClient); ok {
		noting.TLSClientConfig = client.GetTransport().TLSClientConfig
	}
	_, err := a.ec2.DescribeInstanceTypes(ctx, &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(100)},
		func(o *ec2.Options) { o.HTTPClient = &http.Client{Transport: noting} })
	if err != nil {
		return false, "", err
	}
	if noting.seen {
		return true, "a page of 100 instance types came compressed", nil
	}
	return false, "a page of 100 instance types came as it is", nil
}

func message(err error) string {
	var coded smithy.APIError
	if errors.As(err, &coded) {
		return coded.ErrorMessage()
	}
	return ""
}
