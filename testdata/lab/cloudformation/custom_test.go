package cloudformation_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// function runs a custom resource's handler as a Lambda function would: with aws-lambda-go's own
// wrapper, which puts the answer to the ResponseURL.
type function struct {
	handle cfn.CustomResourceFunction
	// silent functions fail without an answer.
	silent error

	mu     sync.Mutex
	events []cfn.Event
}

func (f *function) InvokeAsync(ctx context.Context, arn string, payload []byte) error {
	var event cfn.Event
	if err := json.Unmarshal(payload, &event); err != nil {
		return err
	}
	if arn != "arn:aws:lambda:us-east-1:123456789012:function:install" {
		return errors.New("there is no function " + arn)
	}
	f.mu.Lock()
	f.events = append(f.events, event)
	f.mu.Unlock()
	if f.handle == nil {
		return f.silent
	}
	_, err := cfn.LambdaWrap(f.handle)(ctx, event)
	return err
}

func (f *function) last() cfn.Event {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[len(f.events)-1]
}

func custom(hash string, rest string) string {
	return `{"Resources":{"Install":{"Type":"Custom::WhittleInstall",` +
		`"Properties":{"ServiceToken":"arn:aws:lambda:us-east-1:123456789012:function:install","ManifestHash":"` + hash +
		`","Count":3,"On":true` + rest + `}},
	"After":{"Type":"Test::Thing","Properties":{"Name":"after","Of":{"Ref":"Install"},
	  "Version":{"Fn::GetAtt":["Install","Version"]}}}}}`
}

func TestCustomResourceRoundTrip(t *testing.T) {
	f := &function{handle: func(_ context.Context, e cfn.Event) (string, map[string]any, error) {
		return "installed", map[string]any{"Version": e.ResourceProperties["ManifestHash"]}, nil
	}}
	l := start(t, f)
	st := l.create(t, custom("one", ""))
	wantStatus(t, st, types.StackStatusCreateComplete)
	created := f.last()
	if created.RequestType != cfn.RequestCreate || created.LogicalResourceID != "Install" ||
		created.ResourceType != "Custom::WhittleInstall" || created.StackID != *st.StackId ||
		created.PhysicalResourceID != "" || created.ResourceProperties["Count"] != "3" ||
		created.ResourceProperties["On"] != "true" || created.RequestID == "" {
		t.Errorf("got event %+v", created)
	}
	if after := l.things.get("after"); after["Of"] != "installed" || after["Version"] != "one" {
		t.Errorf("what comes after it got %v", after)
	}
	wantStatus(t, l.update(t, custom("two", "")), types.StackStatusUpdateComplete)
	updated := f.last()
	if updated.RequestType != cfn.RequestUpdate || updated.PhysicalResourceID != "installed" ||
		updated.OldResourceProperties["ManifestHash"] != "one" || updated.ResourceProperties["ManifestHash"] != "two" {
		t.Errorf("got event %+v", updated)
	}
	if after := l.things.get("after"); after["Version"] != "two" {
		t.Errorf("what comes after it got %v", after)
	}
	l.delete(t)
	if deleted := f.last(); deleted.RequestType != cfn.RequestDelete || deleted.PhysicalResourceID != "installed" {
		t.Errorf("got event %+v", deleted)
	}
}

func TestCustomResourceThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		f    *function
		rest string
		want string
	}{
		"with a reason": {&function{handle: func(_ context.Context, e cfn.Event) (string, map[string]any, error) {
			if e.RequestType == cfn.RequestDelete {
				return e.PhysicalResourceID, nil, nil
			}
			return "half", nil, errors.New("the cluster does not answer")
		}}, "", "Message returned: the cluster does not answer"},
		"without an answer": {
			&function{silent: errors.New("exit status 2")}, "", "failed without an answer to its ResponseURL: exit status 2",
		},
		"by silence": {
			&function{}, `,"ServiceTimeout":"1"`, "did not receive a response from your custom resource within 1s",
		},
		"with a timeout too long": {&function{}, `,"ServiceTimeout":3601`, "ServiceTimeout takes 1 to 3600 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, test.f)
			wantStatus(t, l.create(t, custom("one", test.rest)), types.StackStatusRollbackComplete)
			if reasons := l.reasons(t); !strings.Contains(reasons, "Install CREATE_FAILED: ") ||
				!strings.Contains(reasons, test.want) {
				t.Errorf("the events are\n%s\nwant %q", reasons, test.want)
			}
			if len(l.things.names()) != 0 {
				t.Errorf("what is left is %v", l.things.names())
			}
			if name == "with a reason" &&
				(test.f.last().RequestType != cfn.RequestDelete || test.f.last().PhysicalResourceID != "half") {
				t.Errorf("what was half made is not deleted: %+v", test.f.last())
			}
		})
	}
}

func TestCustomResourceWithoutFunctions(t *testing.T) {
	l := start(t, nil)
	wantStatus(t, l.create(t, custom("one", "")), types.StackStatusRollbackComplete)
	if reasons := l.reasons(t); !strings.Contains(reasons, "custom resources need functions") {
		t.Errorf("the events are\n%s", reasons)
	}
}

func TestAnswersToUnknownRequestsAreRefused(t *testing.T) {
	l := start(t, nil)
	for method, want := range map[string]int{
		http.MethodPut: http.StatusNotFound, http.MethodGet: http.StatusMethodNotAllowed,
	} {
		request, err := http.NewRequestWithContext(t.Context(), method, l.url+"/custom-resource/none",
			strings.NewReader(`{"Status":"SUCCESS"}`))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s gave %d, want %d", method, response.StatusCode, want)
		}
	}
}

func TestCloseEndsOperationsUnderWay(t *testing.T) {
	l := start(t, &function{})
	if _, err := l.client.CreateStack(t.Context(),
		&sdk.CreateStackInput{StackName: aws.String("S"), TemplateBody: aws.String(custom("one", ""))}); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- l.service.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close waits for a custom resource that never answers")
	}
}
