package identity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// anyResource stands for a resource that the call does not name in a way that the simulator reads:
// statements about any resource then apply.
const anyResource = ""

// question is the request that a policy decides about.
type question struct {
	action   string
	resource string
	context  map[string][]string // keys in lower case
	// tagsUnknown is set if no service knows the resource's tags. Conditions about them then hold.
	tagsUnknown bool
}

// decision is the outcome of all policies of a role.
type decision int

const (
	implicitDeny decision = iota
	allowed
	explicitDeny
)

// Allowed reports whether the identity policies of a role allow an action on a resource, and why or
// why not. context holds the condition keys of the request, such as "aws:RequestTag/team". A role
// that does not exist is allowed nothing. Changes hold at once: see Propagation.
func (s *Service) Allowed(roleARN, action, resource string, context map[string][]string) (bool, string) {
	q := question{action: action, resource: resource, context: map[string][]string{}}
	for key, values := range context {
		q.context[strings.ToLower(key)] = values
	}
	return s.ask(roleARN, q, s.grantsOf)
}

// ask decides by those policies of a role that grantsOf returns.
func (s *Service) ask(roleARN string, q question, grantsOf func(*role) grants) (bool, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roleByARN(roleARN)
	if r == nil {
		return false, fmt.Sprintf("role %s does not exist", roleARN)
	}
	g := grantsOf(r)
	policies := g.policies
	outcome, why := implicitDeny, ""
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		switch v, sid := policies[name].evaluate(q, func(sid, action string) {
			s.used.note(use{r.name, name, sid, action})
		}); {
		case v == explicitDeny:
			return false, fmt.Sprintf("with an explicit deny in policy %s%s", name, sid)
		case v == allowed && outcome != allowed:
			outcome, why = allowed, fmt.Sprintf("by policy %s%s", name, sid)
		}
	}
	if outcome == allowed && g.bounded != "" {
		// A boundary allows nothing alone: the role may do what both allow.
		if g.boundary == nil {
			return false, "because the permissions boundary " + g.bounded + " does not exist"
		}
		switch v, sid := g.boundary.evaluate(q, nil); v {
		case explicitDeny:
			return false, fmt.Sprintf("with an explicit deny in a permissions boundary %s%s", g.bounded, sid)
		case implicitDeny:
			return false, fmt.Sprintf("because no permissions boundary allows the %s action", q.action)
		}
	}
	if outcome == allowed {
		return true, why
	}
	return false, fmt.Sprintf("because no identity-based policy allows the %s action", q.action)
}

// evaluate returns the policy's decision and the statement behind it. It calls note, if not nil,
// for each statement that allows, with the matching action.
func (d *document) evaluate(q question, note func(sid, action string)) (decision, string) {
	outcome, why := implicitDeny, ""
	for _, s := range d.Statements {
		if !s.matches(q) {
			continue
		}
		sid := ""
		if s.Sid != "" {
			sid = " (" + s.Sid + ")"
		}
		if s.Effect == "Deny" {
			return explicitDeny, sid
		}
		if note != nil {
			for _, action := range s.Action {
				if matchesAction(action, q.action) {
					note(s.Sid, action)
				}
			}
		}
		if outcome != allowed {
			outcome, why = allowed, sid
		}
	}
	return outcome, why
}

// matchesAction compares an action with a pattern; neither knows case.
func matchesAction(pattern, action string) bool {
	return wildcard(strings.ToLower(pattern), strings.ToLower(action))
}

func (s statement) matches(q question) bool {
	asked := func(pattern string) bool { return matchesAction(pattern, q.action) }
	if len(s.Action) > 0 && !slices.ContainsFunc(s.Action, asked) || len(s.NotAction) > 0 &&
		slices.ContainsFunc(s.NotAction, asked) {
		return false
	}
	matchesResource := func(pattern string) bool { return wildcard(q.substitute(pattern), q.resource) }
	if q.resource == anyResource {
		// A Deny must be certain to apply; an Allow gets the benefit of the doubt.
		if s.Effect == "Deny" && !slices.Contains(s.Resource, "*") {
			return false
		}
	} else if len(s.Resource) > 0 && !slices.ContainsFunc(s.Resource, matchesResource) || len(s.NotResource) > 0 &&
		slices.ContainsFunc(s.NotResource, matchesResource) {
		return false
	}
	return s.conditionsHold(q)
}

func (s statement) conditionsHold(q question) bool {
	for operator, keys := range s.Condition {
		parsed, err := parseOperator(operator)
		if err != nil {
			// Documents are checked when they are stored. An unreadable one allows nothing.
			return s.Effect == "Deny"
		}
		for key, wanted := range keys {
			if !parsed.holds(q, key, wanted, s.Effect == "Allow") {
				return false
			}
		}
	}
	return true
}

// substitute replaces policy variables such as ${aws:PrincipalTag/team} by the request's value of
// that key. A variable without a value stays and matches nothing. See
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html.
func (q question) substitute(pattern string) string {
	if !strings.Contains(pattern, "${") {
		return pattern
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(pattern, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			out.WriteString("${" + after)
			return out.String()
		}
		if values := q.context[strings.ToLower(name)]; len(values) == 1 {
			out.WriteString(values[0])
		} else {
			out.WriteString("${" + name + "}")
		}
		pattern = rest
	}
}

// wildcard matches a text against a pattern in which * stands for any characters and ? for one.
func wildcard(pattern, text string) bool {
	// p and t move on together; star remembers the last * and where the text stood, to go back to.
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
