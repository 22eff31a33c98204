package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Error is the answer to a failed call. The server writes it in the service's own error form.
type Error struct {
	// Code is the service's error code, such as "InvalidParameterValue".
	Code string
	// Message is for people. It names the fault and the remedy.
	Message string
	// Status is the HTTP status; zero means 400.
	Status int
	// Fault is "Sender" or "Receiver"; empty means Sender below status 500.
	Fault string
	// QueryCode is the code of the former query protocol, sent in x-amzn-query-error by services
	// that moved to JSON (SQS: AWS.SimpleQueueService.NonExistentQueue for QueueDoesNotExist).
	// Empty means Code.
	QueryCode string
	// Fields are additional members of a JSON error body.
	Fields map[string]any
}

// Error returns code and message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Errorf makes an Error with a formatted message.
func Errorf(code string, status int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
}

// asError classifies a handler's error. An *Error in the chain is the answer; any other error is a
// failure of the simulator, and the answer says so.
func asError(err error) *Error {
	var answer *Error
	if errors.As(err, &answer) {
		complete := *answer
		if complete.Status == 0 {
			complete.Status = http.StatusBadRequest
		}
		if complete.Fault == "" {
			complete.Fault = "Sender"
			if complete.Status >= 500 {
				complete.Fault = "Receiver"
			}
		}
		return &complete
	}
	return &Error{
		Code: "InternalFailure", Message: "the local AWS failed: " + err.Error(), Status: http.StatusInternalServerError,
		Fault: "Receiver",
	}
}

// errorResponse writes e in the form of the call's protocol.
func errorResponse(c *Call, e *Error) *Response {
	switch protocolOf(c) {
	case protocolEC2:
		return xmlResponse(e.Status,
			fmt.Sprintf("<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</"+
				"RequestID></Response>",
				escapeXML(e.Code), escapeXML(e.Message), escapeXML(c.RequestID)))
	case protocolQuery:
		return xmlResponse(e.Status,
			fmt.Sprintf("<ErrorResponse><Error><Type>%s</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</"+
				"RequestId></ErrorResponse>",
				escapeXML(e.Fault), escapeXML(e.Code), escapeXML(e.Message), escapeXML(c.RequestID)))
	case protocolRESTXML:
		if c.HTTP.Method == http.MethodHead {
			return &Response{Status: e.Status, Header: http.Header{"Content-Type": {"application/xml"}}}
		}
		return xmlResponse(e.Status,
			fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message><Resource>%s</Resource><RequestId>%s</RequestId></Error>",
				escapeXML(e.Code), escapeXML(e.Message), escapeXML(c.HTTP.URL.Path), escapeXML(c.RequestID)))
	default:
		return jsonError(c, e)
	}
}

func jsonError(c *Call, e *Error) *Response {
	members := map[string]any{"__type": e.Code, "message": e.Message}
	for name, value := range e.Fields {
		members[name] = value
	}
	body, err := json.Marshal(members)
	if err != nil {
		body = []byte(`{"__type":"InternalFailure","message":"the error has fields that are no JSON"}`)
	}
	header := http.Header{}
	header.Set("Content-Type", jsonContentType(c))
	header.Set("X-Amzn-ErrorType", e.Code)
	if c.Service == "sqs" {
		query := e.QueryCode
		if query == "" {
			query = e.Code
		}
		header.Set("X-Amzn-Query-Error", query+";"+e.Fault)
	}
	return &Response{Status: e.Status, Header: header, Body: body}
}
