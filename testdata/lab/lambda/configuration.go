package lambda

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Configuration is a function's settings.
type Configuration struct {
	Name         string
	Role         string
	Handler      string
	Runtime      string
	Architecture string // x86_64 or arm64
	MemoryMB     int
	Timeout      time.Duration
	Environment  map[string]string
	// LogGroup, LogFormat (Text or JSON) and the two levels are LoggingConfig's; the levels count
	// only with JSON.
	LogGroup, LogFormat, ApplicationLogLevel, SystemLogLevel string
	// AllowsLoops turns the detection of recursive loops off.
	AllowsLoops bool
}

// longestTimeout is that of functions without Managed Instances, as the models of botocore 1.44.8 say.
const longestTimeout = 30 * time.Minute

// accountConcurrency is the account's limit of concurrent executions for each function. AWS gives
// accounts 10 to 1,000 for all functions together; one machine runs fewer processes.
const accountConcurrency = 50

// Levels of Lambda's own log lines, the most detailed first. Successes have the level INFO,
// failures WARN.
// https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
const (
	levelDebug = "DEBUG"
	levelInfo  = "INFO"
	levelWarn  = "WARN"
)

func systemLogLevels() []string { return []string{levelDebug, levelInfo, levelWarn} }

const runtimeProvided = "provided.al2023"

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// reservedVariables may not be set by a function's configuration.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
var reservedVariables = []string{
	"_HANDLER", "_X_AMZN_TRACE_ID", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_EXECUTION_ENV", "AWS_LAMBDA_FUNCTION_NAME",
	"AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
	"AWS_LAMBDA_FUNCTION_VERSION", "AWS_LAMBDA_INITIALIZATION_TYPE", "AWS_LAMBDA_LOG_GROUP_NAME",
	"AWS_LAMBDA_LOG_STREAM_NAME", "AWS_ACCESS_KEY",
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_LAMBDA_RUNTIME_API", "LAMBDA_TASK_ROOT",
	"LAMBDA_RUNTIME_DIR",
}

// complete fills defaults and checks; errors name the setting and the mend.
func (c *Configuration) complete() error {
	if !validName.MatchString(c.Name) {
		return fmt.Errorf("function name %q: letters, digits, hyphens and underscores, at most 64", c.Name)
	}
	c.setDefaults()
	if err := c.checkProgram(); err != nil {
		return err
	}
	if err := c.checkLogging(); err != nil {
		return err
	}
	if machine := machineArchitecture(); c.Architecture != machine {
		return fmt.Errorf("function %s: Architectures is %s, and this machine is %s, where such a bootstrap cannot run: "+
			"deploy with the context architecture=%s (cdk deploy -c architecture=%s) and functions built for it",
			c.Name, c.Architecture, machine, machine, machine)
	}
	return c.checkEnvironment()
}

func (c *Configuration) setDefaults() {
	c.MemoryMB = cmp.Or(c.MemoryMB, 128)
	c.Timeout = cmp.Or(c.Timeout, 3*time.Second)
	c.Architecture = cmp.Or(c.Architecture, "x86_64")
	c.LogGroup = cmp.Or(c.LogGroup, "/aws/lambda/"+c.Name)
	c.LogFormat = cmp.Or(c.LogFormat, "Text")
	if c.LogFormat == "JSON" {
		c.SystemLogLevel = cmp.Or(c.SystemLogLevel, levelInfo)
	}
}

func (c *Configuration) checkProgram() error {
	switch {
	case c.Runtime != runtimeProvided:
		return fmt.Errorf("function %s: Runtime is %q; only %s runs locally", c.Name, c.Runtime, runtimeProvided)
	case c.Role == "":
		return fmt.Errorf("function %s: Role is missing", c.Name)
	case c.Handler == "":
		return fmt.Errorf("function %s: Handler is missing; with %s it is conventionally bootstrap", c.Name, runtimeProvided)
	case c.MemoryMB < 128 || c.MemoryMB > 10240:
		return fmt.Errorf("function %s: MemorySize is %d; it must be from 128 to 10240 MB", c.Name, c.MemoryMB)
	case c.Timeout < time.Second || c.Timeout > longestTimeout:
		return fmt.Errorf("function %s: Timeout is %v; it must be from 1 to 1800 seconds", c.Name, c.Timeout)
	}
	return nil
}

func (c *Configuration) checkLogging() error {
	switch {
	case c.LogFormat != "Text" && c.LogFormat != "JSON":
		return fmt.Errorf("function %s: LoggingConfig.LogFormat is %q; it must be Text or JSON", c.Name, c.LogFormat)
	case c.LogFormat == "Text" && c.SystemLogLevel+c.ApplicationLogLevel != "":
		return fmt.Errorf("function %s: LoggingConfig has a log level, which needs LogFormat JSON", c.Name)
	case c.LogFormat == "JSON" && !slices.Contains(systemLogLevels(), c.SystemLogLevel):
		return fmt.Errorf("function %s: LoggingConfig.SystemLogLevel is %q; it must be DEBUG, INFO or WARN", c.Name,
			c.SystemLogLevel)
	}
	return nil
}

func (c *Configuration) checkEnvironment() error {
	var reserved []string
	for name := range c.Environment {
		if slices.Contains(reservedVariables, name) {
			reserved = append(reserved, name)
		}
	}
	if len(reserved) > 0 {
		slices.Sort(reserved)
		return fmt.Errorf("function %s: Environment sets variables that Lambda reserves: %s", c.Name,
			strings.Join(reserved, ", "))
	}
	return nil
}

// logs reports whether Lambda writes its own lines of the level.
func (c Configuration) logs(level string) bool {
	levels := systemLogLevels()
	return slices.Index(levels, level) >= slices.Index(levels, c.SystemLogLevel)
}

func (c Configuration) clone() Configuration {
	c.Environment = maps.Clone(c.Environment)
	return c
}

// machineArchitecture is this machine's architecture by Lambda's name, or Go's where Lambda has
// none.
func machineArchitecture() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	default:
		return runtime.GOARCH
	}
}
