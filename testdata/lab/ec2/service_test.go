package ec2_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

const kubernetesVersion = "1.36"

// account is a local EC2 behind a server, and the SDK's client to it.
type account struct {
	*awsec2.Client
	service *ec2.Service
	heard   *recorder
	url     string
}

// recorder keeps the service's notices.
type recorder struct {
	mu         sync.Mutex
	changes    []ec2.Instance
	events     []ec2.Event
	parameters map[string]string
}

func (r *recorder) InstanceChanged(i ec2.Instance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes = append(r.changes, i)
}

func (r *recorder) ConsoleOutput(id string) string { return "console of " + id }

func (r *recorder) Put(_ context.Context, e ec2.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) Set(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parameters[name] = value
}

func (r *recorder) parameter(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.parameters[name]
}

// states returns the states that an instance went through so far.
func (r *recorder) states(id string) []ec2.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	var states []ec2.State
	for _, i := range r.changes {
		if i.ID == id {
			states = append(states, i.State)
		}
	}
	return states
}

// reboots is how often the instance's machine was told to reboot.
func (r *recorder) reboots(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	number := 0
	for _, i := range r.changes {
		if i.ID == id {
			number = max(number, i.Reboots)
		}
	}
	return number
}

func (r *recorder) eventTypes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var types []string
	for _, e := range r.events {
		types = append(types, e.DetailType)
	}
	return types
}

type profiles map[string]string

func (p profiles) RoleOfInstanceProfile(nameOrARN string) (string, bool) {
	role, ok := p[nameOrARN]
	return role, ok
}

func newAccount(t *testing.T, change ...func(*ec2.Config)) *account {
	t.Helper()
	heard := &recorder{parameters: map[string]string{}}
	options := ec2.Config{
		AccountID: "123456789012", Region: "us-east-1", Machines: heard, Events: heard, Parameters: heard,
		InstanceProfiles: profiles{"nodes": "arn:aws:iam::123456789012:role/nodes"},
	}
	for _, f := range change {
		f(&options)
	}
	service, err := ec2.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	service.RegisterCluster("prod", kubernetesVersion)
	config := wiretest.Listen(t, wire.NewServer(), service)
	return &account{awsec2.NewFromConfig(config), service, heard, *config.BaseEndpoint}
}

// image returns the recommended image of an architecture.
func (a *account) image(architecture string) string {
	return a.heard.parameter("/aws/service/eks/optimized-ami/" + kubernetesVersion + "/amazon-linux-2023/" + architecture +
		"/standard/recommended/image_id")
}

// eventually waits for something that timers bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within a minute: %s", what)
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var refused smithy.APIError
	if !errors.As(err, &refused) {
		t.Fatalf("error is %v, want one with the code %s", err, code)
	}
	if refused.ErrorCode() != code {
		t.Errorf("error is %v, want the code %s", err, code)
	}
}

func text(s *string) string { return aws.ToString(s) }

// containsText reports whether a text has a part.
func containsText(whole, part string) bool { return strings.Contains(whole, part) }

func contains[T comparable](list []T, wanted ...T) bool {
	for _, w := range wanted {
		if !slices.Contains(list, w) {
			return false
		}
	}
	return true
}
