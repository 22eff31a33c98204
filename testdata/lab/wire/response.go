package wire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"reflect"
	"strings"
)

// Response is the answer to a call.
type Response struct {
	// Status is the HTTP status; zero means 200.
	Status int
	// Header has the service's headers. The server adds request ID, date and its own name.
	Header http.Header
	// Body is the payload.
	Body []byte
}

type protocol int

const (
	protocolJSON protocol = iota
	protocolEC2
	protocolQuery
	protocolRESTXML
)

// protocolOf returns the protocol of a call's answer. The form of the request has priority over the
// service's usual protocol, because several services accept more than one.
func protocolOf(c *Call) protocol {
	switch {
	case c.Service == "s3":
		return protocolRESTXML
	case c.HTTP.Header.Get("X-Amz-Target") != "":
		return protocolJSON
	case c.Service == "ec2":
		return protocolEC2
	case c.Form.Get("Action") != "", c.Service == "iam", c.Service == "sts", c.Service == "cloudformation":
		return protocolQuery
	default:
		return protocolJSON
	}
}

const ec2Namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"

// EC2XML answers in EC2's form: the fields of result (a struct with encoding/xml tags, or nil)
// directly below <{Action}Response>, after the request id.
func EC2XML(c *Call, result any) (*Response, error) {
	inner, err := innerXML(result)
	if err != nil {
		return nil, fmt.Errorf("writing the answer to %s: %w", c.name(), err)
	}
	return xmlResponse(http.StatusOK,
		fmt.Sprintf(`<%[1]sResponse xmlns="%[2]s"><requestId>%[3]s</requestId>%[4]s</%[1]sResponse>`,
			c.Action, ec2Namespace, escapeXML(c.RequestID), inner)), nil
}

// QueryXML answers in the form of IAM, STS and CloudFormation: the fields of result below
// <{Action}Response><{Action}Result>. A nil result is an action without output.
func QueryXML(c *Call, xmlns string, result any) (*Response, error) {
	wrapped := ""
	if result != nil {
		inner, err := innerXML(result)
		if err != nil {
			return nil, fmt.Errorf("writing the answer to %s: %w", c.name(), err)
		}
		wrapped = fmt.Sprintf("<%[1]sResult>%[2]s</%[1]sResult>", c.Action, inner)
	}
	return xmlResponse(http.StatusOK,
		fmt.Sprintf(`<%[1]sResponse `+
			`xmlns="%[2]s">%[3]s<ResponseMetadata><RequestId>%[4]s</RequestId></ResponseMetadata></%[1]sResponse>`,
			c.Action, escapeXML(xmlns), wrapped, escapeXML(c.RequestID))), nil
}

// JSON answers with v; the server sets the content type that the request's protocol asks for.
func JSON(v any) (*Response, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing a JSON answer: %w", err)
	}
	return &Response{Status: http.StatusOK, Body: body}, nil
}

// innerXML returns the elements of a struct without an element around them.
func innerXML(result any) (string, error) {
	value := reflect.ValueOf(result)
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		if value.IsNil() {
			return "", nil
		}
		value = value.Elem()
	}
	if !value.IsValid() {
		return "", nil
	}
	if value.Kind() != reflect.Struct {
		return "", fmt.Errorf("a result is a struct, not %s", value.Type())
	}
	var out bytes.Buffer
	encoder := xml.NewEncoder(&out)
	if err := encoder.EncodeElement(value.Interface(), xml.StartElement{Name: xml.Name{Local: "result"}}); err != nil {
		return "", err
	}
	text := out.String()
	text = strings.TrimSuffix(text, "</result>")
	// The opening tag may have attributes (a namespace). It ends at the first '>', because
	// encoding/xml escapes '>' in attribute values.
	if end := strings.IndexByte(text, '>'); end >= 0 {
		text = text[end+1:]
	}
	return text, nil
}

func xmlResponse(status int, body string) *Response {
	return &Response{
		Status: status, Header: http.Header{"Content-Type": {"text/xml;charset=UTF-8"}}, Body: []byte(xml.Header + body),
	}
}

func escapeXML(text string) string {
	var out strings.Builder
	if err := xml.EscapeText(&out, []byte(text)); err != nil {
		return ""
	}
	return out.String()
}

// jsonContentType mirrors the version of the JSON protocol that the request speaks.
func jsonContentType(c *Call) string {
	if c.HTTP.Header.Get("X-Amz-Target") != "" {
		if sent := c.HTTP.Header.Get("Content-Type"); strings.HasPrefix(sent, "application/x-amz-json-1.") {
			return sent
		}
		return "application/x-amz-json-1.1"
	}
	return "application/json"
}
