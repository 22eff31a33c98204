package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Handler answers the calls of one service.
type Handler interface {
	// Serve answers one call. An *Error becomes an answer in the service's own error form; any
	// other error becomes an InternalFailure that carries the error's text.
	Serve(ctx context.Context, c *Call) (*Response, error)
}

// HandlerFunc is a function that is a Handler.
type HandlerFunc func(ctx context.Context, c *Call) (*Response, error)

// Serve calls f.
func (f HandlerFunc) Serve(ctx context.Context, c *Call) (*Response, error) { return f(ctx, c) }

// Describer may be implemented by the Handler of a REST service. It names the action of a method
// and a path, so that authorization and records can use the name. The result becomes Call.Action;
// "" leaves it empty. It must not change the call.
type Describer interface {
	Describe(c *Call) (action string)
}

// Caller is the signer of a call.
type Caller struct {
	// AccountID is the twelve digits of the account.
	AccountID string
	// ARN is the identity as GetCallerIdentity gives it: for a role
	// arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION.
	ARN string
	// RoleARN is the role of a session; empty for the operator, who may do everything.
	RoleARN string
	// SessionName is the name under which the role was assumed; empty for the operator.
	SessionName string
	// AccessKeyID is the key that signed the call.
	AccessKeyID string
}

// Call is one signed request.
type Call struct {
	// Service is the signing name: "ec2", "sqs", "lambda", "events" and so on.
	Service string
	// Region is the region of the credential scope.
	Region string
	// Action is the query protocol's Action, or the part of X-Amz-Target after the dot. REST
	// services read HTTP.Method and HTTP.URL instead, so it is empty for them, unless their handler
	// is a Describer.
	Action string
	// RequestID is new for each call and part of the answer.
	RequestID string
	// Caller is the call's signer.
	Caller Caller
	// HTTP is the request; its body has been read into Body.
	HTTP *http.Request
	// Body is the whole payload.
	Body []byte
	// Form holds the parameters of the query protocol, from the body and the URL.
	Form url.Values
	// Permission is the IAM action that was checked for the call, such as "ec2:CreateFleet"; filled
	// by the authorizer.
	Permission string
	// lost means that the network loses the answer.
	lost bool
}

// DecodeJSON fills v from the call's JSON body; an empty body is an empty object. Malformed JSON
// and values of the wrong type give a SerializationException that names the field.
func (c *Call) DecodeJSON(v any) error {
	if len(c.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.Body, v); err != nil {
		return Errorf("SerializationException", http.StatusBadRequest, "the body of %s is not the JSON that it takes: %v",
			c.name(), err)
	}
	return nil
}

// name identifies the call in messages: "ec2 CreateFleet", or method and path for a REST call.
func (c *Call) name() string {
	if c.Action != "" {
		return c.Service + " " + c.Action
	}
	return c.Service + " " + c.HTTP.Method + " " + c.HTTP.URL.Path
}

// CallRecord describes a finished call to observers.
type CallRecord struct {
	Time      time.Time // when the call arrived
	Service   string    // signing name
	Action    string    // as in Call; empty for REST services whose handler is no Describer
	Method    string    // HTTP method
	Path      string    // path of the URL
	CallerARN string    // empty where the signer is unknown
	RoleARN   string    // empty for the operator

	Permission   string // IAM action that was checked; empty if none was
	Status       int    // HTTP status
	ErrorCode    string // empty if the call succeeded
	ErrorMessage string
	Duration     time.Duration
	RequestID    string
}
