package fleet_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
)

func (a *account) profiles() fleet.Profiles {
	return fleet.Profiles{IAM: a.iam, Cluster: "prod", Region: region}
}

func classOf(uid, role string) *api.EC2NodeClass {
	made := class()
	made.UID, made.Spec.Role = types.UID(uid), role
	return made
}

func TestAProfileLiesInItsClassesFolder(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	p := a.profiles()
	name, err := p.Ensure(t.Context(), classOf("uid-1", "nodes"))
	if err != nil {
		t.Fatal(err)
	}
	output, err := a.iam.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil {
		t.Fatal(err)
	}
	if path := aws.ToString(output.InstanceProfile.Path); path != "/karpenter/us-east-1/prod/uid-1/" ||
		!strings.HasPrefix(name, "prod_") {
		t.Errorf("%s at %s", name, path)
	}
	tags := map[string]string{}
	for _, tag := range output.InstanceProfile.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	for key, value := range map[string]string{
		"kubernetes.io/cluster/prod": "owned", "eks:eks-cluster-name": "prod",
		"topology.kubernetes.io/region": region, "karpenter.k8s.aws/ec2nodeclass": "default",
	} {
		if tags[key] != value {
			t.Errorf("tag %s is %q", key, tags[key])
		}
	}
	names := map[string]bool{name: true}
	for _, other := range []*api.EC2NodeClass{classOf("uid-2", "nodes"), classOf("uid-1", "others")} {
		if names[p.Name(other)] {
			t.Errorf("%s/%s shares a profile", other.UID, other.Spec.Role)
		}
		names[p.Name(other)] = true
	}
	listed, err := p.List(t.Context())
	if err != nil || len(listed) != 1 || listed[0] != (fleet.Profile{Name: name, ClassUID: "uid-1"}) {
		t.Errorf("listed %+v, %v", listed, err)
	}
}

func TestAWrongRoleIsTakenOut(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	a.role(t, "wrong")
	p, wanted := a.profiles(), classOf("uid-1", "nodes")
	name, err := p.Ensure(t.Context(), wanted)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []func() error{
		func() error {
			_, err := a.iam.RemoveRoleFromInstanceProfile(
				t.Context(),
				&awsiam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: &name, RoleName: aws.String("nodes")},
			)
			return err
		},
		func() error {
			_, err := a.iam.AddRoleToInstanceProfile(
				t.Context(),
				&awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: aws.String("wrong")},
			)
			return err
		},
		func() error {
			p.Verify = true
			_, err := p.Ensure(t.Context(), wanted)
			return err
		},
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	output, err := a.iam.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: &name})
	if err != nil || len(output.InstanceProfile.Roles) != 1 ||
		aws.ToString(output.InstanceProfile.Roles[0].RoleName) != "nodes" {
		t.Errorf("%+v, %v", output.InstanceProfile.Roles, err)
	}
}

func TestAProfileIsMarkedAndDeleted(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	p := a.profiles()
	name, err := p.Ensure(t.Context(), classOf("uid-1", "nodes"))
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, since := range []time.Time{noon, {}} {
		if err := p.MarkUnused(t.Context(), name, since); err != nil {
			t.Fatal(err)
		}
		if got, own, err := p.UnusedSince(t.Context(), name); err != nil || !own || !got.Equal(since) {
			t.Errorf("unused since %s (own %t, %v), want %s", got, own, err, since)
		}
	}
	foreign := "foreign"
	if _, err := a.iam.CreateInstanceProfile(
		t.Context(),
		&awsiam.CreateInstanceProfileInput{
			InstanceProfileName: &foreign, Path: aws.String("/karpenter/us-east-1/prod/uid-9/"),
		},
	); err != nil {
		t.Fatal(err)
	}
	if _, own, err := p.UnusedSince(t.Context(), foreign); own || err != nil {
		t.Errorf("a profile without the cluster's tags is its own: %v", err)
	}
	for range 2 { // what is gone is gone
		if err := p.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.MarkUnused(t.Context(), name, noon); err != nil {
		t.Error(err)
	}
	if _, own, err := p.UnusedSince(t.Context(), name); own || err != nil {
		t.Errorf("gone: %t, %v", own, err)
	}
	if listed, err := p.List(t.Context()); err != nil || len(listed) != 1 || listed[0].Name != foreign {
		t.Errorf("left %+v, %v", listed, err)
	}
}

// cut lets a number of changing calls through, and then none.
type cut struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
	left int
	over bool
}

var errCut = errors.New("cut off")

func (c *cut) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	if action := form.Get("Action"); !strings.HasPrefix(action, "Get") && !strings.HasPrefix(action, "List") {
		if c.left == 0 {
			c.over = true
			return nil, errCut
		}
		c.left--
	}
	return c.next.Do(request)
}

// TestProfilesEndTheSameHoweverOftenTheyAreCutOff makes a profile and deletes it,
// dying after each number of changing calls.
func TestProfilesEndTheSameHoweverOftenTheyAreCutOff(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	whole := func(p fleet.Profiles, wanted *api.EC2NodeClass) error {
		name, err := p.Ensure(t.Context(), wanted)
		if err == nil {
			err = p.Delete(t.Context(), name)
		}
		return err
	}
	for n := 0; ; n++ {
		wanted := classOf("uid", "nodes")
		between := &cut{left: n}
		dying := a.profiles()
		dying.IAM = awsiam.New(a.iam.Options(), func(o *awsiam.Options) {
			between.next = o.HTTPClient
			o.HTTPClient, o.Retryer = between, aws.NopRetryer{}
		})
		err := whole(dying, wanted)
		if between.over != (err != nil) {
			t.Fatalf("after %d calls: %v", n, err)
		}
		if err := whole(a.profiles(), wanted); err != nil {
			t.Errorf("after %d calls: %v", n, err)
		}
		if listed, err := a.profiles().List(t.Context()); err != nil || len(listed) != 0 {
			t.Errorf("after %d calls: left %+v, %v", n, listed, err)
		}
		if !between.over {
			if n != 4 { // create, add, remove, delete
				t.Errorf("a profile's life takes %d changing calls", n)
			}
			return
		}
	}
}

func TestAClassThatGoesGetsNoProfile(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	wanted := classOf("uid", "nodes")
	now := time.Now()
	wanted.DeletionTimestamp = &metav1.Time{Time: now}
	if name, err := a.profiles().Ensure(t.Context(), wanted); name != "" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if listed, _ := a.profiles().List(t.Context()); len(listed) != 0 {
		t.Errorf("made %+v", listed)
	}
}

func TestLaunchTemplatesAreListedAndDeleted(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	launched := mustLaunch(t, client, a.request(t, "claim-1"))
	templates, err := client.LaunchTemplates(t.Context())
	if err != nil || len(templates) != 1 || templates[0].Class != "default" ||
		templates[0].Name != "karpenter.k8s.aws/0123" || time.Since(templates[0].Created) > time.Minute {
		t.Fatalf("%+v, %v", templates, err)
	}
	if others, err := fleet.New(a.ec2, "staging").LaunchTemplates(t.Context()); err != nil || len(others) != 0 {
		t.Errorf("another cluster sees %v, %v", others, err)
	}
	listed, err := client.Instances(t.Context())
	if err != nil || len(listed) != 1 || listed[0].ID != launched.ID ||
		listed[0].Tags[fleet.LaunchTemplateTagKey] != templates[0].ID {
		t.Errorf("%+v, %v", listed, err)
	}
	for range 2 {
		if err := client.DeleteLaunchTemplate(t.Context(), templates[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	output, err := a.ec2.DescribeLaunchTemplates(t.Context(), &awsec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(output.LaunchTemplates) != 0 {
		t.Errorf("%+v, %v", output, err)
	}
}

// forgetful carries out the deletion of a profile and loses the answer. IAM refuses the repetition,
// because the right to delete depends on tags that the profile no longer has.
type forgetful struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
	// deletes is false for a caller that has no right in the first place.
	deletes bool
}

func (f forgetful) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if !strings.Contains(string(body), "Action=DeleteInstanceProfile") {
		return f.next.Do(request)
	}
	if f.deletes {
		answer, err := f.next.Do(request)
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close()
	}
	refusal := `<ErrorResponse><Error><Code>AccessDenied</Code><Message>not authorized</Message></Error></ErrorResponse>`
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(refusal)),
	}, nil
}

// refusesDeletion refuses each deletion of a launch template, as IAM does for a template that is gone.
type refusesDeletion struct {
	next interface {
		Do(*http.Request) (*http.Response, error)
	}
}

func (f refusesDeletion) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if !strings.Contains(string(body), "Action=DeleteLaunchTemplate") {
		return f.next.Do(request)
	}
	refusal := `<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>`
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(refusal)),
	}, nil
}

func TestARefusedDeletionOfAGoneTemplateIsNoFailure(t *testing.T) {
	a := newAccount(t)
	mustLaunch(t, fleet.New(a.ec2, "prod"), a.request(t, "claim-1"))
	refused := fleet.New(awsec2.New(a.ec2.Options(), func(o *awsec2.Options) {
		o.HTTPClient = refusesDeletion{o.HTTPClient}
	}), "prod")
	templates, err := refused.LaunchTemplates(t.Context())
	if err != nil || len(templates) != 1 {
		t.Fatalf("%+v, %v", templates, err)
	}
	if err := refused.DeleteLaunchTemplate(t.Context(), templates[0].ID); err == nil {
		t.Error("a template that is there: no error")
	}
	if err := fleet.New(a.ec2, "prod").DeleteLaunchTemplate(t.Context(), templates[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := refused.DeleteLaunchTemplate(t.Context(), templates[0].ID); err != nil {
		t.Errorf("a template that is gone: %v", err)
	}
}

func TestARefusedRepetitionOfADeletionIsNoFailure(t *testing.T) {
	for _, deletes := range []bool{true, false} {
		a := newAccount(t)
		a.role(t, "nodes")
		p := a.profiles()
		name, err := p.Ensure(t.Context(), classOf("uid-1", "nodes"))
		if err != nil {
			t.Fatal(err)
		}
		p.IAM = awsiam.New(a.iam.Options(), func(o *awsiam.Options) { o.HTTPClient = forgetful{o.HTTPClient, deletes} })
		if err := p.Delete(t.Context(), name); (err == nil) != deletes {
			t.Errorf("deleted %t: error %v", deletes, err)
		}
	}
}
