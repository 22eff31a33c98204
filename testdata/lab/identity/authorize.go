package identity

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// permission is one thing that a caller must be allowed for a call to go through.
type permission struct {
	action   string // "ec2:CreateFleet"
	resource string // an ARN, "*" for actions that take no resource, or anyResource
	context  map[string][]string
	// tagged is the resource whose tags conditions use; empty if it has no tags or does not exist
	// before the call.
	tagged string
}

// authorize refuses calls of roles whose policies do not allow them. The operator may do
// everything.
func (s *Service) authorize(_ context.Context, c *wire.Call) error {
	permissions := s.permissions(c)
	if len(permissions) > 0 {
		c.Permission = permissions[0].action
	}
	if c.Caller.RoleARN == "" {
		return nil
	}
	for _, p := range permissions {
		if err := s.check(c, p); err != nil {
			return err
		}
	}
	return nil
}

// check asks the policies of the calling role for one permission.
func (s *Service) check(c *wire.Call, p permission) error {
	q := question{action: p.action, resource: p.resource, context: map[string][]string{
		"aws:principalarn": {c.Caller.RoleARN}, "aws:principalaccount": {c.Caller.AccountID},
		"aws:requestedregion": {c.Region},
		"aws:securetransport": {"true"}, "aws:userid": {c.Caller.SessionName},
	}}
	for key, values := range p.context {
		q.context[strings.ToLower(key)] = values
	}
	gone := false
	if p.tagged != "" {
		tags, state := s.tagsOf(p.tagged)
		q.tagsUnknown, gone = state == tagsUnknown, state == resourceGone
		service, _, _ := strings.Cut(p.action, ":")
		for key, value := range tags {
			q.context["aws:resourcetag/"+strings.ToLower(key)] = []string{value}
			q.context[service+":resourcetag/"+strings.ToLower(key)] = []string{value}
		}
	}
	ok, why := s.ask(c.Caller.RoleARN, q, s.inForce)
	if ok {
		return nil
	}
	if allowed, _ := s.ask(c.Caller.RoleARN, q, s.grantsOf); allowed {
		why = NotInForce
	} else if gone {
		why = NoResource
	}
	resource := p.resource
	if resource == anyResource {
		resource = "*"
	}
	code, status := "AccessDenied", http.StatusForbidden
	switch {
	case c.Service == "ec2":
		code = "UnauthorizedOperation"
	case c.HTTP.Header.Get("X-Amz-Target") != "":
		code, status = "AccessDeniedException", http.StatusBadRequest
	case slices.Contains([]string{"lambda", "eks", "scheduler", "savingsplans"}, c.Service):
		code = "AccessDeniedException"
	}
	return wire.Errorf(code, status, "User: %s is not authorized to perform: %s on resource: %s %s", c.Caller.ARN,
		p.action, resource, why)
}

// NoResource is the reason of a refused call that depends on the tags of a resource, where the
// resource does not exist. AWS does not say so.
const NoResource = "because no identity-based policy allows it for a resource that does not exist"

// tagState says what is known of a resource's tags.
type tagState int

const (
	tagsKnown tagState = iota
	// tagsUnknown says that no service knows the tags.
	tagsUnknown
	// resourceGone says that the resource does not exist.
	resourceGone
)

// tagsOf returns the tags of a resource.
func (s *Service) tagsOf(arn string) (map[string]string, tagState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(arn, fmt.Sprintf("arn:aws:iam::%s:", s.accountID)) {
		if p, ok := s.profiles[lastPart(arn)]; ok && p.arn == arn {
			return p.tags, tagsKnown
		}
		if r := s.roleByARN(arn); r != nil {
			return r.tags, tagsKnown
		}
		return nil, resourceGone
	}
	if s.resourceTags == nil {
		return nil, tagsUnknown
	}
	lookup := s.resourceTags
	s.mu.Unlock()
	tags, found := lookup(arn)
	s.mu.Lock()
	if !found {
		return nil, resourceGone
	}
	return tags, tagsKnown
}

// permissions lists the permissions of a call, the call's own action first.
func (s *Service) permissions(c *wire.Call) []permission {
	switch c.Service {
	case "sts":
		if c.Action == "AssumeRole" {
			return []permission{{action: "sts:AssumeRole", resource: c.Form.Get("RoleArn"), tagged: c.Form.Get("RoleArn")}}
		}
		return nil // GetCallerIdentity needs no permission
	case "ec2":
		return s.ec2Permissions(c)
	case "iam":
		return s.iamPermissions(c)
	case "lambda", "eks", "scheduler", "s3", "arc-zonal-shift", "savingsplans":
		return []permission{s.restPermission(c)}
	default:
		return s.targetPermissions(c)
	}
}
