package lambda

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/identity"
	"github.com/whittle-dev/whittle/testdata/lab/logs"
	"github.com/whittle-dev/whittle/testdata/lab/sqs"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

const (
	testAccount = "123456789012"
	testRegion  = "us-east-1"
)

// archive is the code archive of testbootstrap, built once for all tests of the process.
var archive = sync.OnceValues(func() ([]byte, error) {
	directory, err := os.MkdirTemp("", "whittle-bootstrap-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	target := filepath.Join(directory, "bootstrap")
	build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", target, "./testbootstrap")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the bootstrap: %w\n%s", err, output)
	}
	content, err := os.ReadFile(target)
	if err != nil {
		return nil, err
	}
	return zipped(map[string]string{"bootstrap": string(content)})
})

func zipped(files map[string]string) ([]byte, error) {
	var out bytes.Buffer
	writer := zip.NewWriter(&out)
	for name, content := range files {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o755)
		file, err := writer.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write([]byte(content)); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// bucket is a store of objects by bucket/key.
type bucket map[string][]byte

func (b bucket) Object(bucket, key string) ([]byte, error) {
	if object, ok := b[bucket+"/"+key]; ok {
		return object, nil
	}
	return nil, errors.New("no such key")
}

// world is a Lambda with queues, logs and a server.
type world struct {
	t       *testing.T
	service *Service
	queues  *sqs.Service
	logs    *logs.Service
	client  *awslambda.Client
}

// sessions returns keys that name their role.
type sessions struct{}

func (sessions) Session(role, session string) (identity.Credentials, error) {
	return identity.Credentials{
		AccessKeyID: "ASIA" + session, SecretAccessKey: "secret of " + role, SessionToken: "token",
	}, nil
}

func newWorld(t *testing.T) *world {
	t.Helper()
	code, err := archive()
	if err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer()
	w := &world{t: t, logs: logs.New(testAccount, testRegion)}
	w.queues = sqs.New(sqs.Options{AccountID: testAccount, Region: testRegion, Endpoint: server.URL})
	w.service = New(Options{
		AccountID: testAccount, Region: testRegion, Directory: t.TempDir(), Endpoint: server.URL,
		Objects:  bucket{"assets/code.zip": code},
		Sessions: sessions{}, Queues: w.queues, Logs: w.logs,
	})
	t.Cleanup(func() { _ = errors.Join(w.service.Close(), w.queues.Close()) })
	w.client = awslambda.NewFromConfig(wiretest.Listen(t, server, w.service, w.queues))
	return w
}

// properties of a function for this machine; more replaces or adds.
func properties(name string, more map[string]any) map[string]any {
	p := map[string]any{
		"FunctionName": name, "Runtime": "provided.al2023", "Handler": "bootstrap",
		"Role":          "arn:aws:iam::123456789012:role/" + name,
		"Architectures": []any{machineArchitecture()}, "Timeout": 5,
		"Code": map[string]any{"S3Bucket": "assets", "S3Key": "code.zip"},
	}
	for key, value := range more {
		p[key] = value
	}
	return p
}

func (w *world) function(name string, more map[string]any) {
	w.t.Helper()
	if _, err := (functionType{w.service}).Create(w.t.Context(),
		cloudformation.Request{LogicalID: name, GeneratedName: name, Properties: properties(name, more)}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) queue(name string, attributes map[string]string) string {
	w.t.Helper()
	if _, err := w.queues.CreateQueue(name, attributes); err != nil {
		w.t.Fatal(err)
	}
	return "arn:aws:sqs:" + testRegion + ":" + testAccount + ":" + name
}

func (w *world) mapQueue(function, queueARN string, more map[string]any) string {
	w.t.Helper()
	p := map[string]any{
		"FunctionName": function, "EventSourceArn": queueARN, "FunctionResponseTypes": []any{"ReportBatchItemFailures"},
	}
	for key, value := range more {
		p[key] = value
	}
	result, err := (mappingType{w.service}).Create(w.t.Context(), cloudformation.Request{Properties: p})
	if err != nil {
		w.t.Fatal(err)
	}
	return result.PhysicalID
}

func (w *world) send(queue, body string) {
	w.t.Helper()
	if _, err := w.queues.Send(queue, sqs.Message{Body: body}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// report is the answer of the test's bootstrap.
type report struct {
	Count       int
	PID         int
	RequestID   string
	FunctionARN string
	Deadline    time.Time
	Environment []string
	Text        string
}

func (w *world) invoke(name, payload string) report {
	w.t.Helper()
	answer, functionError, err := w.service.Invoke(w.t.Context(), name, []byte(payload))
	if err != nil || functionError != "" {
		w.t.Fatalf("invoking %s: %v %s %s", name, err, functionError, answer)
	}
	var r report
	if err := json.Unmarshal(answer, &r); err != nil {
		w.t.Fatalf("%s: %v", answer, err)
	}
	return r
}

// until waits for a condition that another process brings about.
func until(t *testing.T, what string, limit time.Duration, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	buffer := make([]byte, 1<<20)
	t.Fatalf("not within %v: %s\n%s", limit, what, buffer[:runtime.Stack(buffer, true)])
}

func (w *world) logged(group, text string) bool {
	for _, event := range w.logs.Events(group) {
		if strings.Contains(event.Message, text) {
			return true
		}
	}
	return false
}
