package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Signature is a request's information about its signer, from the Authorization header or from the
// query of a presigned URL. See
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html.
type Signature struct {
	AccessKeyID  string
	Date         string // the credential scope's day, 20060102
	Region       string
	Service      string // the signing name
	SessionToken string // empty for long-lived keys
	// SignedHeaders are lower case and sorted, as they were signed.
	SignedHeaders []string
	Signature     string // hexadecimal
	// Time is when the request was signed.
	Time time.Time
	// Presigned means that the signature is in the URL. Expires is then its validity.
	Presigned bool
	Expires   time.Duration
}

const (
	signingAlgorithm = "AWS4-HMAC-SHA256"
	signingTime      = "20060102T150405Z"
	// clockSkew is AWS's maximum difference between the signing time in a header and now.
	clockSkew = 15 * time.Minute
	// maxPresignedExpiry is the longest life that AWS allows to a presigned URL.
	maxPresignedExpiry = 7 * 24 * time.Hour
)

// ParseSignature reads a request's signature without checking it. It returns nil and no error for
// an unsigned request.
func ParseSignature(r *http.Request) (*Signature, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		return parseAuthorization(r, header)
	}
	query := r.URL.Query()
	if query.Get("X-Amz-Credential") != "" {
		return parsePresigned(query)
	}
	return nil, nil
}

func parseAuthorization(r *http.Request, header string) (*Signature, error) {
	algorithm, rest, _ := strings.Cut(header, " ")
	if algorithm != signingAlgorithm {
		return nil, Errorf("IncompleteSignature", http.StatusForbidden,
			"the Authorization header's algorithm is %.40q; the local AWS takes %s", algorithm, signingAlgorithm)
	}
	s := &Signature{SessionToken: r.Header.Get("X-Amz-Security-Token")}
	for _, part := range strings.Split(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			if err := s.setScope(value); err != nil {
				return nil, err
			}
		case "SignedHeaders":
			s.SignedHeaders = strings.Split(value, ";")
		case "Signature":
			s.Signature = value
		}
	}
	signed := r.Header.Get("X-Amz-Date")
	at, err := time.Parse(signingTime, signed)
	if err != nil {
		return nil, Errorf("IncompleteSignature", http.StatusForbidden, "the X-Amz-Date header %.40q is not of the form %s",
			signed, signingTime)
	}
	s.Time = at
	return s, s.complete()
}

func parsePresigned(query url.Values) (*Signature, error) {
	if algorithm := query.Get("X-Amz-Algorithm"); algorithm != signingAlgorithm {
		return nil, Errorf("IncompleteSignature", http.StatusForbidden, "X-Amz-Algorithm is %.40q; the local AWS takes %s",
			algorithm, signingAlgorithm)
	}
	s := &Signature{
		SessionToken:  query.Get("X-Amz-Security-Token"),
		SignedHeaders: strings.Split(query.Get("X-Amz-SignedHeaders"), ";"),
		Signature:     query.Get("X-Amz-Signature"),
		Presigned:     true,
		// STS URLs may leave the expiry out; 15 minutes is then the limit.
		Expires: clockSkew,
	}
	if err := s.setScope(query.Get("X-Amz-Credential")); err != nil {
		return nil, err
	}
	at, err := time.Parse(signingTime, query.Get("X-Amz-Date"))
	if err != nil {
		return nil, Errorf("IncompleteSignature", http.StatusForbidden, "X-Amz-Date %.40q is not of the form %s",
			query.Get("X-Amz-Date"), signingTime)
	}
	s.Time = at
	if given := query.Get("X-Amz-Expires"); given != "" {
		seconds, err := strconv.Atoi(given)
		if err != nil || seconds < 0 || time.Duration(seconds) > maxPresignedExpiry/time.Second {
			return nil, Errorf("AuthorizationQueryParametersError", http.StatusForbidden,
				"X-Amz-Expires %.40q is not a number of seconds from 0 to %d", given, maxPresignedExpiry/time.Second)
		}
		s.Expires = time.Duration(seconds) * time.Second
	}
	return s, s.complete()
}

// setScope reads AKID/20060102/region/service/aws4_request.
func (s *Signature) setScope(credential string) error {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 || parts[4] != "aws4_request" {
		return Errorf("IncompleteSignature", http.StatusForbidden,
			"the credential %.120q is not of the form KEY/DATE/REGION/SERVICE/aws4_request", credential)
	}
	s.AccessKeyID, s.Date, s.Region, s.Service = parts[0], parts[1], parts[2], parts[3]
	return nil
}

func (s *Signature) complete() error {
	if s.AccessKeyID == "" || s.Signature == "" || len(s.SignedHeaders) == 0 || s.SignedHeaders[0] == "" {
		return Errorf("IncompleteSignature", http.StatusForbidden,
			"the signature needs a Credential, SignedHeaders and a Signature")
	}
	return nil
}

// Verify recomputes the signature of a request with the secret of its access key and compares.
// payload is the body as it was sent. Errors: SignatureDoesNotMatch, RequestExpired (with now
// outside of the time that the signature is good for).
func (s *Signature) Verify(r *http.Request, payload []byte, secret string, now time.Time) error {
	if s.Presigned {
		if now.After(s.Time.Add(s.Expires)) {
			return Errorf("ExpiredToken", http.StatusForbidden, "the presigned URL of %s expired at %s",
				s.Time.Format(time.RFC3339), s.Time.Add(s.Expires).Format(time.RFC3339))
		}
		if s.Time.After(now.Add(clockSkew)) {
			return Errorf("RequestExpired", http.StatusForbidden, "the presigned URL is signed for %s, which is still to come",
				s.Time.Format(time.RFC3339))
		}
	} else if now.Sub(s.Time).Abs() > clockSkew {
		return Errorf("RequestExpired", http.StatusForbidden, "the request was signed at %s, more than %s from now",
			s.Time.Format(time.RFC3339), clockSkew)
	}
	if !slices.Contains(s.SignedHeaders, "host") {
		return Errorf("SignatureDoesNotMatch", http.StatusForbidden, "the host header must be among the signed headers")
	}
	canonical := s.canonicalRequest(r, payload)
	scope := s.Date + "/" + s.Region + "/" + s.Service + "/aws4_request"
	digest := sha256.Sum256([]byte(canonical))
	toSign := strings.Join([]string{signingAlgorithm, s.Time.Format(signingTime), scope, hex.EncodeToString(digest[:])},
		"\n")
	key := []byte("AWS4" + secret)
	for _, step := range []string{s.Date, s.Region, s.Service, "aws4_request"} {
		key = keyedHash(key, step)
	}
	want := hex.EncodeToString(keyedHash(key, toSign))
	if !hmac.Equal([]byte(want), []byte(s.Signature)) {
		return Errorf("SignatureDoesNotMatch", http.StatusForbidden,
			"the signature does not fit the request and the secret of access key %s; check the secret and that nothing on "+
				"the way changed the request", s.AccessKeyID)
	}
	return nil
}

func keyedHash(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

func (s *Signature) canonicalRequest(r *http.Request, payload []byte) string {
	path := r.URL.EscapedPath()
	if path == "" {
		path = "/"
	}
	if s.Service != "s3" {
		// All services but S3 sign the path escaped once more.
		path = escapeURI(path, true)
	}
	var headers strings.Builder
	for _, name := range s.SignedHeaders {
		fmt.Fprintf(&headers, "%s:%s\n", name, headerValue(r, name))
	}
	return strings.Join([]string{
		r.Method, path, canonicalQuery(r.URL.Query()), headers.String(), strings.Join(s.SignedHeaders, ";"),
		s.payloadHash(r, payload),
	}, "\n")
}

func (s *Signature) payloadHash(r *http.Request, payload []byte) string {
	if declared := r.Header.Get("X-Amz-Content-Sha256"); declared != "" {
		return declared
	}
	if s.Presigned && s.Service == "s3" {
		return "UNSIGNED-PAYLOAD"
	}
	digest := sha256.Sum256(payload)
	return hex.EncodeToString(digest[:])
}

func headerValue(r *http.Request, name string) string {
	var values []string
	switch {
	case name == "host":
		values = []string{r.Host}
	case name == "content-length" && r.Header.Get("Content-Length") == "":
		values = []string{strconv.FormatInt(r.ContentLength, 10)}
	default:
		values = r.Header.Values(name)
	}
	trimmed := make([]string, len(values))
	for i, value := range values {
		trimmed[i] = strings.Join(strings.Fields(value), " ")
	}
	return strings.Join(trimmed, ",")
}

func canonicalQuery(query url.Values) string {
	var pairs []string
	for name, values := range query {
		if name == "X-Amz-Signature" {
			continue
		}
		for _, value := range values {
			pairs = append(pairs, escapeURI(name, false)+"="+escapeURI(value, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// escapeURI escapes as signing prescribes: all but letters, digits and -._~ (and the slash in
// paths).
func escapeURI(text string, keepSlash bool) string {
	var out strings.Builder
	for i := range len(text) {
		b := text[i]
		switch {
		case b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b >= '0' &&
			b <= '9', b == '-', b == '.', b == '_', b == '~', b == '/' && keepSlash:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}
