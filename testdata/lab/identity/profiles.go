package identity

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

type profileXML struct {
	Path                string
	InstanceProfileName string
	InstanceProfileID   string `xml:"InstanceProfileId"`
	Arn                 string
	CreateDate          time.Time
	Roles               []roleXML `xml:"Roles>member"`
	Tags                []tagXML  `xml:"Tags>member"`
}

// showProfile shows a profile; the lock is held.
func (s *Service) showProfile(p *instanceProfile) profileXML {
	shown := profileXML{p.path, p.name, p.id, p.arn, p.created.UTC().Truncate(time.Second), nil, showTags(p.tags)}
	if r, ok := s.roles[p.role]; ok {
		shown.Roles = []roleXML{r.show()}
	}
	return shown
}

func (s *Service) newProfile(name, path string) (*instanceProfile, error) {
	if path == "" {
		path = "/"
	}
	if err := checkName("instance profile name", name, path); err != nil {
		return nil, err
	}
	return &instanceProfile{
		name: name, path: path, id: "AIPA" + randomText(16),
		arn:     fmt.Sprintf("arn:aws:iam::%s:instance-profile%s%s", s.accountID, path, name),
		created: time.Now(), tags: map[string]string{},
	}, nil
}

// enterProfile adds a new profile; the lock is held.
func (s *Service) enterProfile(p *instanceProfile) error {
	if _, taken := s.profiles[p.name]; taken {
		return alreadyExists("Instance Profile %s already exists.", p.name)
	}
	s.profiles[p.name] = p
	return nil
}

// withProfile decodes a request that names an instance profile and runs f on it with the lock held.
func (s *Service) withProfile(c *wire.Call, in any, name *string,
	f func(p *instanceProfile) (any, error)) (*wire.Response, error) {
	if err := c.DecodeQuery(in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.commit()
	p, ok := s.profiles[*name]
	if !ok {
		return nil, noSuchEntity("Instance Profile %s cannot be found.", *name)
	}
	result, err := f(p)
	if err != nil {
		return nil, err
	}
	return wire.QueryXML(c, iamNamespace, result)
}

func (s *Service) createInstanceProfile(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		InstanceProfileName, Path string
		Tags                      []tagXML
	}
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	p, err := s.newProfile(in.InstanceProfileName, in.Path)
	if err != nil {
		return nil, err
	}
	takeTags(p.tags, in.Tags)
	s.mu.Lock()
	defer s.commit()
	if err := s.enterProfile(p); err != nil {
		return nil, err
	}
	return wire.QueryXML(c, iamNamespace, struct{ InstanceProfile profileXML }{s.showProfile(p)})
}

func (s *Service) getInstanceProfile(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ InstanceProfileName string }
	return s.withProfile(c, &in, &in.InstanceProfileName, func(p *instanceProfile) (any, error) {
		return struct{ InstanceProfile profileXML }{s.showProfile(p)}, nil
	})
}

func (s *Service) listInstanceProfiles(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ PathPrefix string }
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.profilesWhere(c, func(p *instanceProfile) bool { return strings.HasPrefix(p.path, in.PathPrefix) })
}

// profilesWhere answers with the profiles that a condition picks; the lock is held.
func (s *Service) profilesWhere(c *wire.Call, pick func(p *instanceProfile) bool) (*wire.Response, error) {
	var result struct {
		IsTruncated      bool
		InstanceProfiles []profileXML `xml:"InstanceProfiles>member"`
	}
	for _, name := range slices.Sorted(maps.Keys(s.profiles)) {
		if p := s.profiles[name]; pick(p) {
			result.InstanceProfiles = append(result.InstanceProfiles, s.showProfile(p))
		}
	}
	return wire.QueryXML(c, iamNamespace, result)
}

func (s *Service) deleteInstanceProfile(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ InstanceProfileName string }
	return s.withProfile(c, &in, &in.InstanceProfileName, func(p *instanceProfile) (any, error) {
		if p.role != "" {
			return nil, wire.Errorf("DeleteConflict", http.StatusConflict,
				"Cannot delete entity, must remove roles from instance profile first: %s", p.role)
		}
		delete(s.profiles, p.name)
		return nil, nil
	})
}

func (s *Service) tagInstanceProfile(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		InstanceProfileName string
		Tags                []tagXML
	}
	return s.withProfile(c, &in, &in.InstanceProfileName, func(p *instanceProfile) (any, error) {
		takeTags(p.tags, in.Tags)
		return nil, nil
	})
}

func (s *Service) addRoleToInstanceProfile(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ InstanceProfileName, RoleName string }
	return s.withProfile(c, &in, &in.InstanceProfileName, func(p *instanceProfile) (any, error) {
		return nil, s.fill(p, in.RoleName)
	})
}

// fill puts a role into a profile, which holds at most one; the lock is held.
func (s *Service) fill(p *instanceProfile, roleName string) error {
	if p.role != "" {
		return wire.Errorf("LimitExceeded", http.StatusConflict,
			"Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1 (instance profile %s has role %s)", p.name, p.role)
	}
	if _, err := s.role(roleName); err != nil {
		return err
	}
	p.role = roleName
	return nil
}

func (s *Service) removeRoleFromInstanceProfile(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ InstanceProfileName, RoleName string }
	return s.withProfile(c, &in, &in.InstanceProfileName, func(p *instanceProfile) (any, error) {
		if p.role != in.RoleName {
			return nil, noSuchEntity("The role %s is not in instance profile %s.", in.RoleName, p.name)
		}
		p.role = ""
		return nil, nil
	})
}
