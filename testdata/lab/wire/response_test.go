package wire

import (
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func responseCall() *Call {
	return &Call{
		Service: "ec2", Action: "DescribeThings", RequestID: "req-1", HTTP: httptest.NewRequest(http.MethodPost, "/", nil),
	}
}

type things struct {
	XMLName xml.Name `xml:"ignored"`
	Items   []thing  `xml:"thingSet>item"`
	Next    string   `xml:"nextToken,omitempty"`
}

type thing struct {
	ID string `xml:"thingId"`
}

func TestEC2XML(t *testing.T) {
	response, err := EC2XML(responseCall(), &things{Items: []thing{{"t-1"}, {"a<b"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `<DescribeThingsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>req-1</requestId>` +
		`<thingSet><item><thingId>t-1</thingId></item><item><thingId>a&` +
		`lt;b</thingId></item></thingSet></DescribeThingsResponse>`
	if got := strings.TrimPrefix(string(response.Body), xml.Header); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestQueryXML(t *testing.T) {
	for _, test := range []struct {
		name   string
		result any
		want   string
	}{
		{"with output", struct{ Arn string }{"a&b"}, "<DescribeThingsResult><Arn>a&amp;b</Arn></DescribeThingsResult>"},
		{"with empty output", struct{}{}, "<DescribeThingsResult></DescribeThingsResult>"},
		{"without output", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			response, err := QueryXML(responseCall(), "urn:x", test.result)
			if err != nil {
				t.Fatal(err)
			}
			want := xml.Header + `<DescribeThingsResponse xmlns="urn:x">` + test.want +
				`<ResponseMetadata><RequestId>req-1</RequestId></ResponseMetadata></DescribeThingsResponse>`
			if string(response.Body) != want {
				t.Errorf("got  %s\nwant %s", response.Body, want)
			}
		})
	}
}

func TestXMLResultsAreStructs(t *testing.T) {
	if _, err := EC2XML(responseCall(), []string{"a"}); err == nil ||
		!strings.Contains(err.Error(), "ec2 DescribeThings") {
		t.Errorf("got %v, want an error that names the call", err)
	}
	if response, err := EC2XML(responseCall(), (*things)(nil)); err != nil ||
		!strings.Contains(string(response.Body), "<requestId>req-1</requestId></Describe") {
		t.Errorf("a nil result gave %v", err)
	}
}

func TestDecodeJSON(t *testing.T) {
	c := responseCall()
	var in struct{ Count int }
	if err := c.DecodeJSON(&in); err != nil {
		t.Errorf("an empty body was refused: %v", err)
	}
	c.Body = []byte(`{"Count":"x"}`)
	if err := c.DecodeJSON(&in); err == nil || !strings.Contains(err.Error(), "SerializationException") ||
		!strings.Contains(err.Error(), "Count") {
		t.Errorf("got %v, want a SerializationException that names Count", err)
	}
}
