package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
			assumption: "A dry run of a permitted call fails with DryRunOperation.",
			observe: func(ctx context.Context, a *Account) (bool, string, error) {
				_, err := a.ec2.CreateLaunchTemplate(ctx, templateInput(a.name("dry"), "ami-00000000", true))
				if err == nil {
					return false, "no error", nil
				}
				return code(err) == "DryRunOperation", code(err), nil
			},
		},
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
		},
	}
}

func message(err error) string {
	var coded smithy.APIError
	if errors.As(err, &coded) {
		return coded.ErrorMessage()
	}
	return ""
}
