package administrator_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/whittle-dev/whittle/functions/console/administrator"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const role = "arn:aws:iam::123456789012:role/install"

// noInstances knows no name of an instance.
type noInstances struct{}

func (noInstances) PrivateDNSName(string) (string, bool) { return "", false }

// account is a local account with the cluster prod and a role.
func account(t *testing.T) aws.Config {
	t.Helper()
	who, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	service, err := eks.New(eks.Config{AccountID: "123456789012", Region: "us-east-1", Verifier: who,
		Instances: noInstances{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := service.RegisterCluster(eks.Cluster{
		Name: "prod", Endpoint: "https://127.0.0.1:6443", CertificateAuthority: []byte("PEM"), Version: "1.36",
		ServiceCIDR: "10.100.0.0/16", SubnetIDs: []string{"subnet-1"},
	}); err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer()
	who.Register(server)
	service.Register(server)
	address, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	behind, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(withLambda(httputil.NewSingleHostReverseProxy(behind)))
	t.Cleanup(front.Close)
	keys := credentials.NewStaticCredentialsProvider(who.Operator().AccessKeyID, who.Operator().SecretAccessKey, "")
	config := aws.Config{Region: "us-east-1", BaseEndpoint: &address, Credentials: keys}
	name := "install"
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
		`"Principal":{"Service":"lambda.amazonaws.com"}}]}`
	if _, err := iam.NewFromConfig(config).CreateRole(t.Context(),
		&iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &trust}); err != nil {
		t.Fatal(err)
	}
	config.BaseEndpoint = &front.URL
	return config
}

// withLambda is a fake of Lambda's GetFunctionConfiguration, which knows the function install of two clusters.
func withLambda(others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, called := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
		switch {
		case !called:
			others.ServeHTTP(w, r)
		case strings.HasPrefix(name, "whittle-prod-install/"):
			fmt.Fprintf(w, `{"Role":%q}`, role)
		default:
			w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"Type":"User","Message":"Function not found"}`)
		}
	})
}

// policies are the access policies of the role.
func policies(t *testing.T, config aws.Config) []string {
	t.Helper()
	listed, err := awseks.NewFromConfig(config).ListAssociatedAccessPolicies(t.Context(),
		&awseks.ListAssociatedAccessPoliciesInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String(role)})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, policy := range listed.AssociatedAccessPolicies {
		names = append(names, aws.ToString(policy.PolicyArn))
	}
	return names
}

// TestTheRightComesAndGoes gives and takes the right, each twice.
func TestTheRightComesAndGoes(t *testing.T) {
	config := account(t)
	if _, err := awseks.NewFromConfig(config).CreateAccessEntry(t.Context(), &awseks.CreateAccessEntryInput{
		ClusterName: aws.String("prod"), PrincipalArn: aws.String(role),
	}); err != nil {
		t.Fatal(err)
	}
	rights := administrator.New(config, "prod")
	for _, step := range []struct {
		do   func(context.Context) (string, error)
		want int
	}{
		{rights.Revoke, 0}, {rights.Grant, 1}, {rights.Grant, 1}, {rights.Revoke, 0}, {rights.Revoke, 0}, {rights.Grant, 1},
	} {
		got, err := step.do(t.Context())
		if err != nil || got != role {
			t.Fatalf("%q, %v", got, err)
		}
		if has := policies(t, config); len(has) != step.want ||
			step.want == 1 && has[0] != "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy" {
			t.Errorf("the role has %q, want %d", has, step.want)
		}
	}
}

func TestErrorsNameTheRemedy(t *testing.T) {
	config := account(t)
	if _, err := administrator.New(config, "staging").Grant(t.Context()); !errors.Is(err, administrator.ErrNotInstalled) {
		t.Errorf("a cluster without Whittle: %v", err)
	}
	for _, do := range []func(context.Context) (string, error){
		administrator.New(config, "prod").Grant, administrator.New(config, "prod").Revoke,
	} {
		if _, err := do(t.Context()); err == nil || !strings.Contains(err.Error(), "aws-auth") {
			t.Errorf("a role without an access entry: %v", err)
		}
	}
}
