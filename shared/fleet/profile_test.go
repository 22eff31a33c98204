package fleet_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestAProfileWithoutItsRoleHasNoName refuses the role at first. The status of an earlier pass has
// the profile's name all the same.
func TestAProfileWithoutItsRoleHasNoName(t *testing.T) {
	a := newAccount(t)
	p, wanted := a.profiles(), classOf("uid-1", "nodes") // there is no such role yet
	for _, stored := range []string{"", p.Name(wanted)} {
		wanted.Status.InstanceProfile = stored
		if name, err := p.Ensure(t.Context(), wanted); name != "" || err == nil {
			t.Fatalf("with %q in the status: %q, %v", stored, name, err)
		}
	}
	a.role(t, "nodes")
	name, err := p.Ensure(t.Context(), wanted)
	if err != nil || name != p.Name(wanted) {
		t.Fatalf("with the role: %q, %v", name, err)
	}
	wanted.Status.Conditions = []metav1.Condition{
		{Type: api.ConditionTypeInstanceProfileReady, Status: metav1.ConditionTrue},
	}
	before := a.count("GetInstanceProfile")
	if again, err := p.Ensure(t.Context(), wanted); again != name || err != nil {
		t.Errorf("verified: %q, %v", again, err)
	}
	if after := a.count("GetInstanceProfile"); after != before {
		t.Error("a verified profile was read again")
	}
	if _, err := a.iam.RemoveRoleFromInstanceProfile(t.Context(), &awsiam.RemoveRoleFromInstanceProfileInput{
		InstanceProfileName: &name, RoleName: aws.String("nodes"),
	}); err != nil {
		t.Fatal(err)
	}
	p.Verify = true
	if again, err := p.Ensure(t.Context(), wanted); again != name || err != nil {
		t.Errorf("after somebody took the role: %q, %v", again, err)
	}
	output, err := a.iam.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil || len(output.InstanceProfile.Roles) != 1 {
		t.Errorf("roles %+v, %v", output.InstanceProfile.Roles, err)
	}
}

// TestARoleMayHaveAPathOrBeAnARN holds that the profile gets the role by its name, as in Karpenter.
func TestARoleMayHaveAPathOrBeAnARN(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	for i, role := range []string{"teams/nodes", "arn:aws:iam::123456789012:role/teams/nodes"} {
		name, err := a.profiles().Ensure(t.Context(), classOf("uid-"+string(rune('a'+i)), role))
		if err != nil {
			t.Fatal(err)
		}
		output, err := a.iam.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: &name})
		if err != nil || len(output.InstanceProfile.Roles) != 1 ||
			aws.ToString(output.InstanceProfile.Roles[0].RoleName) != "nodes" {
			t.Errorf("%s: roles %+v, %v", role, output.InstanceProfile.Roles, err)
		}
	}
}

// meddler adds another role right before the first call that adds a role.
type meddler struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
	meddle func()
}

func (m *meddler) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	if meddle := m.meddle; meddle != nil && values.Get("Action") == "AddRoleToInstanceProfile" {
		m.meddle = nil
		meddle()
	}
	return m.next.Do(request)
}

func TestARoleThatComesBetweenIsFound(t *testing.T) {
	for _, test := range []struct {
		between string
		well    bool
	}{{"nodes", true}, {"others", false}} {
		t.Run(test.between, func(t *testing.T) {
			a := newAccount(t)
			a.role(t, "nodes")
			a.role(t, "others")
			wanted := classOf("uid-1", "nodes")
			p := a.profiles()
			name := p.Name(wanted)
			p.IAM = awsiam.New(a.iam.Options(), func(o *awsiam.Options) {
				o.HTTPClient = &meddler{next: o.HTTPClient, meddle: func() {
					if _, err := a.iam.AddRoleToInstanceProfile(t.Context(), &awsiam.AddRoleToInstanceProfileInput{
						InstanceProfileName: &name, RoleName: aws.String(test.between),
					}); err != nil {
						t.Error(err)
					}
				}}
			})
			got, err := p.Ensure(t.Context(), wanted)
			if well := got == name && err == nil; well != test.well {
				t.Errorf("%q, %v", got, err)
			}
			if !test.well && !strings.Contains(err.Error(), "others") {
				t.Errorf("the error does not name the role: %v", err)
			}
		})
	}
}
