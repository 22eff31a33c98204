package identity

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const stsNamespace = "https://sts.amazonaws.com/doc/2011-06-15/"

func (s *Service) stsActions() wire.Actions {
	return wire.Actions{"GetCallerIdentity": s.getCallerIdentity, "AssumeRole": s.assumeRole}
}

func (s *Service) getCallerIdentity(_ context.Context, c *wire.Call) (*wire.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	userID := c.Caller.AccessKeyID
	if k, ok := s.keys[c.Caller.AccessKeyID]; ok {
		userID = k.userID
	}
	return wire.QueryXML(c, stsNamespace, struct {
		Arn     string
		UserID  string `xml:"UserId"`
		Account string
	}{c.Caller.ARN, userID, s.accountID})
}

var sessionNamePattern = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

func (s *Service) assumeRole(_ context.Context, c *wire.Call) (*wire.Response, error) {
	var in struct {
		RoleArn         string
		RoleSessionName string
		DurationSeconds *int
	}
	if err := c.DecodeQuery(&in); err != nil {
		return nil, err
	}
	if !sessionNamePattern.MatchString(in.RoleSessionName) {
		return nil, invalid("RoleSessionName %q must be 2 to 64 letters, digits and _+=,.@-", in.RoleSessionName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	denied := func(why string) error {
		return wire.Errorf("AccessDenied", http.StatusForbidden,
			"User: %s is not authorized to perform: sts:AssumeRole on resource: %s %s", c.Caller.ARN, in.RoleArn, why)
	}
	r := s.roleByARN(in.RoleArn)
	if r == nil {
		return nil, denied("because the role does not exist")
	}
	if !r.trusts(c.Caller) {
		return nil, denied("because the role's trust policy does not allow it")
	}
	life := time.Hour
	if in.DurationSeconds != nil {
		life = time.Duration(*in.DurationSeconds) * time.Second
		if life < 15*time.Minute || life > r.maxSession {
			return nil, invalid("DurationSeconds %d must be from 900 to the role's MaxSessionDuration of %d",
				*in.DurationSeconds, int(r.maxSession.Seconds()))
		}
	}
	k := s.newSession(r, in.RoleSessionName, life)
	var result struct {
		AssumedRoleUser struct {
			AssumedRoleID string `xml:"AssumedRoleId"`
			Arn           string
		}
		Credentials struct {
			AccessKeyID     string `xml:"AccessKeyId"`
			SecretAccessKey string
			SessionToken    string
			Expiration      time.Time
		}
	}
	result.AssumedRoleUser.AssumedRoleID, result.AssumedRoleUser.Arn = k.userID, k.caller.ARN
	result.Credentials.AccessKeyID, result.Credentials.SecretAccessKey = k.credentials.AccessKeyID,
		k.credentials.SecretAccessKey
	result.Credentials.SessionToken, result.Credentials.Expiration = k.credentials.SessionToken, k.credentials.Expiration
	return wire.QueryXML(c, stsNamespace, result)
}

// trusts reports whether the role's trust policy lets the caller assume it. It supports the
// principal of the whole account, "*", the caller's own ARN and its role's. Services and
// federations do not call AssumeRole.
func (r *role) trusts(caller wire.Caller) bool {
	outcome := false
	for _, st := range r.trust.Statements {
		names := principals(st.Principal, "AWS")
		match := slices.ContainsFunc(names, func(name string) bool {
			return name == "*" || name == caller.AccountID || name == fmt.Sprintf("arn:aws:iam::%s:root", caller.AccountID) ||
				name == caller.ARN || name == caller.RoleARN && name != ""
		})
		q := question{action: "sts:AssumeRole", context: map[string][]string{"aws:principalarn": {principalARN(caller)}}}
		st.Resource = texts{"*"}
		if !match || !st.matches(q) {
			continue
		}
		if st.Effect == "Deny" {
			return false
		}
		outcome = true
	}
	return outcome
}

// principals reads the names of one kind from a Principal: "*" or {"AWS": ...}.
func principals(principal any, kind string) []string {
	switch v := principal.(type) {
	case string:
		return []string{v}
	case map[string]any:
		switch names := v[kind].(type) {
		case string:
			return []string{names}
		case []any:
			var list []string
			for _, name := range names {
				if text, ok := name.(string); ok {
					list = append(list, strings.TrimSpace(text))
				}
			}
			return list
		}
	}
	return nil
}

// principalARN is the value of aws:PrincipalArn: the role behind a session, else the caller itself.
func principalARN(caller wire.Caller) string {
	if caller.RoleARN != "" {
		return caller.RoleARN
	}
	return caller.ARN
}
