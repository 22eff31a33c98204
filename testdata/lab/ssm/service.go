package ssm

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Service is the simulated Parameter Store of one account and region.
type Service struct {
	accountID, region string

	mu         sync.Mutex
	parameters map[string]*parameter
}

type parameter struct {
	name, value string
	version     int
	modified    time.Time
}

// bootstrapVersion is the version of the bootstrap stack's template that the local AWS stands in
// for. The cdk libraries of version 2 require at least 6.
const bootstrapVersion = 30

// New makes an empty store.
func New(accountID, region string) *Service {
	return &Service{accountID: accountID, region: region, parameters: map[string]*parameter{}}
}

// Bootstrap writes the parameter with which `cdk bootstrap` marks an environment as ready, for a
// qualifier ("hnb659fds" by default).
func (s *Service) Bootstrap(qualifier string) {
	s.Set("/cdk-bootstrap/"+qualifier+"/version", strconv.Itoa(bootstrapVersion))
}

// Register makes the service answer at the server.
func (s *Service) Register(server *wire.Server) {
	server.Register("ssm", wire.Actions{
		"GetParameter":  s.getParameter,
		"GetParameters": s.getParameters,
		"PutParameter":  s.putParameter,
	})
}

// Set puts a value, a new version if the name has one.
func (s *Service) Set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := 1
	if old, ok := s.parameters[name]; ok {
		version = old.version + 1
	}
	s.parameters[name] = &parameter{name, value, version, time.Now()}
}

// Parameter returns the value of a name; false for an unknown one.
func (s *Service) Parameter(_ context.Context, name string) (value string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.parameters[name]
	if !ok {
		return "", false
	}
	return p.value, true
}

// kind is the type of all parameters.
const kind = "String"

type parameterJSON struct {
	Name             string
	Type             string
	Value            string
	Version          int
	LastModifiedDate wire.Time
	ARN              string
	DataType         string
	Selector         string `json:",omitempty"`
}

func (s *Service) show(p *parameter) parameterJSON {
	account := s.accountID
	if strings.HasPrefix(p.name, "/aws/service/") {
		account = ""
	}
	return parameterJSON{
		Name: p.name, Type: kind, Value: p.value, Version: p.version, LastModifiedDate: wire.Time{Time: p.modified},
		ARN:      fmt.Sprintf("arn:aws:ssm:%s:%s:parameter/%s", s.region, account, strings.TrimPrefix(p.name, "/")),
		DataType: "text",
	}
}

// find reads NAME, NAME:VERSION and the ARN of a parameter. It is called with the lock held. Older
// versions do not exist.
func (s *Service) find(selector string) (parameterJSON, bool) {
	name, version := selector, ""
	if strings.HasPrefix(name, "arn:") {
		_, path, _ := strings.Cut(name, ":parameter")
		name = path
	}
	if before, after, found := strings.Cut(name, ":"); found {
		name, version = before, after
	}
	p, ok := s.parameters[name]
	if !ok && strings.HasPrefix(selector, "arn:") {
		// The ARN is the same for a name with and without a leading slash.
		p, ok = s.parameters[strings.TrimPrefix(name, "/")]
	}
	if !ok || version != "" && version != strconv.Itoa(p.version) {
		return parameterJSON{}, false
	}
	shown := s.show(p)
	if version != "" {
		shown.Selector = ":" + version
	}
	return shown, true
}

func notFound(name string) *wire.Error {
	return wire.Errorf("ParameterNotFound", http.StatusBadRequest, "Parameter %s not found.", name)
}

func (s *Service) getParameter(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Name string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.find(in.Name)
	if !ok {
		return nil, notFound(in.Name)
	}
	return wire.JSON(struct{ Parameter parameterJSON }{p})
}

func (s *Service) getParameters(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Names []string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	result := struct {
		Parameters        []parameterJSON
		InvalidParameters []string
	}{[]parameterJSON{}, []string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range in.Names {
		if p, ok := s.find(name); ok {
			result.Parameters = append(result.Parameters, p)
		} else {
			result.InvalidParameters = append(result.InvalidParameters, name)
		}
	}
	return wire.JSON(result)
}

func (s *Service) putParameter(ctx context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		Name, Value, Type string
		Overwrite         bool
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if in.Type != kind || in.Overwrite {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest,
			"the local Parameter Store holds the Type %s and no Overwrite", kind)
	}
	if _, exists := s.Parameter(ctx, in.Name); exists {
		return nil, wire.Errorf("ParameterAlreadyExists", http.StatusBadRequest, "The parameter already exists.")
	}
	s.Set(in.Name, in.Value)
	return wire.JSON(struct {
		Version int
		Tier    string
	}{1, "Standard"})
}
