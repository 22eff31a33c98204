package ssm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/whittle-dev/whittle/infra/local/ssm"
	"github.com/whittle-dev/whittle/infra/local/wire"
	"github.com/whittle-dev/whittle/infra/local/wire/wiretest"
)

func start(t *testing.T) (*sdk.Client, *ssm.Service) {
	t.Helper()
	service := ssm.New("123456789012", "us-east-1")
	return sdk.NewFromConfig(wiretest.Listen(t, wire.NewServer(), service)), service
}

func TestGetParameter(t *testing.T) {
	client, service := start(t)
	service.Bootstrap("hnb659fds")
	service.Set("/aws/service/eks/optimized-ami/image_id", "ami-1", ssm.String)
	service.Set("plain", "1", ssm.String)
	service.Set("plain", "2", ssm.String)
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

func TestPutAndDelete(t *testing.T) {
	client, _ := start(t)
	put := func(name, value string, kind types.ParameterType, overwrite bool) (int64, error) {
		out, err := client.PutParameter(t.Context(),
			&sdk.PutParameterInput{Name: &name, Value: &value, Type: kind, Overwrite: &overwrite})
		if err != nil {
			return 0, err
		}
		return out.Version, nil
	}
	if version, err := put("/a/b", "1", types.ParameterTypeString, false); err != nil || version != 1 {
		t.Errorf("got %d, %v", version, err)
	}
	var exists *types.ParameterAlreadyExists
	if _, err := put("/a/b", "2", types.ParameterTypeString, false); !errors.As(err, &exists) {
		t.Errorf("got %v, want ParameterAlreadyExists", err)
	}
	if version, err := put("/a/b", "2", "", true); err != nil || version != 2 {
		t.Errorf("got %d, %v", version, err)
	}
	for _, bad := range []struct{ name, value, kind string }{
		{"/a c", "1", "String"}, {"/c", "1", "Number"}, {"/c", "1", ""},
	} {
		if _, err := put(bad.name, bad.value, types.ParameterType(bad.kind), false); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	if _, err := client.DeleteParameter(t.Context(), &sdk.DeleteParameterInput{Name: aws.String("/a/b")}); err != nil {
		t.Error(err)
	}
	if _, err := client.DeleteParameter(t.Context(), &sdk.DeleteParameterInput{Name: aws.String("/a/b")}); err == nil {
		t.Error("a parameter was deleted twice")
	}
}

func TestGetParametersByPath(t *testing.T) {
	client, service := start(t)
	for i := range 25 {
		service.Set(fmt.Sprintf("/p/%02d", i), "x", ssm.String)
	}
	service.Set("/p/deep/er", "x", ssm.String)
	service.Set("/pq", "x", ssm.String)
	for recursive, want := range map[bool]int{false: 25, true: 26} {
		pages := sdk.NewGetParametersByPathPaginator(client,
			&sdk.GetParametersByPathInput{Path: aws.String("/p"), Recursive: &recursive})
		got, count := 0, 0
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got += len(page.Parameters)
			count++
		}
		if got != want || count != 3 {
			t.Errorf("recursive %t: got %d parameters on %d pages, want %d on 3", recursive, got, count, want)
		}
	}
	if _, err := client.GetParametersByPath(t.Context(),
		&sdk.GetParametersByPathInput{Path: aws.String("p")}); err == nil {
		t.Error("a path without a slash was accepted")
	}
}
