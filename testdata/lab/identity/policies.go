package identity

import (
	"context"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
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
