package ssm_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/whittle-dev/whittle/testdata/lab/ssm"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

func start(t *testing.T) (*sdk.Client, *ssm.Service) {
	t.Helper()
	service := ssm.New("123456789012", "us-east-1")
	return sdk.NewFromConfig(wiretest.Listen(t, wire.NewServer(), service)), service
}

func TestGetParameter(t *testing.T) {
	client, service := start(t)
	service.Bootstrap("hnb659fds")
	service.Set("/aws/service/eks/optimized-ami/image_id", "ami-1")
	service.Set("plain", "1")
	service.Set("plain", "2")
	for name, want := range map[string]struct{ value, arn string }{
		"/cdk-bootstrap/hnb659fds/version": {
			"30", "arn:aws:ssm:us-east-1:123456789012:parameter/cdk-bootstrap/hnb659fds/version",
		},
		"/aws/service/eks/optimized-ami/image_id": {
			"ami-1", "arn:aws:ssm:us-east-1::parameter/aws/service/eks/optimized-ami/image_id",
		},
		"plain":   {"2", "arn:aws:ssm:us-east-1:123456789012:parameter/plain"},
		"plain:2": {"2", "arn:aws:ssm:us-east-1:123456789012:parameter/plain"},
		"arn:aws:ssm:us-east-1:123456789012:parameter/plain": {
			"2", "arn:aws:ssm:us-east-1:123456789012:parameter/plain",
		},
		"arn:aws:ssm:us-east-1::parameter/aws/service/eks/optimized-ami/image_id": {
			"ami-1", "arn:aws:ssm:us-east-1::parameter/aws/service/eks/optimized-ami/image_id",
		},
	} {
		out, err := client.GetParameter(t.Context(), &sdk.GetParameterInput{Name: &name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if *out.Parameter.Value != want.value || *out.Parameter.ARN != want.arn ||
			out.Parameter.Type != types.ParameterTypeString || out.Parameter.LastModifiedDate.IsZero() {
			t.Errorf("%s: got %+v", name, out.Parameter)
		}
	}
	var missing *types.ParameterNotFound
	for _, name := range []string{"none", "plain:1", "plain:x"} {
		if _, err := client.GetParameter(t.Context(), &sdk.GetParameterInput{Name: &name}); !errors.As(err, &missing) {
			t.Errorf("%s: got %v, want ParameterNotFound", name, err)
		}
	}
	out, err := client.GetParameters(t.Context(), &sdk.GetParametersInput{Names: []string{"plain", "none"}})
	if err != nil || len(out.Parameters) != 1 || len(out.InvalidParameters) != 1 || out.InvalidParameters[0] != "none" {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestPutParameter(t *testing.T) {
	client, _ := start(t)
	in := sdk.PutParameterInput{Name: aws.String("/a/b"), Value: aws.String("1"), Type: types.ParameterTypeString}
	if out, err := client.PutParameter(t.Context(), &in); err != nil || out.Version != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
	var exists *types.ParameterAlreadyExists
	if _, err := client.PutParameter(t.Context(), &in); !errors.As(err, &exists) {
		t.Errorf("got %v, want ParameterAlreadyExists", err)
	}
	in.Type = types.ParameterTypeSecureString
	if _, err := client.PutParameter(t.Context(), &in); err == nil {
		t.Error("a secure string was accepted")
	}
}
