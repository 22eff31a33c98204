package cloudformation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/s3"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// things is a resource type that records its resources and calls, and fails where a property asks
// for it.
type things struct {
	mu   sync.Mutex
	held map[string]map[string]any
	log  []string
}

func (x *things) note(format string, args ...any) {
	x.log = append(x.log, fmt.Sprintf(format, args...))
}

func (x *things) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Properties["Fail"] == "create" {
		return cloudformation.Result{}, errors.New("no capacity")
	}
	name, _ := r.Properties["Name"].(string)
	if name == "" {
		name = r.GeneratedName
	}
	x.note("create %s", r.LogicalID)
	x.held[name] = r.Properties
	return cloudformation.Result{
		PhysicalID: name, Attributes: map[string]any{"Arn": "arn:thing/" + name, "Endpoint.Port": 80},
	}, nil
}

func (x *things) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["Fail"] == "update" {
		return cloudformation.Result{}, errors.New("cannot change")
	}
	if r.Properties["Name"] != r.OldProperties["Name"] {
		return x.Create(ctx, r)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.note("update %s", r.LogicalID)
	x.held[r.PhysicalID] = r.Properties
	return cloudformation.Result{
		PhysicalID: r.PhysicalID, Attributes: map[string]any{"Arn": "arn:thing/" + r.PhysicalID, "Endpoint.Port": 80},
	}, nil
}

func (x *things) Delete(_ context.Context, r cloudformation.Request) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r.Properties["Fail"] == "delete" {
		return errors.New("still in use")
	}
	x.note("delete %s", r.LogicalID)
	delete(x.held, r.PhysicalID)
	return nil
}

// did returns the calls since its last call.
func (x *things) did() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	done := strings.Join(x.log, ", ")
	x.log = nil
	return done
}

func (x *things) get(name string) map[string]any {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.held[name]
}

func (x *things) names() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var names []string
	for name := range x.held {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// local is a CloudFormation behind its wire protocol, with everything that stacks of the tests use.
type local struct {
	client   *sdk.Client
	service  *cloudformation.Service
	things   *things
	objects  *s3.Service
	operator identity.Credentials
	url      string
}

func start(t *testing.T, functions cloudformation.Invoker) *local {
	t.Helper()
	server := wire.NewServer()
	who, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := s3.New(t.TempDir(), s3.BootstrapBucket("hnb659fds", "123456789012", "us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	l := &local{
		things: &things{held: map[string]map[string]any{}}, objects: objects, operator: who.Operator(),
	}
	l.service = cloudformation.New(cloudformation.Config{
		AccountID: "123456789012", Region: "us-east-1", Templates: objects, Functions: functions, BaseURL: server.URL,
	})
	who.Register(server)
	l.service.Register(server)
	who.RegisterTypes(l.service)
	l.service.RegisterType("Test::Thing", l.things)
	if l.url, err = server.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(l.service.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	l.client = sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(l.url),
		Credentials: credentials.NewStaticCredentialsProvider(l.operator.AccessKeyID, l.operator.SecretAccessKey, ""),
	})
	return l
}

// create makes the stack "S" and gives it as it is when it has settled.
func (l *local) create(t *testing.T, template string) types.Stack {
	t.Helper()
	_, err := l.client.CreateStack(t.Context(), &sdk.CreateStackInput{
		StackName: aws.String("S"), TemplateBody: &template, Parameters: []types.Parameter{},
		Capabilities: []types.Capability{types.CapabilityCapabilityIam},
		Tags:         []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l.settled(t)
}

func (l *local) update(t *testing.T, template string) types.Stack {
	t.Helper()
	_, err := l.client.UpdateStack(t.Context(), &sdk.UpdateStackInput{
		StackName: aws.String("S"), TemplateBody: &template,
		Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
	if err != nil {
		t.Fatal(err)
	}
	return l.settled(t)
}

// settled asks once: DescribeStacks holds its answer until the operation is through.
func (l *local) settled(t *testing.T) types.Stack {
	t.Helper()
	out, err := l.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: aws.String("S")})
	if err != nil {
		t.Fatal(err)
	}
	return out.Stacks[0]
}

func (l *local) delete(t *testing.T) {
	t.Helper()
	before := l.settled(t)
	if _, err := l.client.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: aws.String("S")}); err != nil {
		t.Fatal(err)
	}
	out, err := l.client.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: before.StackId})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, out.Stacks[0], types.StackStatusDeleteComplete)
}

// reasons returns "LogicalId STATUS: reason" of the stack's events that have a reason, oldest
// first.
func (l *local) reasons(t *testing.T) string {
	t.Helper()
	out, err := l.client.DescribeStackEvents(t.Context(), &sdk.DescribeStackEventsInput{StackName: aws.String("S")})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range slices.Backward(out.StackEvents) {
		if e.ResourceStatusReason != nil {
			lines = append(lines, fmt.Sprintf("%s %s: %s", *e.LogicalResourceId, e.ResourceStatus, *e.ResourceStatusReason))
		}
	}
	return strings.Join(lines, "\n")
}

func wantStatus(t *testing.T, got types.Stack, want types.StackStatus) {
	t.Helper()
	if got.StackStatus != want {
		t.Fatalf("the stack is in %s (%s), want %s", got.StackStatus, aws.ToString(got.StackStatusReason), want)
	}
}

func wantError(t *testing.T, err error, code, text string) {
	t.Helper()
	var answer smithy.APIError
	if !errors.As(err, &answer) || answer.ErrorCode() != code || !strings.Contains(answer.ErrorMessage(), text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}

// thing writes a template's resource.
func thing(id string, properties map[string]any, rest ...string) string {
	text, err := json.Marshal(properties)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`"%s":{"Type":"Test::Thing","Properties":%s%s}`, id, text, strings.Join(rest, ""))
}

func resources(list ...string) string { return `{"Resources":{` + strings.Join(list, ",") + `}}` }
