package identity

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const iamNamespace = "https://iam.amazonaws.com/doc/2010-05-08/"

func (s *Service) iamActions() wire.Actions {
	return wire.Actions{
		"CreateRole":                    s.createRole,
		"GetRole":                       s.getRole,
		"DeleteRole":                    s.deleteRole,
		"PutRolePolicy":                 s.putRolePolicy,
		"DeleteRolePolicy":              s.deleteRolePolicy,
		"AttachRolePolicy":              s.attachRolePolicy,
		"ListAttachedRolePolicies":      s.listAttachedRolePolicies,
		"CreateInstanceProfile":         s.createInstanceProfile,
		"GetInstanceProfile":            s.getInstanceProfile,
		"ListInstanceProfiles":          s.listInstanceProfiles,
		"DeleteInstanceProfile":         s.deleteInstanceProfile,
		"TagInstanceProfile":            s.tagInstanceProfile,
		"AddRoleToInstanceProfile":      s.addRoleToInstanceProfile,
		"RemoveRoleFromInstanceProfile": s.removeRoleFromInstanceProfile,
	}
}

type tagXML struct {
	Key   string
	Value string
}

func showTags(tags map[string]string) []tagXML {
	var shown []tagXML
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		shown = append(shown, tagXML{key, tags[key]})
	}
	return shown
}

func takeTags(into map[string]string, given []tagXML) {
	for _, t := range given {
		into[t.Key] = t.Value
	}
}

type roleXML struct {
	Path                     string
	RoleName                 string
	RoleID                   string `xml:"RoleId"`
	Arn                      string
	CreateDate               time.Time
	AssumeRolePolicyDocument string // URL-encoded, as IAM gives it
	Description              string `xml:",omitempty"`
	MaxSessionDuration       int
	Tags                     []tagXML `xml:"Tags>member"`
}

// escapeDocument encodes a policy as IAM does in its answers (RFC 3986, a space is %20).
func escapeDocument(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

func (r *role) show() roleXML {
	return roleXML{
		r.path, r.name, r.id, r.arn, r.created.UTC().Truncate(time.Second), escapeDocument(r.trust.text), r.description,
		int(r.maxSession.Seconds()), showTags(r.tags),
	}
}

// role finds a role by name; the lock is held.
func (s *Service) role(name string) (*role, error) {
	r, ok := s.roles[name]
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", name)
	}
	return r, nil
}

func (s *Service) createRole(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		RoleName, Path, AssumeRolePolicyDocument, Description string
		MaxSessionDuration                                    int
		Tags                                                  []tagXML
	}
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	r, err := s.newRole(in.RoleName, in.Path, in.AssumeRolePolicyDocument)
	if err != nil {
		return nil, err
	}
	r.description = in.Description
	if in.MaxSessionDuration != 0 {
		r.maxSession = time.Duration(in.MaxSessionDuration) * time.Second
	}
	takeTags(r.tags, in.Tags)
	if err := s.enter(r); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return wire.QueryXML(c, iamNamespace, struct{ Role roleXML }{r.show()})
}

// enter adds a new role.
func (s *Service) enter(r *role) error {
	s.mu.Lock()
	defer s.commit()
	if _, taken := s.roles[r.name]; taken {
		return alreadyExists("Role with name %s already exists.", r.name)
	}
	s.roles[r.name] = r
	return nil
}

// withRole decodes a request that names a role and runs f on it with the lock held. A nil result is
// an answer without output.
func (s *Service) withRole(c *wire.Call, in any, name *string, f func(r *role) (any, error)) (*wire.Response, error) {
	if err := c.DecodeQuery(in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.commit()
	r, err := s.role(*name)
	if err != nil {
		return nil, err
	}
	result, err := f(r)
	if err != nil {
		return nil, err
	}
	return wire.QueryXML(c, iamNamespace, result)
}

func (s *Service) getRole(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) { return struct{ Role roleXML }{r.show()}, nil })
}

func (s *Service) deleteRole(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) { return nil, s.removeRole(r) })
}

// removeRole deletes a role that nothing hangs on; the lock is held.
func (s *Service) removeRole(r *role) error {
	conflict := func(format string, args ...any) error {
		return wire.Errorf("DeleteConflict", http.StatusConflict, format, args...)
	}
	if len(r.attached) > 0 {
		return conflict("Cannot delete entity, must detach all policies first: %s", strings.Join(r.attached, ", "))
	}
	if len(r.inline) > 0 {
		return conflict("Cannot delete entity, must delete policies first: %s",
			strings.Join(slices.Sorted(maps.Keys(r.inline)), ", "))
	}
	for _, p := range s.profiles {
		if p.role == r.name {
			return conflict("Cannot delete entity, must remove roles from instance profile %s first.", p.name)
		}
	}
	delete(s.roles, r.name)
	return nil
}

// HasRole reports whether a role of this name exists.
func (s *Service) HasRole(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roles[name] != nil
}
