package fleet

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
)

// iamAttempts is how often a call to IAM is made at most. A VPC may have no way to IAM, where each
// attempt lasts until its connection times out. The rest of the pass must not wait for more of them,
// and the next pass tries again.
const iamAttempts = 2

// NewIAM returns a client of IAM that gives up soon.
func NewIAM(config aws.Config) *iam.Client {
	return iam.NewFromConfig(config, func(options *iam.Options) { options.RetryMaxAttempts = iamAttempts })
}
