package function

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// body is one as the SDK's: closed, it ends when it is read, and fails when it is
// asked to write itself.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, io.EOF
	}
	return b.Reader.Read(p)
}

func (b *body) WriteTo(w io.Writer) (int64, error) {
	if b.closed {
		return 0, errors.New("closed")
	}
	return io.Copy(w, b.Reader)
}

func (b *body) Close() error {
	b.closed = true
	return nil
}

// sender keeps the request instead of sending it.
type sender struct{ sent *http.Request }

func (s *sender) Do(request *http.Request) (*http.Response, error) {
	s.sent = request
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestABodyThatIsClosedEarlyEndsAndDoesNotFail(t *testing.T) {
	content := &body{Reader: strings.NewReader("Action=DescribeInstanceTypes")}
	request, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		"https://ec2.us-east-1.amazonaws.com",
		content,
	)
	if err != nil {
		t.Fatal(err)
	}
	connection := &sender{}
	response, err := plainBodies{connection}.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	sent := connection.sent.Body
	if read, err := io.ReadAll(sent); err != nil || string(read) != "Action=DescribeInstanceTypes" {
		t.Errorf("the body is %q, %v", read, err)
	}
	content.closed = true
	// As net/http looks whether there is more than the content length said.
	if more, err := io.Copy(io.Discard, sent); err != nil || more != 0 {
		t.Errorf("after its close the body gives %d bytes, %v", more, err)
	}
	if err := sent.Close(); err != nil || !content.closed {
		t.Errorf("the body is not closed: %v", err)
	}
}

func TestConfigurationReachesTheEndpointOfTheEnvironment(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		_, _ = io.WriteString(w,
			`<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account>`+
				`</GetCallerIdentityResult></GetCallerIdentityResponse>`,
		)
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIATEST",
		"AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CA_BUNDLE":         "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": "/nowhere",
		"AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
	} {
		t.Setenv(name, value)
	}
	loaded, err := (Deps{}).Configuration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, wrapped := loaded.HTTPClient.(plainBodies); !wrapped {
		t.Errorf("the client is %T", loaded.HTTPClient)
	}
	who, err := sts.NewFromConfig(loaded).GetCallerIdentity(t.Context(), nil)
	if err != nil || *who.Account != "123456789012" || !strings.Contains(asked, "AKIATEST/") ||
		!strings.Contains(asked, "/eu-west-1/sts/") {
		t.Errorf("%+v, %v, asked with %q", who, err, asked)
	}
}

// busy answers a number of calls with EC2's word for too many, and then lets them through.
type busy struct {
	left  int
	calls []time.Time
}

func (b *busy) Do(request *http.Request) (*http.Response, error) {
	b.calls = append(b.calls, time.Now())
	if b.left > 0 {
		b.left--
		return &http.Response{
			StatusCode: http.StatusServiceUnavailable,
			Header:     http.Header{},
			Request:    request,
			Body: io.NopCloser(strings.NewReader(
				`<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message>` +
					`</Error></Errors><RequestID>1</RequestID></Response>`,
			)),
		}, nil
	}
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{},
		Request:    request,
		Body:       io.NopCloser(strings.NewReader(`<DescribeRegionsResponse></DescribeRegionsResponse>`)),
	}, nil
}

func TestCallsSlowDownAfterThrottling(t *testing.T) {
	connection := &busy{left: 1}
	client := ec2.New(ec2.Options{
		Region: "us-east-1", Retryer: (Deps{}).Retryer(), HTTPClient: connection,
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	for range 2 {
		if _, err := client.DescribeRegions(t.Context(), &ec2.DescribeRegionsInput{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(connection.calls) != 3 {
		t.Fatalf("%d calls, want one that is repeated and one more", len(connection.calls))
	}
	// The client does not know yet how many get through: it begins with the fewest, one in two
	// seconds.
	if pause := connection.calls[2].Sub(connection.calls[1]); pause < 500*time.Millisecond {
		t.Errorf("the next call came %s after one that had to be repeated", pause)
	}
}

// In a VPC without an endpoint for a service, a connection never begins. All attempts together must
// end before the invocation does, which else writes nothing.
func TestAServiceOutOfReachTakesAPartOfTheInvocation(t *testing.T) {
	loaded, err := (Deps{}).Configuration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, ok := loaded.HTTPClient.(plainBodies).next.(*awshttp.BuildableClient)
	if !ok {
		t.Fatalf("the client is a %T", loaded.HTTPClient)
	}
	retryer := loaded.Retryer()
	longest := time.Duration(retryer.MaxAttempts()) * client.GetDialer().Timeout
	for attempt := 1; attempt < retryer.MaxAttempts(); attempt++ {
		longest += longestPause
	}
	if longest > 40*time.Second {
		t.Errorf("a call to a service out of reach takes up to %s of a minute", longest)
	}
}
