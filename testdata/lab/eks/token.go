package eks

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const (
	tokenPrefix   = "k8s-aws-v1."
	clusterHeader = "x-k8s-aws-id"
	// maxExpires is the X-Amz-Expires that EKS' clients sign, tokenLife how long EKS takes a token
	// all the same.
	maxExpires, tokenLife = 60, 15 * time.Minute
)

// principal returns the signer of a cluster's token. The error describes faults of its form and
// signature.
func (s *Service) principal(token, clusterName string) (wire.Caller, error) {
	encoded, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return wire.Caller{}, fmt.Errorf("the token does not begin with %q", tokenPrefix)
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return wire.Caller{}, fmt.Errorf("what follows %q is not unpadded base64url: %w", tokenPrefix, err)
	}
	signed, err := url.Parse(string(raw))
	if err != nil {
		return wire.Caller{}, fmt.Errorf("the token holds no URL: %w", err)
	}
	if err := s.checkURL(signed, time.Now()); err != nil {
		return wire.Caller{}, err
	}
	// EKS asks STS with its own cluster's name in the header: a token signed for another cluster
	// has another signature.
	caller, err := s.config.Verifier.VerifyPresigned(signed.String(),
		http.Header{http.CanonicalHeaderKey(clusterHeader): {clusterName}})
	if err != nil {
		return wire.Caller{}, fmt.Errorf(
			"STS refused the token for cluster %q (is it signed for that cluster, and with keys that are still good?): %w",
			clusterName, err)
	}
	return caller, nil
}

// checkURL makes EKS's checks of the presigned URL before it is used.
func (s *Service) checkURL(u *url.URL, now time.Time) error {
	if want := "sts." + s.config.Region + ".amazonaws.com"; u.Scheme != "https" || u.Host != want {
		return fmt.Errorf("the token's URL is at %s://%s: want https://%s", u.Scheme, u.Host, want)
	}
	if u.Path != "" && u.Path != "/" {
		return fmt.Errorf("the token's URL has the path %q: want none", u.Path)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return fmt.Errorf("the token's URL has a query that cannot be read: %w", err)
	}
	return checkQuery(query, now)
}

// checkQuery checks the parameters of the presigned URL.
func checkQuery(query url.Values, now time.Time) error {
	allowed := []string{
		"action", "version", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-security-token",
		"x-amz-signature",
		"x-amz-signedheaders", "x-amz-user-agent", "x-id",
	}
	for name, values := range query {
		if !slices.Contains(allowed, strings.ToLower(name)) || len(values) != 1 {
			return fmt.Errorf("the token's URL has the parameter %q, unknown or more than once", name)
		}
	}
	if action := query.Get("Action"); action != "GetCallerIdentity" {
		return fmt.Errorf("the token's URL calls %q: want GetCallerIdentity", action)
	}
	if !slices.Contains(strings.Split(strings.ToLower(query.Get("X-Amz-SignedHeaders")), ";"), clusterHeader) {
		return fmt.Errorf("the header %s, which names the cluster, is not among the signed ones (%s)", clusterHeader,
			query.Get("X-Amz-SignedHeaders"))
	}
	if expires, err := strconv.Atoi(query.Get("X-Amz-Expires")); err != nil || expires < 0 || expires > maxExpires {
		return fmt.Errorf("X-Amz-Expires is %q: want at most %d seconds", query.Get("X-Amz-Expires"), maxExpires)
	}
	signedAt, err := time.Parse("20060102T150405Z", query.Get("X-Amz-Date"))
	if err != nil {
		return fmt.Errorf("X-Amz-Date %q is not a time", query.Get("X-Amz-Date"))
	}
	if age := now.Sub(signedAt); age > tokenLife || age < -tokenLife {
		return fmt.Errorf("the token was signed at %s: it is good for %s", signedAt.Format(time.RFC3339), tokenLife)
	}
	return nil
}

// user is a principal's identity in a cluster.
type user struct {
	name   string
	groups []string
}

var errNoEntry = errors.New("no access entry")

// inForce reports whether the API server that asks knows the entry.
func (s *Service) inForce(entry *accessEntry) bool {
	if !entry.deleted.IsZero() {
		return !s.known(entry, time.Since(entry.deleted))
	}
	return s.known(entry, time.Since(entry.created))
}

// known reports whether the API server that asks knows the latest change of the entry, which has the
// age.
func (s *Service) known(entry *accessEntry, age time.Duration) bool {
	if age < s.config.AccessDelay {
		return false
	}
	if age >= s.config.AccessDelay+s.config.AccessSpread {
		return true
	}
	entry.asked++
	return entry.asked%replicas == 0
}

// replicas is the number of API servers of a cluster on EKS.
const replicas = 2

// user maps a principal by the cluster's access entries.
func (s *Service) user(c *cluster, caller wire.Caller) (user, error) {
	principal := caller.RoleARN
	if principal == "" {
		principal = caller.ARN
	}
	entry := c.entries[principal]
	if gone := c.deleted[principal]; entry == nil && gone != nil && s.inForce(gone) {
		return s.userOf(gone, caller)
	}
	if entry == nil {
		return user{}, fmt.Errorf("%w for %s in cluster %q: create one with CreateAccessEntry or AWS::EKS::AccessEntry",
			errNoEntry, principal, c.Name)
	}
	if !s.inForce(entry) {
		return user{}, fmt.Errorf("the access entry of %s in cluster %q is not in force yet", principal, c.Name)
	}
	return s.userOf(entry, caller)
}

// userOf is the caller's identity by the entry.
func (s *Service) userOf(entry *accessEntry, caller wire.Caller) (user, error) {
	u := user{name: entry.username, groups: slices.Clone(entry.groups)}
	if strings.Contains(u.name, "{{EC2PrivateDNSName}}") {
		name, found := s.config.Instances.PrivateDNSName(caller.SessionName)
		if !found {
			return user{}, fmt.Errorf(
				"the session of %s is named %q, which is no instance: a node's session has its instance's id", entry.principal,
				caller.SessionName)
		}
		u.name = strings.ReplaceAll(u.name, "{{EC2PrivateDNSName}}", name)
	}
	u.name = strings.NewReplacer("{{SessionName}}", strings.ReplaceAll(caller.SessionName, "@", "-"), "{{SessionNameRaw}}",
		caller.SessionName, "{{AccountID}}", caller.AccountID).Replace(u.name)
	for _, p := range entry.policies {
		if p == clusterAdminPolicy {
			u.groups = append(u.groups, "system:masters") // EKS' own authorizer would allow everything; see the package comment
		}
	}
	return u, nil
}
