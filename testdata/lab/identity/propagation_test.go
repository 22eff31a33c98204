package identity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/whittle-dev/whittle/testdata/lab/identity"
)

const mayReceive = `{"Effect":"Allow","Action":"sqs:ReceiveMessage","Resource":"*"}`

func TestChangesOfPoliciesHoldLater(t *testing.T) {
	l, now := start(t), time.Unix(1_000_000, 0)
	l.service.SetPropagation(identity.Propagation{
		Seed: 1, Least: 5 * time.Second, Most: 20 * time.Second, Now: func() time.Time { return now },
	})
	worker := l.role(t, "worker", mayReceive)
	client := sqs.NewFromConfig(l.session(t, worker))
	receive := func() error {
		_, err := client.ReceiveMessage(t.Context(),
			&sqs.ReceiveMessageInput{QueueUrl: aws.String("http://local/123456789012/q")})
		return err
	}
	now = now.Add(4 * time.Second)
	if err := receive(); err == nil || !strings.Contains(err.Error(), identity.NotInForce) {
		t.Errorf("4 s later: %v", err)
	}
	if allowed, why := l.service.Allowed(worker, "sqs:ReceiveMessage", "*", nil); !allowed {
		t.Errorf("a service that checks the new role refuses it: %s", why)
	}
	now = now.Add(16 * time.Second)
	if err := receive(); err != nil {
		t.Errorf("20 s later: %v", err)
	}
	operator := iam.NewFromConfig(l.config(l.service.Operator()))
	if _, err := operator.DeleteRolePolicy(t.Context(),
		&iam.DeleteRolePolicyInput{RoleName: aws.String("worker"), PolicyName: aws.String("rights")}); err != nil {
		t.Fatal(err)
	}
	if err := receive(); err != nil {
		t.Errorf("a right that was just taken away does not hold any more: %v", err)
	}
	now = now.Add(20 * time.Second)
	wantCode(t, receive(), "AccessDeniedException")
}

func TestEC2KnowsANewProfileLater(t *testing.T) {
	l, now := start(t), time.Unix(1_000_000, 0)
	l.service.SetPropagation(identity.Propagation{
		Seed: 1, Least: 5 * time.Second, Most: 20 * time.Second, Now: func() time.Time { return now },
	})
	role := l.role(t, "nodes", "")
	operator, name := iam.NewFromConfig(l.config(l.service.Operator())), aws.String("nodes")
	if _, err := operator.CreateInstanceProfile(t.Context(),
		&iam.CreateInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.AddRoleToInstanceProfile(t.Context(),
		&iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name}); err != nil {
		t.Fatal(err)
	}
	if shown, err := operator.GetInstanceProfile(t.Context(),
		&iam.GetInstanceProfileInput{InstanceProfileName: name}); err != nil || len(shown.InstanceProfile.Roles) != 1 {
		t.Errorf("IAM shows %+v, %v", shown, err)
	}
	if _, found := l.service.RoleOfInstanceProfile("nodes"); found {
		t.Error("EC2 knows the profile at once")
	}
	now = now.Add(20 * time.Second)
	if got, found := l.service.RoleOfInstanceProfile("nodes"); !found || got != role {
		t.Errorf("20 s later the profile has the role %q", got)
	}
}
