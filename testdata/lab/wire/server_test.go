package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// started returns a listening server with a handler for each protocol.
func started(t *testing.T, handler Handler, services ...string) *Server {
	t.Helper()
	server := NewServer()
	for _, service := range services {
		server.Register(service, handler)
	}
	if _, err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// answer is a response that has been read.
type answer struct {
	status int
	header http.Header
	body   string
}

// send signs and sends a request.
func send(t *testing.T, server *Server, service, method, path, body string, headers map[string]string) answer {
	t.Helper()
	request := signed(t, service, method, server.URL()+path, body, time.Now())
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

const formType = "application/x-www-form-urlencoded; charset=utf-8"

func TestErrorsInTheFormOfEachProtocol(t *testing.T) {
	fail := HandlerFunc(func(context.Context, *Call) (*Response, error) {
		return nil, &Error{Code: "Some.Code", Message: "a <b> & c", Status: 409, QueryCode: "AWS.Old"}
	})
	server := started(t, fail, "ec2", "iam", "sqs", "lambda", "s3")
	tests := []struct {
		name, service, method, path, body string
		headers                           map[string]string
		want                              []string
		wantHeaders                       map[string]string
	}{
		{"EC2", "ec2", "POST", "/", "Action=DescribeInstances", map[string]string{"Content-Type": formType},
			[]string{
				"<Response><Errors><Error><Code>Some.Code</Code><Message>a &lt;b&gt; &amp; c</Message></Error></Errors><RequestID>",
			}, map[string]string{"Content-Type": "text/xml;charset=UTF-8"}},
		{"query", "iam", "POST", "/", "Action=GetRole", map[string]string{"Content-Type": formType},
			[]string{"<ErrorResponse><Error><Type>Sender</Type><Code>Some.Code</Code><Message>a &lt;b&gt;"}, nil},
		{"JSON with a target", "sqs", "POST", "/", "{}",
			map[string]string{"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"},
			[]string{`"__type":"Some.Code"`, `"message":"a \u003cb\u003e \u0026 c"`},
			map[string]string{
				"Content-Type": "application/x-amz-json-1.0", "X-Amzn-Query-Error": "AWS.Old;Sender",
				"X-Amzn-ErrorType": "Some.Code",
			}},
		{"REST JSON", "lambda", "GET", "/2015-03-31/functions/x", "", nil,
			[]string{
				`"message":"a`,
			}, map[string]string{"Content-Type": "application/json", "X-Amzn-ErrorType": "Some.Code", "X-Amzn-Query-Error": ""}},
		{
			"REST XML", "s3", "GET", "/bucket/key", "", nil,
			[]string{"<Error><Code>Some.Code</Code><Message>", "<Resource>/bucket/key</Resource>"}, nil,
		},
		{"REST XML without a body", "s3", "HEAD", "/bucket/key", "", nil, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			response := send(t, server, test.service, test.method, test.path, test.body, test.headers)
			if response.status != http.StatusConflict || response.header.Get("Server") != serverName ||
				response.header.Get("X-Amzn-Requestid") == "" {
				t.Errorf("got status %d, headers %v", response.status, response.header)
			}
			for _, want := range test.want {
				if !strings.Contains(response.body, want) {
					t.Errorf("the body lacks %q:\n%s", want, response.body)
				}
			}
			for name, want := range test.wantHeaders {
				if got := response.header.Get(name); got != want {
					t.Errorf("header %s is %q, want %q", name, got, want)
				}
			}
			if test.method == "HEAD" && response.body != "" {
				t.Errorf("an answer to HEAD has the body %q", response.body)
			}
		})
	}
}

func TestUnknownServiceAndActionListTheKnown(t *testing.T) {
	server := started(t, Actions{"DescribeInstances": nil, "CreateFleet": nil}, "ec2")
	response := send(t, server, "ec2", "POST", "/", "Action=CreateVpc", map[string]string{"Content-Type": formType})
	if !strings.Contains(response.body, "<Code>InvalidAction</Code>") ||
		!strings.Contains(response.body, "ec2 CreateVpc; it knows CreateFleet, DescribeInstances") {
		t.Errorf("got %s", response.body)
	}
	response = send(t, server, "dynamodb", "POST", "/", "{}",
		map[string]string{"X-Amz-Target": "DynamoDB_20120810.GetItem"})
	if response.status != http.StatusNotFound || !strings.Contains(response.body, "UnknownOperationException") ||
		!strings.Contains(response.body, "it simulates ec2") {
		t.Errorf("got %d %s", response.status, response.body)
	}
}

func TestCallCarriesActionFormAndBody(t *testing.T) {
	var mu sync.Mutex
	var got *Call
	server := started(t, HandlerFunc(func(_ context.Context, c *Call) (*Response, error) {
		mu.Lock()
		defer mu.Unlock()
		got = c
		return JSON(map[string]string{"a": "b"})
	}), "ec2", "events", "eks", "s3")
	tests := []struct {
		name, service, method, path, body string
		headers                           map[string]string
		action, wantBody                  string
	}{
		{
			"query in the body", "ec2", "POST", "/", "Action=CreateTags&Tag.1.Key=k",
			map[string]string{"Content-Type": formType}, "CreateTags", "Action=CreateTags&Tag.1.Key=k",
		},
		{"query in the URL", "ec2", "GET", "/?Action=CreateTags", "", nil, "CreateTags", ""},
		{
			"target", "events", "POST", "/", `{"Name":"r"}`, map[string]string{"X-Amz-Target": "AWSEvents.PutRule"}, "PutRule",
			`{"Name":"r"}`,
		},
		{"REST", "eks", "GET", "/clusters/prod", "", nil, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			response := send(t, server, test.service, test.method, test.path, test.body, test.headers)
			mu.Lock()
			defer mu.Unlock()
			if response.status != http.StatusOK || response.body != `{"a":"b"}` {
				t.Errorf("got %d %s", response.status, response.body)
			}
			if got.Action != test.action || string(got.Body) != test.wantBody || got.Region != "us-east-1" ||
				got.RequestID == "" {
				t.Errorf("got action %q, body %q, region %q", got.Action, got.Body, got.Region)
			}
		})
	}
}

func TestStepsBeforeTheHandler(t *testing.T) {
	served := 0
	server := started(t, HandlerFunc(func(context.Context, *Call) (*Response, error) {
		served++
		return JSON(nil)
	}), "sqs")
	var records []CallRecord
	var mu sync.Mutex
	server.Observe(func(r CallRecord) {
		mu.Lock()
		defer mu.Unlock()
		records = append(records, r)
	})
	known, permitted := false, false
	server.Identify(func(accessKeyID, token string) (Caller, error) {
		if !known || token != "token" {
			return Caller{}, Errorf("InvalidClientTokenId", 403, "key %s is unknown", accessKeyID)
		}
		return Caller{ARN: "arn:me", RoleARN: "arn:role", AccessKeyID: accessKeyID}, nil
	})
	server.VerifySignatures(func(string) (string, bool) { return testSecret, true })
	server.Authorize(func(_ context.Context, c *Call) error {
		c.Permission = "sqs:SendMessage"
		if !permitted {
			return Errorf("AccessDenied", 403, "%s may not", c.Caller.ARN)
		}
		return nil
	})
	call := func(body string) string {
		request := signed(t, "sqs", "POST", server.URL(), "{}", time.Now())
		request.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
		request.Body = io.NopCloser(strings.NewReader(body))
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(response.Body)
		return string(text)
	}
	for _, step := range []struct {
		known, permitted bool
		body, want       string
	}{
		{false, false, "{}", "InvalidClientTokenId"}, {true, false, "[]", "SignatureDoesNotMatch"},
		{true, false, "{}", "AccessDenied"}, {true, true, "{}", "null"},
	} {
		known, permitted = step.known, step.permitted
		if got := call(step.body); !strings.Contains(got, step.want) {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	if served != 1 {
		t.Errorf("the handler was reached %d times, want once", served)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(records) != 4 {
		t.Fatalf("got %d records, want 4", len(records))
	}
	if r := records[2]; r.ErrorCode != "AccessDenied" || r.Status != 403 || r.Service != "sqs" ||
		r.Action != "SendMessage" || r.RoleARN != "arn:role" || r.Permission != "sqs:SendMessage" {
		t.Errorf("got record %+v", r)
	}
	if r := records[3]; r.ErrorCode != "" || r.Status != 200 || r.CallerARN != "arn:me" {
		t.Errorf("got record %+v", r)
	}
}

func TestUnexpectedFailuresAreAnswers(t *testing.T) {
	for name, handler := range map[string]Handler{
		"an error":  HandlerFunc(func(context.Context, *Call) (*Response, error) { return nil, errors.New("disk full") }),
		"a panic":   HandlerFunc(func(context.Context, *Call) (*Response, error) { panic("disk full") }),
		"no answer": HandlerFunc(func(context.Context, *Call) (*Response, error) { return nil, nil }),
	} {
		t.Run(name, func(t *testing.T) {
			server := started(t, handler, "sqs")
			response := send(t, server, "sqs", "POST", "/", "{}", map[string]string{"X-Amz-Target": "AmazonSQS.SendMessage"})
			if response.status != http.StatusInternalServerError || !strings.Contains(response.body, "InternalFailure") {
				t.Errorf("got %d %s", response.status, response.body)
			}
		})
	}
}

func TestUnsignedRequests(t *testing.T) {
	server := started(t, Actions{}, "sqs")
	for _, prefix := range []string{"/local/", "/local/deeper/"} {
		server.Mount(prefix, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, prefix)
		}))
	}
	for path, want := range map[string]string{
		"/local/x": "/local/", "/local/deeper/x": "/local/deeper/", "/other": "MissingAuthenticationToken",
	} {
		response, err := http.Get(server.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("%s gave %s, want %s", path, body, want)
		}
	}
}

func TestDescriberNamesRESTActions(t *testing.T) {
	server := started(t, describing{}, "eks")
	var record CallRecord
	server.Observe(func(r CallRecord) { record = r })
	server.Authorize(func(_ context.Context, c *Call) error {
		if c.Action != "DescribeCluster" {
			return Errorf("AccessDenied", 403, "the action is %q", c.Action)
		}
		return nil
	})
	if response := send(t, server, "eks", "GET", "/clusters/prod", "", nil); response.status != http.StatusOK {
		t.Errorf("got %s", response.body)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if record.Action != "DescribeCluster" {
		t.Errorf("got record %+v", record)
	}
}

type describing struct{}

func (describing) Describe(*Call) string                           { return "DescribeCluster" }
func (describing) Serve(context.Context, *Call) (*Response, error) { return JSON(struct{}{}) }

func TestListenTwiceAndCloseTwice(t *testing.T) {
	server := NewServer()
	if err := server.Close(); err != nil {
		t.Errorf("closing a server that never listened: %v", err)
	}
	if _, err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Listen(); err == nil {
		t.Error("listening twice was accepted")
	}
	for range 2 {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestACallTakesItsTime holds that an answer comes no earlier than its service would give it.
func TestACallTakesItsTime(t *testing.T) {
	const takes = 30 * time.Millisecond
	server := started(t, HandlerFunc(func(context.Context, *Call) (*Response, error) {
		return &Response{Body: []byte("four")}, nil
	}), "ec2")
	asked := ""
	server.Delay(func(call *Call, bytes int) time.Duration {
		asked = fmt.Sprint(call.Service, " ", call.Action, " ", bytes)
		return takes
	})
	began := time.Now()
	got := send(t, server, "ec2", "GET", "/?Action=DescribeVpcs", "", nil)
	if took := time.Since(began); got.body != "four" || asked != "ec2 DescribeVpcs 4" || took < takes {
		t.Errorf("%q after %s, asked for the time of %q", got.body, took, asked)
	}
}
