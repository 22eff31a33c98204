package machine

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// tokens puts an instance's bearer token on each request, as `aws eks get-token`
// does on a node.
type tokens struct {
	source *cluster.TokenSource
	next   http.RoundTripper
}

// wrapTransport makes a transport with the tokens of the instance's role.
func wrapTransport(clusterName, region string, instance *ec2.Instance,
	sessions Sessions) func(http.RoundTripper) http.RoundTripper {
	source := cluster.NewTokenSource(clusterName, region,
		aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			session, err := sessions.Session(instance.RoleARN, instance.ID)
			if err != nil {
				return aws.Credentials{}, fmt.Errorf("getting credentials of role %s for instance %s: %w", instance.RoleARN,
					instance.ID, err)
			}
			return aws.Credentials{
				AccessKeyID: session.AccessKeyID, SecretAccessKey: session.SecretAccessKey, SessionToken: session.SessionToken,
				CanExpire: true, Expires: session.Expiration,
			}, nil
		}), time.Now)
	return func(next http.RoundTripper) http.RoundTripper { return tokens{source, next} }
}

// RoundTrip sends the request with a token that has not expired.
func (t tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := t.source.Token(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return t.next.RoundTrip(r)
}
