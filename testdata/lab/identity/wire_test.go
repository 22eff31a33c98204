package identity_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
	`"Principal":{"AWS":"arn:aws:iam::123456789012:root"}}]}`

type local struct {
	server  *wire.Server
	service *identity.Service
}

func start(t *testing.T) local {
	t.Helper()
	service, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer()
	service.Register(server)
	server.Register("sqs", wire.HandlerFunc(func(context.Context, *wire.Call) (*wire.Response, error) {
		return wire.JSON(map[string]string{"MessageId": "m"})
	}))
	if _, err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return local{server, service}
}

func (l local) config(c identity.Credentials) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(l.server.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(c.AccessKeyID, c.SecretAccessKey, c.SessionToken),
	}
}

// role makes a role through the API, with rights given as statements.
func (l local) role(t *testing.T, name, statements string) string {
	t.Helper()
	client := iam.NewFromConfig(l.config(l.service.Operator()))
	made, err := client.CreateRole(t.Context(),
		&iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trust)})
	if err != nil {
		t.Fatal(err)
	}
	if statements != "" {
		_, err := client.PutRolePolicy(t.Context(), &iam.PutRolePolicyInput{
			RoleName: &name, PolicyName: aws.String("rights"),
			PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[` + statements + `]}`),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return *made.Role.Arn
}

func (l local) session(t *testing.T, roleARN string) aws.Config {
	t.Helper()
	c, err := l.service.Session(roleARN, "invocation")
	if err != nil {
		t.Fatal(err)
	}
	return l.config(c)
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var answer smithy.APIError
	if !errors.As(err, &answer) || answer.ErrorCode() != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestGetCallerIdentity(t *testing.T) {
	l := start(t)
	who, err := sts.NewFromConfig(l.config(l.service.Operator())).GetCallerIdentity(t.Context(), nil)
	if err != nil || *who.Arn != "arn:aws:iam::123456789012:user/operator" || *who.Account != "123456789012" {
		t.Errorf("got %+v, %v", who, err)
	}
	role := l.role(t, "worker", "")
	who, err = sts.NewFromConfig(l.session(t, role)).GetCallerIdentity(t.Context(), nil)
	if err != nil || *who.Arn != "arn:aws:sts::123456789012:assumed-role/worker/invocation" {
		t.Errorf("got %+v, %v", who, err)
	}
	_, err = sts.NewFromConfig(l.config(identity.Credentials{
		AccessKeyID: "AKIAX", SecretAccessKey: "x",
	})).GetCallerIdentity(t.Context(), nil)
	wantCode(t, err, "InvalidClientTokenId")
	forged := l.service.Operator()
	forged.SecretAccessKey = "guessed"
	_, err = sts.NewFromConfig(l.config(forged)).GetCallerIdentity(t.Context(), nil)
	wantCode(t, err, "SignatureDoesNotMatch")
}

func TestAssumeRole(t *testing.T) {
	l := start(t)
	if err := l.service.Bootstrap("hnb659fds"); err != nil {
		t.Fatal(err)
	}
	client := sts.NewFromConfig(l.config(l.service.Operator()))
	assume := func(role string) (*sts.AssumeRoleOutput, error) {
		return client.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: &role, RoleSessionName: aws.String("cli")})
	}
	out, err := assume("arn:aws:iam::123456789012:role/cdk-hnb659fds-deploy-role-123456789012-us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	if until := time.Until(*out.Credentials.Expiration); until < 50*time.Minute || until > time.Hour {
		t.Errorf("the session ends in %s", until)
	}
	assumed := l.config(identity.Credentials{
		AccessKeyID: *out.Credentials.AccessKeyId, SecretAccessKey: *out.Credentials.SecretAccessKey,
		SessionToken: *out.Credentials.SessionToken,
	})
	if _, err := iam.NewFromConfig(assumed).ListInstanceProfiles(t.Context(), nil); err != nil {
		t.Errorf("the deploy role may not list profiles: %v", err)
	}
	// The execution role trusts CloudFormation, not people.
	_, err = assume("arn:aws:iam::123456789012:role/cdk-hnb659fds-cfn-exec-role-123456789012-us-east-1")
	wantCode(t, err, "AccessDenied")
	_, err = assume("arn:aws:iam::123456789012:role/none")
	wantCode(t, err, "AccessDenied")
}

func TestRolesThroughTheAPI(t *testing.T) {
	l := start(t)
	client := iam.NewFromConfig(l.config(l.service.Operator()))
	l.role(t, "worker", `{"Effect":"Allow","Action":"sqs:*","Resource":"*"}`)
	_, err := client.CreateRole(t.Context(),
		&iam.CreateRoleInput{RoleName: aws.String("worker"), AssumeRolePolicyDocument: aws.String(trust)})
	var exists *iamtypes.EntityAlreadyExistsException
	if !errors.As(err, &exists) {
		t.Errorf("got %v, want EntityAlreadyExists", err)
	}
	got, err := client.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("worker")})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := url.QueryUnescape(*got.Role.AssumeRolePolicyDocument); err != nil || text != trust {
		t.Errorf("the trust policy came back as %s, %v", text, err)
	}
	_, err = client.PutRolePolicy(t.Context(),
		&iam.PutRolePolicyInput{
			RoleName: aws.String("worker"), PolicyName: aws.String("bad"), PolicyDocument: aws.String("{}"),
		})
	wantCode(t, err, "MalformedPolicyDocument")
	_, err = client.AttachRolePolicy(t.Context(),
		&iam.AttachRolePolicyInput{
			RoleName: aws.String("worker"), PolicyArn: aws.String("arn:aws:iam::aws:policy/AmazonEKSNothing"),
		})
	wantCode(t, err, "NoSuchEntity")
	_, err = client.AttachRolePolicy(t.Context(),
		&iam.AttachRolePolicyInput{
			RoleName: aws.String("worker"), PolicyArn: aws.String("arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"),
		})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: aws.String("worker")})
	wantCode(t, err, "DeleteConflict")
}

func TestInstanceProfiles(t *testing.T) {
	l := start(t)
	client := iam.NewFromConfig(l.config(l.service.Operator()))
	role := l.role(t, "nodes", "")
	name := aws.String("prod_1")
	made, err := client.CreateInstanceProfile(t.Context(),
		&iam.CreateInstanceProfileInput{
			InstanceProfileName: name, Tags: []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
		})
	if err != nil || *made.InstanceProfile.Arn != "arn:aws:iam::123456789012:instance-profile/prod_1" ||
		len(made.InstanceProfile.Tags) != 1 {
		t.Fatalf("got %+v, %v", made, err)
	}
	if _, found := l.service.RoleOfInstanceProfile("prod_1"); found {
		t.Error("an empty profile has a role")
	}
	_, err = client.AddRoleToInstanceProfile(t.Context(),
		&iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("none")})
	wantCode(t, err, "NoSuchEntity")
	for i, want := range []string{"", "LimitExceeded"} {
		_, err = client.AddRoleToInstanceProfile(t.Context(),
			&iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nodes")})
		if i == 0 && err != nil {
			t.Fatal(err)
		} else if i == 1 {
			wantCode(t, err, want)
		}
	}
	if got, found := l.service.RoleOfInstanceProfile("arn:aws:iam::123456789012:instance-profile/prod_1"); !found ||
		got != role {
		t.Errorf("got %q, %t", got, found)
	}
	if _, err := client.TagInstanceProfile(t.Context(),
		&iam.TagInstanceProfileInput{
			InstanceProfileName: name, Tags: []iamtypes.Tag{{Key: aws.String("b"), Value: aws.String("2")}},
		}); err != nil {
		t.Fatal(err)
	}
	listed, err := client.ListInstanceProfiles(t.Context(), nil)
	if err != nil || len(listed.InstanceProfiles) != 1 || len(listed.InstanceProfiles[0].Tags) != 2 ||
		*listed.InstanceProfiles[0].Roles[0].Arn != role {
		t.Errorf("got %+v, %v", listed, err)
	}
	_, err = client.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name})
	wantCode(t, err, "DeleteConflict")
	if _, err := client.RemoveRoleFromInstanceProfile(t.Context(),
		&iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: aws.String("nodes")}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.DeleteInstanceProfile(t.Context(),
		&iam.DeleteInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Fatal(err)
	}
	_, err = client.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: name})
	var missing *iamtypes.NoSuchEntityException
	if !errors.As(err, &missing) {
		t.Errorf("got %v, want NoSuchEntity", err)
	}
}

func TestRolesActWithinTheirPolicies(t *testing.T) {
	l := start(t)
	nodes := l.role(t, "nodes", "")
	worker := l.role(t, "worker",
		`{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"arn:aws:sqs:us-east-1:123456789012:provision"},
		{"Effect":"Allow","Action":["iam:CreateInstanceProfile"],
		  "Resource":"arn:aws:iam::123456789012:instance-profile/*",
		    "Condition":{"StringEquals":{"aws:RequestTag/cluster":"prod"}}},
		{"Effect":"Allow","Action":["iam:AddRoleToInstanceProfile"],"Resource":"*",
		  "Condition":{"StringEquals":{"aws:ResourceTag/cluster":"prod"}}}`)
	queues := sqs.NewFromConfig(l.session(t, worker))
	send := func(queue string) error {
		_, err := queues.SendMessage(t.Context(),
			&sqs.SendMessageInput{QueueUrl: aws.String(l.server.URL() + "/123456789012/" + queue), MessageBody: aws.String("x")},
			noChecksum)
		return err
	}
	if err := send("provision"); err != nil {
		t.Errorf("an allowed message was refused: %v", err)
	}
	err := send("lifecycle")
	wantCode(t, err, "AccessDeniedException")
	if err == nil || !strings.Contains(err.Error(),
		"assumed-role/worker/invocation is not authorized to perform: sqs:SendMessage on resource: "+
			"arn:aws:sqs:us-east-1:123456789012:lifecycle") {
		t.Errorf("the refusal does not say who, what and on what: %v", err)
	}
	profiles := iam.NewFromConfig(l.session(t, worker))
	create := func(name, cluster string) error {
		_, err := profiles.CreateInstanceProfile(t.Context(),
			&iam.CreateInstanceProfileInput{
				InstanceProfileName: &name, Tags: []iamtypes.Tag{{Key: aws.String("cluster"), Value: &cluster}},
			})
		return err
	}
	wantCode(t, create("other", "test"), "AccessDenied")
	if err := create("mine", "prod"); err != nil {
		t.Fatal(err)
	}
	add := func() error {
		_, err := profiles.AddRoleToInstanceProfile(t.Context(),
			&iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("mine"), RoleName: aws.String("nodes")})
		return err
	}
	if err := add(); err == nil || !strings.Contains(err.Error(), "iam:PassRole on resource: "+nodes) {
		t.Errorf("got %v, want a refusal of iam:PassRole", err)
	}
	operator := iam.NewFromConfig(l.config(l.service.Operator()))
	_, err = operator.PutRolePolicy(t.Context(),
		&iam.PutRolePolicyInput{RoleName: aws.String("worker"), PolicyName: aws.String("pass"), PolicyDocument: aws.String(
			`{"Statement":{"Effect":"Allow","Action":"iam:PassRole","Resource":"` + nodes +
				`","Condition":{"StringEquals":{"iam:PassedToService":"ec2.amazonaws.com"}}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Errorf("an allowed role was refused: %v", err)
	}
}

// noChecksum leaves out the check of the message's digest, which the stand-in for SQS does not
// compute.
func noChecksum(o *sqs.Options) { o.DisableMessageChecksumValidation = true }

func TestVerifyPresigned(t *testing.T) {
	l := start(t)
	role := l.role(t, "worker", "")
	presign := func(cluster string) (string, http.Header) {
		client := sts.NewPresignClient(sts.New(sts.Options{Region: "us-east-1", Credentials: l.session(t, role).Credentials}))
		out, err := client.PresignGetCallerIdentity(t.Context(), nil, func(o *sts.PresignOptions) {
			o.ClientOptions = append(o.ClientOptions, func(o *sts.Options) {
				o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("x-k8s-aws-id", cluster),
					smithyhttp.SetHeaderValue("X-Amz-Expires", "60"))
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.URL, http.Header{"X-K8s-Aws-Id": {cluster}}
	}
	address, headers := presign("prod")
	caller, err := l.service.VerifyPresigned(address, headers)
	if err != nil || caller.RoleARN != role || caller.ARN != "arn:aws:sts::123456789012:assumed-role/worker/invocation" {
		t.Errorf("got %+v, %v", caller, err)
	}
	for name, change := range map[string]func(string, http.Header) (string, http.Header){
		"another cluster": func(u string, _ http.Header) (string, http.Header) {
			return u, http.Header{"X-K8s-Aws-Id": {"test"}}
		},
		"no cluster": func(u string, _ http.Header) (string, http.Header) { return u, nil },
		"another action": func(u string, h http.Header) (string, http.Header) {
			return strings.Replace(u, "GetCallerIdentity", "AssumeRole", 1), h
		},
		"another host": func(u string, h http.Header) (string, http.Header) {
			return strings.Replace(u, "us-east-1.", "us-west-2.", 1), h
		},
		"another key": func(u string, h http.Header) (string, http.Header) {
			return strings.Replace(u, "ASIA", "AKIA", 1), h
		},
		"not signed at all": func(_ string, h http.Header) (string, http.Header) {
			return "https://sts.amazonaws.com/?Action=GetCallerIdentity", h
		},
		"no URL": func(_ string, h http.Header) (string, http.Header) { return "://", h },
	} {
		t.Run(name, func(t *testing.T) {
			if caller, err := l.service.VerifyPresigned(change(address, headers)); err == nil {
				t.Errorf("accepted as %+v", caller)
			}
		})
	}
}
