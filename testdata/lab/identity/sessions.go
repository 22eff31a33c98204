package identity

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// sessionLife is the validity of keys from Session. Lambda and instances renew theirs within twelve
// hours.
const sessionLife = 12 * time.Hour

// tokenLife is the time after its date for which a presigned GetCallerIdentity URL is valid as a
// token.
const tokenLife = 15 * time.Minute

// Credentials are a key, and for sessions its token and end.
type Credentials struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string    // empty for the operator
	Expiration      time.Time // zero for the operator
}

// key is the caller behind an access key.
type key struct {
	credentials Credentials
	caller      wire.Caller
	userID      string
}

// Operator returns the key that may do everything.
func (s *Service) Operator() Credentials { return s.operator }

// Session creates temporary keys of a role for a function or an instance. It does not check the
// trust policy. It fails if there is no such role.
func (s *Service) Session(roleARN, sessionName string) (Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.roleByARN(roleARN)
	if r == nil {
		return Credentials{}, fmt.Errorf("making a session %q: role %s does not exist", sessionName, roleARN)
	}
	return s.newSession(r, sessionName, sessionLife).credentials, nil
}

// newSession makes and enters keys; the lock is held. Keys that have ended are forgotten on this
// occasion.
func (s *Service) newSession(r *role, sessionName string, life time.Duration) *key {
	now := time.Now()
	for id, k := range s.keys {
		if end := k.credentials.Expiration; !end.IsZero() && end.Before(now) {
			delete(s.keys, id)
		}
	}
	k := &key{
		credentials: Credentials{
			AccessKeyID: "ASIA" + randomText(16), SecretAccessKey: randomText(40), SessionToken: randomText(64),
			Expiration: now.Add(life).UTC().Truncate(time.Second),
		},
		userID: r.id + ":" + sessionName,
	}
	k.caller = wire.Caller{
		AccountID: s.accountID, ARN: fmt.Sprintf("arn:aws:sts::%s:assumed-role/%s/%s", s.accountID, r.name, sessionName),
		RoleARN: r.arn, SessionName: sessionName, AccessKeyID: k.credentials.AccessKeyID,
	}
	s.keys[k.credentials.AccessKeyID] = k
	return k
}

// Caller returns the caller behind an access key and its session token. Errors:
// InvalidClientTokenId for an unknown key or a wrong token, ExpiredToken for a session that has
// ended or whose role was deleted.
func (s *Service) Caller(accessKeyID, sessionToken string) (wire.Caller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.keys[accessKeyID]
	if !ok {
		return wire.Caller{}, wire.Errorf("InvalidClientTokenId", http.StatusForbidden,
			"the security token included in the request is invalid: access key %q is not known to the local AWS", accessKeyID)
	}
	if subtle.ConstantTimeCompare([]byte(k.credentials.SessionToken), []byte(sessionToken)) != 1 {
		return wire.Caller{}, wire.Errorf("InvalidClientTokenId", http.StatusForbidden,
			"the security token included in the request does not belong to access key %s", accessKeyID)
	}
	if end := k.credentials.Expiration; !end.IsZero() && time.Now().After(end) {
		return wire.Caller{}, wire.Errorf("ExpiredToken", http.StatusForbidden,
			"the security token included in the request expired at %s", end.Format(time.RFC3339))
	}
	return k.caller, nil
}

// secretFor returns the secret of an access key.
func (s *Service) secretFor(accessKeyID string) (secret string, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.keys[accessKeyID]
	if !ok {
		return "", false
	}
	return k.credentials.SecretAccessKey, true
}

// VerifyPresigned returns the signer of a presigned GetCallerIdentity URL, as EKS does with its
// tokens. It recomputes the signature with the known secret, over the URL and the signed headers,
// and checks the expiry.
func (s *Service) VerifyPresigned(rawURL string, headers http.Header) (wire.Caller, error) {
	at, err := url.Parse(rawURL)
	if err != nil {
		return wire.Caller{}, fmt.Errorf("verifying a presigned URL: %w", err)
	}
	request := &http.Request{Method: http.MethodGet, URL: at, Host: at.Host, Header: headers.Clone()}
	if request.Header == nil {
		request.Header = http.Header{}
	}
	// Only the query may carry the signature here.
	request.Header.Del("Authorization")
	signature, err := wire.ParseSignature(request)
	if err != nil {
		return wire.Caller{}, err
	}
	if signature == nil {
		return wire.Caller{}, wire.Errorf("MissingAuthenticationToken", http.StatusForbidden, "the URL is not presigned")
	}
	if action := at.Query().Get("Action"); signature.Service != "sts" || action != "GetCallerIdentity" {
		return wire.Caller{}, wire.Errorf("AccessDenied", http.StatusForbidden,
			"the presigned URL is for %s %s, not for sts GetCallerIdentity", signature.Service, action)
	}
	caller, err := s.Caller(signature.AccessKeyID, signature.SessionToken)
	if err != nil {
		return wire.Caller{}, err
	}
	secret, _ := s.secretFor(signature.AccessKeyID)
	// STS takes such a URL for 15 minutes after its date, whatever shorter time it was signed for;
	// EKS builds on that.
	signature.Expires = max(signature.Expires, tokenLife)
	if err := signature.Verify(request, nil, secret, time.Now()); err != nil {
		return wire.Caller{}, err
	}
	return caller, nil
}
