package fleet_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/fleet"
)

const unknownID = "i-0123456789abcdef0"

// TestAnInstanceWithoutTagsIsDescribed is about an automation that strips tags.
func TestAnInstanceWithoutTagsIsDescribed(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	stripped := mustLaunch(t, client, a.request(t, "claim-1")).ID
	ended := mustLaunch(t, client, a.request(t, "claim-2")).ID
	if _, err := a.ec2.DeleteTags(t.Context(), &awsec2.DeleteTagsInput{
		Resources: []string{stripped},
		Tags:      []types.Tag{{Key: aws.String("eks:eks-cluster-name")}, {Key: aws.String("karpenter.sh/nodepool")}},
	}); err != nil {
		t.Fatal(err)
	}
	a.awaitRunning()
	if err := client.Terminate(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	if listed, err := client.Instances(t.Context()); err != nil || len(listed) != 0 {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	got, err := client.Describe(t.Context(), stripped, unknownID, ended, "i-malformed")
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, instance := range got.Found {
		if because := strings.HasPrefix(instance.StateReason, "Client.UserInitiatedShutdown: "); because != (instance.ID == ended) {
			t.Errorf("%s is %s because of %q", instance.ID, instance.State, instance.StateReason)
		}
		states[instance.ID] = instance.State
	}
	if len(states) != 2 || states[stripped] != "running" || states[ended] != "terminated" {
		t.Errorf("found %v", states)
	}
	slices.Sort(got.Absent)
	if !slices.Equal(got.Absent, []string{unknownID, "i-malformed"}) {
		t.Errorf("absent %v", got.Absent)
	}
	before := a.count("DescribeInstances")
	if nothing, err := client.Describe(t.Context()); err != nil || len(nothing.Found)+len(nothing.Absent) > 0 {
		t.Errorf("asked for nothing: %+v, %v", nothing, err)
	}
	if a.count("DescribeInstances") != before {
		t.Error("a call without ids would list everything")
	}
}

// retold replaces EC2's message about unknown ids.
type retold struct {
	next http.RoundTripper
	to   string
}

func (r retold) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusBadRequest {
		return response, err
	}
	_ = response.Body.Close()
	body := fmt.Sprintf("<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>%s</Message>"+
		"</Error></Errors><RequestID>r</RequestID></Response>", r.to)
	response.Body = http.NoBody
	response.ContentLength = int64(len(body))
	response.Body = readCloser{strings.NewReader(body)}
	return response, nil
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func TestUnknownIDsAreFoundWhateverEC2Says(t *testing.T) {
	a := newAccount(t)
	launcher := fleet.New(a.ec2, "prod")
	id := mustLaunch(t, launcher, a.request(t, "claim-1")).ID
	ids := []string{id}
	for i := range 250 {
		ids = append(ids, fmt.Sprintf("i-%017x", i))
	}
	for _, test := range []struct {
		message string
		calls   int
	}{
		{"", 4}, // EC2's own
		{"some of the instances do not exist", 0},
		{"The instance ID '" + id + " or so' does not exist", 0},
	} {
		t.Run(test.message, func(t *testing.T) {
			client := launcher
			if test.message != "" {
				client = fleet.New(awsec2.New(a.ec2.Options(), func(o *awsec2.Options) {
					o.HTTPClient = &http.Client{Transport: retold{http.DefaultTransport, test.message}}
				}), "prod")
			}
			before := a.count("DescribeInstances")
			got, err := client.Describe(t.Context(), ids...)
			if err != nil || len(got.Found) != 1 || got.Found[0].ID != id || len(got.Absent) != 250 {
				t.Errorf("found %d, absent %d, %v", len(got.Found), len(got.Absent), err)
			}
			if calls := a.count("DescribeInstances") - before; test.calls > 0 && calls != test.calls {
				t.Errorf("%d calls, want %d", calls, test.calls)
			}
		})
	}
}
