package lambda

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/identity"
)

// sandbox is one process of a function.
type sandbox struct {
	function      *function
	configuration Configuration
	code          code
	generation    int
	stream        string
	temporary     string
	born          time.Time

	command *exec.Cmd
	output  *output
	api     *http.Server
	// work hands an invocation to the Runtime API's next.
	work chan *running
	// ready is closed when the process asks for its first invocation; initDuration is set before.
	ready        chan struct{}
	initDuration time.Duration
	// exited is closed after the process has exited and its output is in the log. exitReason and used
	// are set before.
	exited     chan struct{}
	exitReason string
	used       usage

	logRights                    sync.Once // guards mayWriteLog and mayMakeLogGroup
	mayWriteLog, mayMakeLogGroup bool

	mu        sync.Mutex
	current   *running
	initError *functionError
	idleTimer *time.Timer
}

// maximumAge ends a sandbox between invocations, well before the hour that its credentials last.
// AWS replaces sandboxes too, every few hours.
const maximumAge = 45 * time.Minute

// initLimit is Lambda's bound for the init phase of on-demand functions.
const initLimit = 10 * time.Second

// lookInterval is the time between two looks at the memory of a busy process.
const lookInterval = 20 * time.Millisecond

// start runs the function's bootstrap. The caller waits for ready or exited.
func (f *function) start(configuration Configuration, code code, generation int) (*sandbox, error) {
	s := f.service
	sb := &sandbox{
		function: f, configuration: configuration, code: code, generation: generation, born: time.Now(),
		stream: time.Now().UTC().Format("2006/01/02/") + "[$LATEST]" + randomHex(16),
		work:   make(chan *running), ready: make(chan struct{}), exited: make(chan struct{}),
	}
	credentials, err := s.options.Sessions.Session(configuration.Role, configuration.Name)
	if err != nil {
		return nil, fmt.Errorf("credentials of role %s for function %s: %w", configuration.Role, configuration.Name, err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the runtime API of function %s: %w", configuration.Name, err)
	}
	if err := sb.launch(credentials, listener.Addr().String()); err != nil {
		_ = listener.Close()
		return nil, err
	}
	sb.log(time.Now(), sb.platformLine(levelInfo, "INIT_START Runtime Version: provided:al2023.local",
		"platform.initStart",
		map[string]any{"initializationType": "on-demand", "phase": "init", "runtimeVersion": "provided:al2023.local"}))
	sb.api = &http.Server{Handler: sb.runtimeAPI()}
	go func() {
		defer s.work.Done()
		sb.watch(listener)
	}()
	return sb, nil
}

// launch starts the process. On success the caller owes the service's work group one Done.
func (sb *sandbox) launch(credentials identity.Credentials, runtimeAPI string) error {
	s, name := sb.function.service, sb.configuration.Name
	base := filepath.Join(s.options.Directory, "tmp")
	if err := os.MkdirAll(base, 0o755); err != nil {
		return fmt.Errorf("starting function %s: %w", name, err)
	}
	temporary, err := os.MkdirTemp(base, name+"-")
	if err != nil {
		return fmt.Errorf("starting function %s: %w", name, err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		_ = os.RemoveAll(temporary)
		return fmt.Errorf("starting function %s: %w", name, err)
	}
	defer func() { _ = writer.Close() }()
	command := exec.Command(filepath.Join(sb.code.directory, "bootstrap"))
	command.Dir = sb.code.directory
	command.Env = sb.environment(credentials, runtimeAPI, temporary)
	command.Stdout, command.Stderr = writer, writer
	// The process group ends together with the bootstrap.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	sb.command, sb.temporary = command, temporary
	sb.output = newOutput(reader, func(line string) { sb.log(time.Now(), line) })
	if !s.begin() {
		err = errClosed
	} else if err = command.Start(); err != nil {
		s.work.Done()
	}
	if err != nil {
		_ = reader.Close()
		_ = os.RemoveAll(temporary)
		return fmt.Errorf("starting the bootstrap of function %s: %w", name, err)
	}
	return nil
}

// environment has Lambda's variables, the function's own, and TMPDIR, because every sandbox has its
// own /tmp on AWS. https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
func (sb *sandbox) environment(credentials identity.Credentials, runtimeAPI, temporary string) []string {
	c, options := sb.configuration, sb.function.service.options
	all := maps.Clone(c.Environment)
	if all == nil {
		all = map[string]string{}
	}
	for name, value := range map[string]string{
		"_HANDLER": c.Handler, "LAMBDA_TASK_ROOT": sb.code.directory, "LAMBDA_RUNTIME_DIR": "/var/runtime",
		"AWS_REGION": options.Region, "AWS_DEFAULT_REGION": options.Region,
		"AWS_LAMBDA_FUNCTION_NAME": c.Name, "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": fmt.Sprint(c.MemoryMB),
		"AWS_LAMBDA_LOG_GROUP_NAME":       c.LogGroup, "AWS_LAMBDA_LOG_STREAM_NAME": sb.stream,
		"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
		"AWS_LAMBDA_RUNTIME_API":         runtimeAPI,
		"AWS_ACCESS_KEY_ID":              credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY": credentials.SecretAccessKey,
		"AWS_SESSION_TOKEN": credentials.SessionToken,
		"AWS_ENDPOINT_URL":  options.Endpoint(), "TMPDIR": temporary,
	} {
		all[name] = value
	}
	for name, value := range map[string]string{
		"PATH": "/usr/local/bin:/usr/bin:/bin:/opt/bin", "LANG": "en_US.UTF-8", "TZ": ":UTC",
	} {
		if _, own := all[name]; !own {
			all[name] = value
		}
	}
	if c.LogFormat == "JSON" {
		all["AWS_LAMBDA_LOG_FORMAT"] = "JSON"
		if c.ApplicationLogLevel != "" {
			all["AWS_LAMBDA_LOG_LEVEL"] = c.ApplicationLogLevel
		}
	}
	environment := make([]string, 0, len(all)+1)
	if options.Clock != nil {
		environment = append(environment, options.Clock(c.Name).Setting())
	}
	for name, value := range all {
		environment = append(environment, name+"="+value)
	}
	slices.Sort(environment)
	return environment
}

// watch serves the process until it ends, however it ends, and cleans up behind it.
func (sb *sandbox) watch(listener net.Listener) {
	serving, reading := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(serving)
		// Always ends with ErrServerClosed, by the Close below.
		_ = sb.api.Serve(listener)
	}()
	go func() {
		defer close(reading)
		sb.output.read()
	}()
	err := sb.command.Wait()
	sb.killGroup()
	sb.output.close()
	<-reading
	sb.exitReason, sb.used = exitReason(err), usageAtEnd(sb.command.ProcessState)
	close(sb.exited)
	sb.function.drop(sb)
	_ = sb.api.Close()
	<-serving
	_ = os.RemoveAll(sb.temporary)
}

// finished ends the sandbox's current invocation and returns the channel that its waiter reads.
func (sb *sandbox) finished() (over chan struct{}) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if sb.current == nil {
		return nil
	}
	over, sb.current = sb.current.over, nil
	return over
}

// kill ends the process and all of its group; watch does the rest.
func (sb *sandbox) kill() {
	select {
	case <-sb.exited:
	default:
		sb.killGroup()
	}
}

func (sb *sandbox) killGroup() {
	// Kill fails if the group has exited already, which is the ordinary case.
	_ = syscall.Kill(-sb.command.Process.Pid, syscall.SIGKILL)
}

func exitReason(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "Runtime exited without providing a reason"
	case errors.As(err, &exit):
		return "Runtime exited with error: " + exit.Error()
	default:
		return "Runtime exited with error: " + err.Error()
	}
}

// log writes a line to the function's log group.
func (sb *sandbox) log(at time.Time, line string) {
	if line != "" && sb.mayLog() {
		sb.function.service.options.Logs.Append(sb.configuration.LogGroup, sb.stream, at, line, sb.mayMakeLogGroup)
	}
}

// mayLog reports whether the function's role allows its log, in whose name Lambda writes. A line
// without that right is lost, as on AWS.
func (sb *sandbox) mayLog() bool {
	sb.logRights.Do(func() {
		s := sb.function.service
		group := s.logGroup(sb.configuration)
		sb.mayWriteLog = s.allowed(sb.configuration.Role, "logs:CreateLogStream", group+":*") == nil &&
			s.allowed(sb.configuration.Role, "logs:PutLogEvents", group+":log-stream:"+sb.stream) == nil
		sb.mayMakeLogGroup = s.mayMakeLogGroup(sb.configuration)
	})
	return sb.mayWriteLog
}

// mayMakeLogGroup reports whether a function's role allows to make its log group, which Lambda does
// where it is not there.
func (s *Service) mayMakeLogGroup(of Configuration) bool {
	return s.allowed(of.Role, "logs:CreateLogGroup", s.logGroup(of)) == nil
}

// logGroup is the ARN of a function's log group.
func (s *Service) logGroup(of Configuration) string {
	return fmt.Sprintf("arn:aws:logs:%s:%s:log-group:%s", s.options.Region, s.options.AccountID, of.LogGroup)
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
