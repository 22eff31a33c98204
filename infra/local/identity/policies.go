package identity

import (
	"context"
	"maps"
	"slices"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

func (s *Service) putRolePolicy(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName, PolicyName, PolicyDocument string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) {
		if err := checkName("policy name", in.PolicyName, "/"); err != nil {
			return nil, err
		}
		d, err := parseDocument(in.PolicyDocument, false)
		if err != nil {
			return nil, malformed(err)
		}
		r.inline[in.PolicyName] = d
		return nil, nil
	})
}

func (s *Service) getRolePolicy(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName, PolicyName string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) {
		d, ok := r.inline[in.PolicyName]
		if !ok {
			return nil, noSuchEntity("The role policy with name %s cannot be found.", in.PolicyName)
		}
		return struct{ RoleName, PolicyName, PolicyDocument string }{r.name, in.PolicyName, escapeDocument(d.text)}, nil
	})
}

func (s *Service) listRolePolicies(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) {
		return struct {
			IsTruncated bool
			PolicyNames []string `xml:"PolicyNames>member"`
		}{false, slices.Sorted(maps.Keys(r.inline))}, nil
	})
}

func (s *Service) deleteRolePolicy(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName, PolicyName string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) {
		if _, ok := r.inline[in.PolicyName]; !ok {
			return nil, noSuchEntity("The role policy with name %s cannot be found.", in.PolicyName)
		}
		delete(r.inline, in.PolicyName)
		return nil, nil
	})
}

func (s *Service) attachRolePolicy(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName, PolicyArn string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) { return nil, s.attach(r, in.PolicyArn) })
}

func (s *Service) detachRolePolicy(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ RoleName, PolicyArn string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) {
		at := slices.Index(r.attached, in.PolicyArn)
		if at < 0 {
			return nil, noSuchEntity("Policy %s was not found.", in.PolicyArn)
		}
		r.attached = slices.Delete(r.attached, at, at+1)
		return nil, nil
	})
}

func (s *Service) listAttachedRolePolicies(_ context.Context, c *wire.Call) (*wire.Response, error) {
	type attachedPolicy struct{ PolicyName, PolicyArn string }
	var in struct{ RoleName string }
	return s.withRole(c, &in, &in.RoleName, func(r *role) (any, error) {
		var result struct {
			IsTruncated      bool
			AttachedPolicies []attachedPolicy `xml:"AttachedPolicies>member"`
		}
		for _, arn := range r.attached {
			result.AttachedPolicies = append(result.AttachedPolicies, attachedPolicy{lastPart(arn), arn})
		}
		return result, nil
	})
}

func (s *Service) getPolicy(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct{ PolicyArn string }
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.managedPolicy(in.PolicyArn)
	if p == nil {
		return nil, noSuchEntity("Policy %s was not found.", in.PolicyArn)
	}
	attachments := 0
	for _, r := range s.roles {
		if slices.Contains(r.attached, p.arn) {
			attachments++
		}
	}
	return wire.QueryXML(c, iamNamespace, struct{ Policy policyXML }{
		policyXML{lastPart(p.name), p.arn, p.path, "v1", p.description, attachments, true},
	})
}

type policyXML struct {
	PolicyName, Arn, Path string
	DefaultVersionID      string `xml:"DefaultVersionId"`
	Description           string
	AttachmentCount       int
	IsAttachable          bool
}
