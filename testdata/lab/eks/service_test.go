package eks_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/smithy-go"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/eks"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const nodeRole, functionRole = "arn:aws:iam::123456789012:role/nodes", "arn:aws:iam::123456789012:role/provision"

type instances map[string]string

func (i instances) PrivateDNSName(id string) (string, bool) {
	name, ok := i[id]
	return name, ok
}

type account struct {
	*awseks.Client
	iam *identity.Service
	eks *eks.Service
	url string
}

func newAccount(t *testing.T, change ...func(*eks.Config)) *account {
	t.Helper()
	iamService, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	config := eks.Config{
		AccountID: "123456789012", Region: "us-east-1", Verifier: iamService,
		Instances: instances{"i-0123456789abcdef0": "ip-10-0-0-4.ec2.internal"},
	}
	for _, f := range change {
		f(&config)
	}
	service, err := eks.New(config)
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
	iamService.Register(server)
	service.Register(server)
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	keys := credentials.NewStaticCredentialsProvider(iamService.Operator().AccessKeyID,
		iamService.Operator().SecretAccessKey, "")
	roles := iam.New(iam.Options{Region: "us-east-1", BaseEndpoint: &url, Credentials: keys})
	for _, name := range []string{"nodes", "provision"} {
		if _, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
				`"Principal":{"Service":"ec2.amazonaws.com"}}]}`)}); err != nil {
			t.Fatal(err)
		}
	}
	return &account{
		awseks.New(awseks.Options{Region: "us-east-1", BaseEndpoint: &url, Credentials: keys}), iamService, service, url,
	}
}

// signing describes a token; the zero value is never valid.
type signing struct {
	role, session, cluster, host, expires string
	at                                    time.Time
}

func (a *account) token(t *testing.T, s signing) string {
	t.Helper()
	keys, err := a.iam.Session(s.role, s.session)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://"+s.host+"/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires="+s.expires, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.cluster != "" {
		request.Header.Set("x-k8s-aws-id", s.cluster)
	}
	signed, _, err := v4.NewSigner().PresignHTTP(t.Context(),
		aws.Credentials{
			AccessKeyID: keys.AccessKeyID, SecretAccessKey: keys.SecretAccessKey, SessionToken: keys.SessionToken,
		},
		request, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "sts", "us-east-1", s.at)
	if err != nil {
		t.Fatal(err)
	}
	return "k8s-aws-v1." + base64.RawURLEncoding.EncodeToString([]byte(signed))
}

func (a *account) review(t *testing.T, token, path string) authenticationv1.TokenReviewStatus {
	t.Helper()
	body, err := json.Marshal(authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token},
	})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(a.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var review authenticationv1.TokenReview
	if err := json.NewDecoder(response.Body).Decode(&review); err != nil {
		t.Fatal(err)
	}
	return review.Status
}

func TestTokenWebhook(t *testing.T) {
	a := newAccount(t)
	if _, err := a.CreateAccessEntry(t.Context(),
		&awseks.CreateAccessEntryInput{
			ClusterName: aws.String("prod"), PrincipalArn: aws.String(nodeRole), Type: aws.String("EC2_LINUX"),
		}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	good := signing{
		role: nodeRole, session: "i-0123456789abcdef0", cluster: "prod", host: "sts.us-east-1.amazonaws.com", expires: "60",
		at: now,
	}
	with := func(change func(*signing)) signing {
		s := good
		change(&s)
		return s
	}

	status := a.review(t, a.token(t, good), "/token-webhook/prod")
	if !status.Authenticated || status.User.Username != "system:node:ip-10-0-0-4.ec2.internal" ||
		!slices.Equal(status.User.Groups, []string{"system:nodes", "system:bootstrappers"}) {
		t.Errorf("a node's token gave %+v", status)
	}
	if status := a.review(t, a.token(t, good), "/token-webhook"); !status.Authenticated {
		t.Errorf("the only cluster's token at the bare path gave %+v", status)
	}
	for _, c := range []struct{ name, token, path, want string }{
		{"no prefix", "abc", "/token-webhook/prod", "does not begin"},
		{"rubbish", "k8s-aws-v1.%%%", "/token-webhook/prod", "base64url"},
		{"another host", a.token(t, with(func(s *signing) {
			s.host = "sts.evil.example"
		})), "/token-webhook/prod", "want https://sts.us-east-1.amazonaws.com"},
		{"another cluster", a.token(t, with(func(s *signing) { s.cluster = "test" })), "/token-webhook/prod", "STS refused"},
		{"no cluster", a.token(t, with(func(s *signing) { s.cluster = "" })), "/token-webhook/prod", "x-k8s-aws-id"},
		{"long expiry", a.token(t, with(func(s *signing) { s.expires = "900" })), "/token-webhook/prod", "at most 60"},
		{"old", a.token(t, with(func(s *signing) {
			s.at = now.Add(-16 * time.Minute)
		})), "/token-webhook/prod", "good for 15m"},
		{"no entry", a.token(t, with(func(s *signing) { s.role = functionRole })), "/token-webhook/prod", "no access entry"},
		{"no instance", a.token(t, with(func(s *signing) {
			s.session = "somebody"
		})), "/token-webhook/prod", "which is no instance"},
		{"unknown cluster", a.token(t, good), "/token-webhook/test", "not registered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status := a.review(t, c.token, c.path)
			if status.Authenticated || !strings.Contains(status.Error, c.want) {
				t.Errorf("the review is %+v, want %q in its error", status, c.want)
			}
		})
	}
}

func TestOnlyOneAPIServerKnowsANewAccessEntry(t *testing.T) {
	for name, test := range map[string]struct {
		delay, spread time.Duration
		want          int // of ten answers
	}{
		"none": {delay: time.Hour, spread: time.Hour}, "one": {spread: time.Hour, want: 5}, "both": {want: 10},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t, func(c *eks.Config) { c.AccessDelay, c.AccessSpread = test.delay, test.spread })
			if _, err := a.CreateAccessEntry(t.Context(), &awseks.CreateAccessEntryInput{
				ClusterName: aws.String("prod"), PrincipalArn: aws.String(functionRole),
			}); err != nil {
				t.Fatal(err)
			}
			token := a.token(t,
				signing{functionRole, "invocation", "prod", "sts.us-east-1.amazonaws.com", "60", time.Now()})
			known := 0
			for range 10 {
				if a.review(t, token, eks.WebhookPath).Authenticated {
					known++
				}
			}
			if known != test.want {
				t.Errorf("%d of ten answers know the entry, want %d", known, test.want)
			}
		})
	}
}

// A deleted entry works for a while, at first on both API servers and then on one.
func TestADeletedAccessEntryWorksForAWhile(t *testing.T) {
	for name, test := range map[string]struct {
		delay, spread time.Duration
		want          int // of ten answers
	}{
		"both": {delay: time.Hour, spread: time.Hour, want: 10}, "one": {spread: time.Hour, want: 5}, "none": {},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t, func(c *eks.Config) { c.AccessDelay, c.AccessSpread = test.delay, test.spread })
			entry := &awseks.CreateAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String(functionRole)}
			if _, err := a.CreateAccessEntry(t.Context(), entry); err != nil {
				t.Fatal(err)
			}
			if _, err := a.DeleteAccessEntry(t.Context(), &awseks.DeleteAccessEntryInput{
				ClusterName: entry.ClusterName, PrincipalArn: entry.PrincipalArn,
			}); err != nil {
				t.Fatal(err)
			}
			token := a.token(t,
				signing{functionRole, "invocation", "prod", "sts.us-east-1.amazonaws.com", "60", time.Now()})
			known := 0
			for range 10 {
				if a.review(t, token, eks.WebhookPath).Authenticated {
					known++
				}
			}
			if known != test.want {
				t.Errorf("%d of ten answers know the deleted entry, want %d", known, test.want)
			}
		})
	}
}

func TestAccessEntries(t *testing.T) {
	a := newAccount(t)
	in := &awseks.CreateAccessEntryInput{
		ClusterName: aws.String("prod"), PrincipalArn: aws.String(functionRole),
		KubernetesGroups: []string{"whittle:provision"},
	}
	created, err := a.CreateAccessEntry(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got := aws.ToString(
		created.AccessEntry.Username); got != "arn:aws:sts::123456789012:assumed-role/provision/{{SessionName}}" {
		t.Errorf("the user name is %s", got)
	}
	_, err = a.CreateAccessEntry(t.Context(), in)
	wantCode(t, err, "ResourceInUseException")
	token := a.token(t, signing{
		role: functionRole, session: "whittle-prod-provision", cluster: "prod", host: "sts.us-east-1.amazonaws.com",
		expires: "60", at: time.Now(),
	})
	status := a.review(t, token, "/token-webhook/prod")
	if status.User.Username != "arn:aws:sts::123456789012:assumed-role/provision/whittle-prod-provision" ||
		!slices.Equal(status.User.Groups, []string{"whittle:provision"}) {
		t.Errorf("the function is %+v", status)
	}
	described, err := a.DescribeAccessEntry(t.Context(),
		&awseks.DescribeAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String(functionRole)})
	if err != nil || aws.ToString(described.AccessEntry.Type) != "STANDARD" {
		t.Errorf("describing: %+v, %v", described, err)
	}
	if _, err := a.DeleteAccessEntry(t.Context(),
		&awseks.DeleteAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String(functionRole)}); err != nil {
		t.Fatal(err)
	}
	_, err = a.DescribeAccessEntry(t.Context(),
		&awseks.DescribeAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String(functionRole)})
	wantCode(t, err, "ResourceNotFoundException")
	in.KubernetesGroups = []string{"system:masters"}
	_, err = a.CreateAccessEntry(t.Context(), in)
	wantCode(t, err, "InvalidParameterException")
}

func TestDescribeCluster(t *testing.T) {
	a := newAccount(t)
	out, err := a.DescribeCluster(t.Context(), &awseks.DescribeClusterInput{Name: aws.String("prod")})
	if err != nil {
		t.Fatal(err)
	}
	c := out.Cluster
	if aws.ToString(c.Endpoint) != "https://127.0.0.1:6443" || aws.ToString(c.CertificateAuthority.Data) != "UEVN" ||
		c.Status != types.ClusterStatusActive ||
		aws.ToString(c.KubernetesNetworkConfig.ServiceIpv4Cidr) != "10.100.0.0/16" ||
		c.AccessConfig.AuthenticationMode != types.AuthenticationModeApi ||
		time.Since(aws.ToTime(c.CreatedAt)) > time.Minute {
		t.Errorf("the cluster is %+v", c)
	}
	_, err = a.DescribeCluster(t.Context(), &awseks.DescribeClusterInput{Name: aws.String("test")})
	wantCode(t, err, "ResourceNotFoundException")
	list, err := a.ListClusters(t.Context(), &awseks.ListClustersInput{})
	if err != nil || !slices.Equal(list.Clusters, []string{"prod"}) {
		t.Errorf("clusters: %+v, %v", list, err)
	}
}

func TestAccessEntryInATemplate(t *testing.T) {
	a := newAccount(t)
	resource := a.eks.AccessEntryType()
	request := cloudformation.Request{Properties: map[string]any{
		"ClusterName": "prod", "PrincipalArn": functionRole, "Type": "STANDARD", "KubernetesGroups": []any{
			"whittle:provision",
		},
		"AccessPolicies": []any{
			map[string]any{
				"PolicyArn":   "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy",
				"AccessScope": map[string]any{"Type": "cluster"},
			},
		},
	}}
	made, err := resource.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	token := a.token(t, signing{
		role: functionRole, session: "s", cluster: "prod", host: "sts.us-east-1.amazonaws.com", expires: "60", at: time.Now(),
	})
	if status := a.review(t, token, "/token-webhook/prod"); !slices.Contains(status.User.Groups, "system:masters") {
		t.Errorf("the administrator is %+v", status)
	}
	request.PhysicalID = made.PhysicalID
	request.Properties["KubernetesGroups"] = []any{"whittle:other"}
	delete(request.Properties, "AccessPolicies")
	changed, err := resource.Update(t.Context(), request)
	if err != nil || changed.PhysicalID != made.PhysicalID {
		t.Fatalf("updating gave %+v, %v", changed, err)
	}
	described, err := a.DescribeAccessEntry(t.Context(),
		&awseks.DescribeAccessEntryInput{ClusterName: aws.String("prod"), PrincipalArn: aws.String(functionRole)})
	if err != nil || !slices.Equal(described.AccessEntry.KubernetesGroups, []string{"whittle:other"}) {
		t.Errorf("the entry is %+v, %v", described, err)
	}
	for range 2 { // gone already is success
		if err := resource.Delete(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	request.Properties["Colour"] = "red"
	if _, err := resource.Create(t.Context(), request); err == nil || !strings.Contains(err.Error(), "Colour") {
		t.Errorf("an unknown property gave %v", err)
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var refused smithy.APIError
	if !errors.As(err, &refused) || refused.ErrorCode() != code {
		t.Errorf("error is %v, want the code %s", err, code)
	}
}
