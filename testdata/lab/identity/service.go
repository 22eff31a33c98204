package identity

import (
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/lag"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// Service is the simulated IAM and STS of one account.
type Service struct {
	accountID string
	region    string
	operator  Credentials

	mu           sync.Mutex
	roles        map[string]*role // by name
	profiles     map[string]*instanceProfile
	managed      map[string]*managedPolicy // by ARN
	keys         map[string]*key           // by access key id
	resourceTags func(resourceARN string) (tags map[string]string, found bool)

	used uses

	propagation Propagation
	changes     int // that propagate
}

// role is an IAM role.
type role struct {
	name, path, id, arn string
	description         string
	trust               *document
	maxSession          time.Duration
	created             time.Time
	tags                map[string]string
	inline              map[string]*document
	attached            []string // ARNs, in the order of attachment
	boundary            string   // ARN of the policy that bounds all others; empty for none
	inForce             lag.Value[grants]
}

// instanceProfile hands a role to instances.
type instanceProfile struct {
	name, path, id, arn string
	created             time.Time
	tags                map[string]string
	role                string // name; empty if none
	inForce             lag.Value[string]
}

// New makes an account with its operator and the policies of AWS.
func New(accountID, region string) (*Service, error) {
	managed, err := awsManaged()
	if err != nil {
		return nil, err
	}
	s := &Service{
		accountID: accountID, region: region,
		roles: map[string]*role{}, profiles: map[string]*instanceProfile{}, managed: managed, keys: map[string]*key{},
	}
	s.operator = Credentials{AccessKeyID: "AKIA" + randomText(16), SecretAccessKey: randomText(40)}
	s.keys[s.operator.AccessKeyID] = &key{
		credentials: s.operator,
		caller: wire.Caller{
			AccountID: accountID, ARN: fmt.Sprintf("arn:aws:iam::%s:user/operator", accountID),
			AccessKeyID: s.operator.AccessKeyID,
		},
		userID: "AIDA" + randomText(16),
	}
	return s, nil
}

// Register makes the server identify callers, verify signatures, refuse calls that policies do not
// allow, and answer IAM and STS.
func (s *Service) Register(server *wire.Server) {
	server.Register("iam", s.iamActions())
	server.Register("sts", s.stsActions())
	server.Identify(s.Caller)
	server.VerifySignatures(s.secretFor)
	server.Authorize(s.authorize)
}

// SetResourceTags sets the source of tags of resources outside IAM, for conditions on
// aws:ResourceTag. found is false for a resource that does not exist. Without a source such
// conditions hold.
func (s *Service) SetResourceTags(f func(resourceARN string) (tags map[string]string, found bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resourceTags = f
}

// Bootstrap makes the roles that `cdk bootstrap` would have made for a qualifier ("hnb659fds"
// unless changed), which the cdk command line assumes for its steps. They may do everything and
// trust the account.
func (s *Service) Bootstrap(qualifier string) error {
	for _, purpose := range []string{
		"deploy-role", "file-publishing-role", "image-publishing-role", "lookup-role", "cfn-exec-role",
	} {
		trust := fmt.Sprintf(
			`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["sts:AssumeRole","sts:TagSession"],`+
				`"Principal":{"AWS":"arn:aws:iam::%s:root"}}]}`, s.accountID)
		if purpose == "cfn-exec-role" {
			trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",` +
				`"Principal":{"Service":"cloudformation.amazonaws.com"}}]}`
		}
		r, err := s.newRole(fmt.Sprintf("cdk-%s-%s-%s-%s", qualifier, purpose, s.accountID, s.region), "/", trust)
		if err != nil {
			return fmt.Errorf("making the bootstrap roles: %w", err)
		}
		r.attached = []string{"arn:aws:iam::aws:policy/AdministratorAccess"}
		s.mu.Lock()
		s.roles[r.name] = r
		s.mu.Unlock()
	}
	return s.linkSpot()
}

// linkSpot makes the service-linked role of EC2 Spot, which an account has after its first spot
// instance.
// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
func (s *Service) linkSpot() error {
	r, err := s.newRole("AWSServiceRoleForEC2Spot", "/aws-service-role/spot.amazonaws.com/",
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole",`+
			`"Principal":{"Service":"spot.amazonaws.com"}}]}`)
	if err != nil {
		return fmt.Errorf("making the role of EC2 Spot: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles[r.name] = r
	return nil
}

// RoleOfInstanceProfile returns the role that instances with a profile have; the profile is named
// by its name or ARN. found is false while the profile or its role is not in force yet.
func (s *Service) RoleOfInstanceProfile(nameOrARN string) (roleARN string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.profiles[lastPart(nameOrARN)]
	if !ok {
		return "", false
	}
	name := p.role
	if s.propagation.Most > 0 {
		name, _ = p.inForce.Get(s.propagation.Now(), 0)
	}
	r, ok := s.roles[name]
	if !ok {
		return "", false
	}
	return r.arn, true
}

// lastPart returns the name at the end of an ARN with a path; a bare name is itself.
func lastPart(nameOrARN string) string { return nameOrARN[strings.LastIndexByte(nameOrARN, '/')+1:] }

// roleByARN finds a role; the lock is held.
func (s *Service) roleByARN(arn string) *role {
	if r, ok := s.roles[lastPart(arn)]; ok && r.arn == arn {
		return r
	}
	return nil
}

// managedPolicy finds a policy by ARN; the lock is held.
func (s *Service) managedPolicy(arn string) *managedPolicy { return s.managed[arn] }

// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html gives both patterns.
var (
	namePattern = regexp.MustCompile(`^[\w+=,.@-]{1,64}$`)
	pathPattern = regexp.MustCompile(`^/([!-~]+/)?$`)
)

func checkName(what, name, path string) error {
	if !namePattern.MatchString(name) {
		return invalid("%s %q must be 1 to 64 letters, digits and _+=,.@-", what, name)
	}
	if !pathPattern.MatchString(path) {
		return invalid("path %q must begin and end with /", path)
	}
	return nil
}

// newRole checks and makes a role without entering it.
func (s *Service) newRole(name, path, trust string) (*role, error) {
	if path == "" {
		path = "/"
	}
	if err := checkName("role name", name, path); err != nil {
		return nil, err
	}
	d, err := parseDocument(trust, true)
	if err != nil {
		return nil, malformed(err)
	}
	return &role{
		name: name, path: path, id: "AROA" + randomText(16),
		arn:   fmt.Sprintf("arn:aws:iam::%s:role%s%s", s.accountID, path, name),
		trust: d, maxSession: time.Hour, created: time.Now(), tags: map[string]string{}, inline: map[string]*document{},
	}, nil
}

// attach adds a managed policy to a role; the lock is held.
func (s *Service) attach(r *role, policyARN string) error {
	if s.managedPolicy(policyARN) == nil {
		return noSuchEntity("Policy %s does not exist or is not attachable; of AWS's own the local AWS knows %s", policyARN,
			strings.Join(s.knownManaged(), ", "))
	}
	if !slices.Contains(r.attached, policyARN) {
		r.attached = append(r.attached, policyARN)
	}
	return nil
}

func (s *Service) knownManaged() []string {
	var names []string
	for _, p := range s.managed {
		if name, ours := strings.CutPrefix(p.arn, "arn:aws:iam::aws:policy/"); ours {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func noSuchEntity(format string, args ...any) *wire.Error {
	return wire.Errorf("NoSuchEntity", http.StatusNotFound, format, args...)
}

func invalid(format string, args ...any) *wire.Error {
	return wire.Errorf("ValidationError", http.StatusBadRequest, format, args...)
}

func malformed(err error) *wire.Error {
	return wire.Errorf("MalformedPolicyDocument", http.StatusBadRequest, "%v", err)
}

func alreadyExists(format string, args ...any) *wire.Error {
	return wire.Errorf("EntityAlreadyExists", http.StatusConflict, format, args...)
}

// randomText returns n random characters of the alphabet that AWS uses for ids.
func randomText(n int) string {
	raw := make([]byte, n)
	// crypto/rand.Read does not fail: it ends the process if the system has no randomness.
	_, _ = rand.Read(raw)
	return base32.StdEncoding.EncodeToString(raw)[:n]
}
