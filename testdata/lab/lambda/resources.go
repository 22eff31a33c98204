package lambda

import (
	"context"
	"fmt"

	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// RegisterTypes registers functions, event source mappings and event settings with
// CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::Lambda::Function", functionType{s})
	stacks.RegisterType("AWS::Lambda::EventSourceMapping", mappingType{s})
	stacks.RegisterType("AWS::Lambda::EventInvokeConfig", eventInvokeType{s})
}

// functionProperties has the supported properties of a function. Any other fails the stack by name.
type functionProperties struct {
	FunctionName string
	Description  string // nobody reads it, nor the tags
	Role         string
	Handler      string
	Runtime      string
	Code         struct {
		S3Bucket, S3Key string
	}
	Architectures []string
	MemorySize    int
	Timeout       int
	Environment   struct{ Variables map[string]string }
	LoggingConfig struct {
		LogGroup, LogFormat, ApplicationLogLevel, SystemLogLevel string
	}
	VpcConfig     struct{ SubnetIds, SecurityGroupIds []string }
	RecursiveLoop string
	Tags          []struct{ Key, Value string }
}

func (p functionProperties) configuration(name string) (Configuration, error) {
	c := Configuration{
		Name: name, Role: p.Role, Handler: p.Handler, Runtime: p.Runtime, MemoryMB: p.MemorySize,
		Timeout: time.Duration(p.Timeout) * time.Second, Environment: p.Environment.Variables,
		LogGroup: p.LoggingConfig.LogGroup, LogFormat: p.LoggingConfig.LogFormat,
		ApplicationLogLevel: p.LoggingConfig.ApplicationLogLevel, SystemLogLevel: p.LoggingConfig.SystemLogLevel,
	}
	switch {
	case len(p.Architectures) > 1:
		return c, fmt.Errorf("function %s: Architectures %v: a function has exactly one", name, p.Architectures)
	case len(p.Architectures) == 1:
		c.Architecture = p.Architectures[0]
	}
	// A function's network makes no difference here, but AWS's refusals apply.
	if vpc := p.VpcConfig; (len(vpc.SubnetIds) == 0) != (len(vpc.SecurityGroupIds) == 0) {
		return c, fmt.Errorf("function %s: VpcConfig has %d SubnetIds and %d SecurityGroupIds: give both or neither", name,
			len(vpc.SubnetIds), len(vpc.SecurityGroupIds))
	}
	if !slices.Contains([]string{"", "Terminate", "Allow"}, p.RecursiveLoop) {
		return c, fmt.Errorf("function %s: RecursiveLoop is %q; it must be Allow or Terminate", name, p.RecursiveLoop)
	}
	c.AllowsLoops = p.RecursiveLoop == "Allow"
	return c, c.complete()
}

type functionType struct{ service *Service }

func (t functionType) read(r cloudformation.Request, name string) (Configuration, code, error) {
	var p functionProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return Configuration{}, code{}, err
	}
	if p.FunctionName != "" {
		name = p.FunctionName
	}
	configuration, err := p.configuration(name)
	if err != nil {
		return configuration, code{}, err
	}
	if p.Code.S3Bucket == "" || p.Code.S3Key == "" {
		return configuration, code{}, fmt.Errorf("function %s: Code needs S3Bucket and S3Key", name)
	}
	archive, err := t.service.options.Objects.Object(p.Code.S3Bucket, p.Code.S3Key)
	if err != nil {
		return configuration, code{},
			fmt.Errorf("function %s: reading its code from s3://%s/%s: %w", name, p.Code.S3Bucket, p.Code.S3Key, err)
	}
	unpacked, err := t.service.unpack(archive)
	if err != nil {
		return configuration, code{}, fmt.Errorf("function %s: %w", name, err)
	}
	return configuration, unpacked, nil
}

func (t functionType) result(name string) cloudformation.Result {
	return cloudformation.Result{PhysicalID: name, Attributes: map[string]any{"Arn": t.service.arn(name)}}
}

func (t functionType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	configuration, unpacked, err := t.read(r, cloudformation.GeneratedName(r, 64))
	if err != nil {
		return cloudformation.Result{}, err
	}
	s := t.service
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return cloudformation.Result{}, errClosed
	}
	if s.functions[configuration.Name] != nil {
		return cloudformation.Result{},
			fmt.Errorf("function already exists: %s; choose another FunctionName or delete it", configuration.Name)
	}
	s.functions[configuration.Name] = newFunction(s, configuration, unpacked)
	return t.result(configuration.Name), nil
}

func (t functionType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["FunctionName"] != r.OldProperties["FunctionName"] {
		return t.Create(ctx, r)
	}
	configuration, unpacked, err := t.read(r, r.PhysicalID)
	if err != nil {
		return cloudformation.Result{}, err
	}
	f, err := t.service.find(r.PhysicalID)
	if err != nil {
		return cloudformation.Result{}, err
	}
	f.replace(configuration, unpacked)
	return t.result(r.PhysicalID), nil
}

func (t functionType) Delete(_ context.Context, r cloudformation.Request) error {
	f, err := t.service.find(r.PhysicalID)
	if err != nil {
		return nil
	}
	t.service.mu.Lock()
	delete(t.service.functions, f.name)
	t.service.deleted = append(t.service.deleted, f)
	t.service.mu.Unlock()
	f.remove()
	return nil
}

type mappingType struct{ service *Service }

type mappingProperties struct {
	FunctionName                   string
	EventSourceArn                 string
	BatchSize                      int
	MaximumBatchingWindowInSeconds int
	FunctionResponseTypes          []string
	ScalingConfig                  struct{ MaximumConcurrency int }
	Enabled                        *bool
	Tags                           []struct{ Key, Value string }
}

func (p mappingProperties) settings() (mappingSettings, error) {
	settings := mappingSettings{
		queueARN: p.EventSourceArn, batchSize: p.BatchSize,
		window:             time.Duration(p.MaximumBatchingWindowInSeconds) * time.Second,
		maximumConcurrency: p.ScalingConfig.MaximumConcurrency, enabled: p.Enabled == nil || *p.Enabled,
	}
	for _, response := range p.FunctionResponseTypes {
		if response != "ReportBatchItemFailures" {
			return settings, fmt.Errorf("FunctionResponseTypes has %q; only ReportBatchItemFailures exists", response)
		}
		settings.reportItemFailures = true
	}
	return settings, settings.complete()
}

func (t mappingType) read(r cloudformation.Request) (*function, mappingSettings, error) {
	var p mappingProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return nil, mappingSettings{}, err
	}
	settings, err := p.settings()
	if err != nil {
		return nil, settings, err
	}
	f, err := t.service.find(p.FunctionName)
	return f, settings, err
}

func (t mappingType) result(m *mapping) cloudformation.Result {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	return cloudformation.Result{
		PhysicalID: m.id,
		Attributes: map[string]any{
			"Id": m.id, "EventSourceMappingArn": strings.Replace(m.service.arn(m.id), ":function:", ":event-source-mapping:", 1),
		},
	}
}

func (t mappingType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	f, settings, err := t.read(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	m, err := t.service.addMapping(f, wire.NewID(), settings)
	if err != nil {
		return cloudformation.Result{}, err
	}
	return t.result(m), nil
}

func (t mappingType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	f, settings, err := t.read(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	m := t.service.mappings[r.PhysicalID]
	t.service.mu.Unlock()
	if m == nil || m.settings.queueARN != settings.queueARN || m.function != f {
		return t.Create(ctx, r)
	}
	if err := m.change(settings); err != nil {
		return cloudformation.Result{}, err
	}
	return t.result(m), nil
}

func (t mappingType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	m := t.service.mappings[r.PhysicalID]
	t.service.mu.Unlock()
	if m != nil {
		m.remove()
	}
	return nil
}

type eventInvokeType struct{ service *Service }

type eventInvokeProperties struct {
	FunctionName             string
	Qualifier                string
	MaximumRetryAttempts     *int
	MaximumEventAgeInSeconds *int
}

func (t eventInvokeType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	var p eventInvokeProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if p.Qualifier != "" && p.Qualifier != "$LATEST" {
		return cloudformation.Result{},
			fmt.Errorf("event settings of function %s: Qualifier is %q; only $LATEST is simulated", p.FunctionName, p.Qualifier)
	}
	f, err := t.service.find(p.FunctionName)
	if err != nil {
		return cloudformation.Result{}, err
	}
	settings := defaultEventSettings()
	if p.MaximumRetryAttempts != nil {
		if settings.retries = *p.MaximumRetryAttempts; settings.retries < 0 || settings.retries > 2 {
			return cloudformation.Result{}, fmt.Errorf("MaximumRetryAttempts is %d; it must be 0, 1 or 2", settings.retries)
		}
	}
	if p.MaximumEventAgeInSeconds != nil {
		settings.maximumAge = time.Duration(*p.MaximumEventAgeInSeconds) * time.Second
		if settings.maximumAge < time.Minute || settings.maximumAge > 6*time.Hour {
			return cloudformation.Result{},
				fmt.Errorf("MaximumEventAgeInSeconds is %d; it must be from 60 to 21600", *p.MaximumEventAgeInSeconds)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = settings
	return cloudformation.Result{PhysicalID: f.name + "|$LATEST"}, nil
}

func (t eventInvokeType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.Create(ctx, r)
}

func (t eventInvokeType) Delete(_ context.Context, r cloudformation.Request) error {
	name, _ := r.Properties["FunctionName"].(string)
	if f, err := t.service.find(name); err == nil {
		f.mu.Lock()
		f.events = defaultEventSettings()
		f.mu.Unlock()
	}
	return nil
}
