package ssm

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Service is the simulated Parameter Store of one account and region.
type Service struct {
	accountID, region string

	mu         sync.Mutex
	parameters map[string]*parameter
}

type parameter struct {
	name, value, kind, description string
	version                        int
	modified                       time.Time
}

// Types of parameters.
const (
	String       = "String"
	StringList   = "StringList"
	SecureString = "SecureString"
)

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
	s.Set("/cdk-bootstrap/"+qualifier+"/version", strconv.Itoa(bootstrapVersion), String)
}

// Register makes the service answer at the server.
func (s *Service) Register(server *wire.Server) {
	server.Register("ssm", wire.Actions{
		"GetParameter":        s.getParameter,
		"GetParameters":       s.getParameters,
		"GetParametersByPath": s.getParametersByPath,
		"PutParameter":        s.putParameter,
		"DeleteParameter":     s.deleteParameter,
		"DescribeParameters":  s.describeParameters,
	})
}

// Set puts a value, a new version if the name has one. kind is String, StringList or SecureString.
func (s *Service) Set(name, value, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(name, value, kind, "")
}

// set puts a value; the lock is held.
func (s *Service) set(name, value, kind, description string) *parameter {
	version := 1
	if old, ok := s.parameters[name]; ok {
		version = old.version + 1
	}
	p := &parameter{name, value, kind, description, version, time.Now()}
	s.parameters[name] = p
	return p
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

// remove deletes a parameter; it reports whether there was one.
func (s *Service) remove(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.parameters[name]
	delete(s.parameters, name)
	return ok
}

type parameterJSON struct {
	Name             string
	Type             string
	Value            string `json:",omitempty"`
	Version          int
	LastModifiedDate wire.Time
	ARN              string
	DataType         string
	Selector         string `json:",omitempty"`
	Description      string `json:",omitempty"`
}

func (s *Service) show(p *parameter) parameterJSON {
	account := s.accountID
	if strings.HasPrefix(p.name, "/aws/service/") {
		account = ""
	}
	return parameterJSON{
		Name: p.name, Type: p.kind, Value: p.value, Version: p.version, LastModifiedDate: wire.Time{Time: p.modified},
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

// page cuts a sorted list of names; the token is the last name of the page before.
func page(names []string, limit, standard int, token string) (cut []string, next string) {
	if limit <= 0 || limit > standard {
		limit = standard
	}
	start, _ := slices.BinarySearch(names, token+"\x00")
	if token == "" {
		start = 0
	}
	names = names[start:]
	if len(names) > limit {
		return names[:limit], names[limit-1]
	}
	return names, ""
}

func (s *Service) getParametersByPath(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		Path       string
		Recursive  bool
		MaxResults int
		NextToken  string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(in.Path, "/") {
		return nil, wire.Errorf("ValidationException", http.StatusBadRequest,
			"The parameter doesn't meet the parameter name requirements: Path %q must begin with /", in.Path)
	}
	prefix := strings.TrimSuffix(in.Path, "/") + "/"
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.parameters)) {
		rest, below := strings.CutPrefix(name, prefix)
		if below && (in.Recursive || !strings.Contains(rest, "/")) {
			names = append(names, name)
		}
	}
	return s.list(names, in.MaxResults, 10, in.NextToken, true)
}

func (s *Service) describeParameters(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		MaxResults int
		NextToken  string
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list(slices.Sorted(maps.Keys(s.parameters)), in.MaxResults, 50, in.NextToken, false)
}

// list answers with a page of parameters; the lock is held.
func (s *Service) list(names []string, limit, standard int, token string, values bool) (*wire.Response, error) {
	result := struct {
		Parameters []parameterJSON
		NextToken  string `json:",omitempty"`
	}{Parameters: []parameterJSON{}}
	names, result.NextToken = page(names, limit, standard, token)
	for _, name := range names {
		shown := s.show(s.parameters[name])
		if !values {
			shown.Value, shown.Description = "", s.parameters[name].description
		}
		result.Parameters = append(result.Parameters, shown)
	}
	return wire.JSON(result)
}

// https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-paramstore-su-create.html
const maxName = 1011

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_./-]+$`)

// check holds a parameter against the rules of names, types and values.
func check(name, value, kind string) error {
	if !namePattern.MatchString(name) || len(name) > maxName {
		return wire.Errorf("ValidationException", http.StatusBadRequest, "Parameter name %q must be letters, digits and _./-",
			name)
	}
	if kind != String && kind != StringList && kind != SecureString {
		return wire.Errorf("ValidationException", http.StatusBadRequest,
			"the Type of parameter %s must be String, StringList or SecureString, not %q", name, kind)
	}
	if value == "" || len(value) > 8192 {
		return wire.Errorf("ValidationException", http.StatusBadRequest,
			"the Value of parameter %s must have 1 to 8192 characters, not %d", name, len(value))
	}
	return nil
}

func (s *Service) putParameter(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		Name, Value, Type, Description string
		Overwrite                      bool
	}
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.parameters[in.Name]
	if exists && !in.Overwrite {
		return nil, wire.Errorf("ParameterAlreadyExists", http.StatusBadRequest,
			"The parameter already exists. To overwrite this value, set the overwrite option in the request to true.")
	}
	if exists && in.Type == "" {
		in.Type = old.kind
	}
	if err := check(in.Name, in.Value, in.Type); err != nil {
		return nil, err
	}
	p := s.set(in.Name, in.Value, in.Type, in.Description)
	return wire.JSON(struct {
		Version int
		Tier    string
	}{p.version, "Standard"})
}

func (s *Service) deleteParameter(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ Name string }
	if err := c.DecodeJSON(&in); err != nil {
		return nil, err
	}
	if !s.remove(in.Name) {
		return nil, notFound(in.Name)
	}
	return wire.JSON(struct{}{})
}
