package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/s3"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const bucket = "cdk-hnb659fds-assets-123456789012-us-east-1"

// things is a resource type whose resources fail where a property says so.
type things struct{}

func (things) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["Fail"] == true {
		return cloudformation.Result{}, errors.New("no capacity")
	}
	return cloudformation.Result{PhysicalID: r.GeneratedName}, nil
}

func (t things) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	made, err := t.Create(ctx, r)
	made.PhysicalID = r.PhysicalID
	return made, err
}

func (things) Delete(context.Context, cloudformation.Request) error { return nil }

// output is written and read by two goroutines.
type output struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(p)
}

// taken returns what was written since the last call.
func (o *output) taken() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	text := o.text.String()
	o.text.Reset()
	return text
}

// local returns a Deployer of a local account, and a client of its CloudFormation.
func local(t *testing.T) (*Deployer, *output, *sdk.Client) {
	t.Helper()
	server := wire.NewServer()
	who, err := identity.New("123456789012", "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	objects, err := s3.New(t.TempDir(), bucket)
	if err != nil {
		t.Fatal(err)
	}
	stacks := cloudformation.New(cloudformation.Config{
		AccountID: "123456789012", Region: "us-east-1", Templates: objects, BaseURL: server.URL,
	})
	stacks.RegisterType("Test::Thing", things{})
	who.Register(server)
	stacks.Register(server)
	objects.Register(server)
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(stacks.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	operator := who.Operator()
	config := aws.Config{
		Region: "us-east-1", BaseEndpoint: &url,
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	}
	seconds := 0
	clock := func() time.Time {
		seconds++
		return time.Unix(int64(seconds), 0)
	}
	out := &output{}
	d := New(config, clock, out)
	d.pause = time.Millisecond
	return d, out, d.stacks
}

// apply uploads a template and applies it.
func apply(t *testing.T, d *Deployer, protected bool, things ...string) error {
	t.Helper()
	text := `{"Resources":{` + strings.Join(things, ",") + `},"Outputs":{"Name":{"Description":"its name","Value":"first"}}}`
	if err := d.Upload(t.Context(), bucket, "a/b.json", strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return d.Apply(t.Context(), Stack{Name: "S", TemplateURL: d.Address(bucket, "a/b.json"), Protected: protected})
}

func thing(id, properties string) string {
	return fmt.Sprintf(`"%s":{"Type":"Test::Thing","Properties":{%s}}`, id, properties)
}

// lacks reports the first of some parts that a text lacks.
func lacks(text string, parts ...string) string {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return part
		}
	}
	return ""
}

// TestApply creates a stack with more events than one answer has, updates it, and changes nothing.
func TestApply(t *testing.T) {
	d, out, stacks := local(t)
	protected := func() bool {
		found, err := stacks.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: aws.String("S")})
		if err != nil {
			t.Fatal(err)
		}
		return *found.Stacks[0].EnableTerminationProtection
	}
	var all []string
	for i := range 70 {
		all = append(all, thing(fmt.Sprintf("T%02d", i), ""))
	}
	if err := apply(t, d, true, all...); err != nil {
		t.Fatal(err)
	}
	text := out.taken()
	if part := lacks(text, "Add     Test::Thing T00\n", "CREATE_COMPLETE Test::Thing T69\n",
		"CREATE_COMPLETE AWS::CloudFormation::Stack S\nfirst (its name)\n"); part != "" {
		t.Errorf("the output lacks %q:\n%s", part, text)
	}
	if count := strings.Count(text, "CREATE_COMPLETE Test::Thing"); count != 70 {
		t.Errorf("%d of 70 resources are printed", count)
	}
	if !protected() {
		t.Error("the stack is not protected")
	}

	all[0] = thing("T00", `"Size": 2`)
	if err := apply(t, d, false, all...); err != nil {
		t.Fatal(err)
	}
	text = out.taken()
	if part := lacks(text, "Modify  Test::Thing T00\n", "UPDATE_COMPLETE AWS::CloudFormation::Stack S\n"); part != "" ||
		strings.Contains(text, "T01") || strings.Contains(text, "CREATE_COMPLETE") {
		t.Errorf("the output lacks %q, or has too much:\n%s", part, text)
	}
	if protected() {
		t.Error("the stack is still protected")
	}

	if err := apply(t, d, true, all...); err != nil {
		t.Fatal(err)
	}
	if text := out.taken(); lacks(text, "S is as the template says: nothing changes\nfirst") != "" || !protected() {
		t.Errorf("a repetition prints\n%s", text)
	}
}

// TestApplyNamesTheFailure lets a creation and an update fail.
func TestApplyNamesTheFailure(t *testing.T) {
	d, _, stacks := local(t)
	err := apply(t, d, true, thing("Good", ""), thing("Bad", `"Fail": true`))
	if err == nil || lacks(err.Error(), "the stack S is ROLLBACK_COMPLETE: Bad: no capacity") != "" {
		t.Errorf("a failed creation: %v", err)
	}
	err = apply(t, d, true, thing("Good", ""))
	if err == nil || lacks(err.Error(), "ROLLBACK_COMPLETE", "aws cloudformation delete-stack --stack-name S") != "" {
		t.Errorf("after a failed creation: %v", err)
	}
	if _, err := stacks.DeleteStack(t.Context(), &sdk.DeleteStackInput{StackName: aws.String("S")}); err != nil {
		t.Fatal(err)
	}
	// The answer comes when the stack is gone.
	_, _ = stacks.DescribeStacks(t.Context(), &sdk.DescribeStacksInput{StackName: aws.String("S")})
	if err := apply(t, d, true, thing("Good", "")); err != nil {
		t.Fatal(err)
	}
	err = apply(t, d, true, thing("Good", `"Fail": true`))
	if err == nil || lacks(err.Error(), "the stack S is UPDATE_ROLLBACK_COMPLETE: Good: no capacity") != "" {
		t.Errorf("a failed update: %v", err)
	}
	if err := apply(t, d, true, thing("Good", `"Size": 3`)); err != nil {
		t.Errorf("after a failed update: %v", err)
	}
}

// TestUploadNamesTheBucket checks the remedy for a bucket of nobody.
func TestUploadNamesTheBucket(t *testing.T) {
	d, _, _ := local(t)
	err := d.Upload(t.Context(), "nobodys", "a", strings.NewReader("x"))
	if err == nil || lacks(err.Error(), "s3://nobodys/a", "us-east-1", "s3:PutObject") != "" {
		t.Errorf("%v", err)
	}
	d.region = "cn-north-1"
	if got := d.Address("b", "k/x.json"); got != "https://s3.cn-north-1.amazonaws.com.cn/b/k/x.json" {
		t.Errorf("the address is %s", got)
	}
}
