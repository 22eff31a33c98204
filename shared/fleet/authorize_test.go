package fleet_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

func TestAuthorizeAsksByDryRuns(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	resolved := class()
	resolved.Status = nodeclass.Resolve(resolved, discover(t, a, resolved), time.Now())
	cluster := nodeclass.Cluster{
		Name: "prod", Endpoint: "https://api.example", CertificateAuthority: []byte("PEM"),
		ServiceCIDR: "10.100.0.0/16",
	}
	original := a.ec2
	for _, test := range []struct {
		name    string
		answers map[string]string
		reason  string
		asked   map[string]int
	}{
		{"allowed", map[string]string{}, "", nil},
		{
			"an answer that is neither",
			map[string]string{"CreateFleet": failure("InvalidParameterValue"), "RunInstances": failure("Unsupported")},
			"", map[string]int{"CreateFleet": 1, "RunInstances": 1},
		},
		{
			"no launch template", map[string]string{"CreateLaunchTemplate": failure("UnauthorizedOperation")},
			api.ReasonCreateLaunchTemplateAuthCheckFailed, nil,
		},
		{
			"no fleet in any subnet", map[string]string{"CreateFleet": failure("UnauthorizedOperation")},
			api.ReasonCreateFleetAuthCheckFailed, map[string]int{"CreateFleet": 3},
		},
		{
			"no instances", map[string]string{"RunInstances": failure("UnauthorizedOperation")},
			api.ReasonRunInstancesAuthCheckFailed, map[string]int{"RunInstances": 3},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a.ec2 = original
			given := a.answering(test.answers)
			got, err := fleet.New(a.ec2, "prod").Authorize(t.Context(), resolved, cluster, nil)
			if err != nil || !got.Asked || got.Problem.Reason != test.reason ||
				(test.reason != "") != strings.Contains(got.Problem.Message, "UnauthorizedOperation") {
				t.Errorf("%+v, %v", got, err)
			}
			counts := map[string]int{}
			for _, form := range given.asked {
				counts[form.Get("Action")]++
				if form.Get("Action") != "CreateLaunchTemplate" && form.Get("DryRun") != "true" {
					t.Errorf("%s was no dry run", form.Get("Action"))
				}
			}
			for action, want := range test.asked {
				if counts[action] != want {
					t.Errorf("%s was asked %d times, want %d", action, counts[action], want)
				}
			}
		})
	}
	a.ec2 = original
	a.answering(map[string]string{"CreateFleet": failure("RequestLimitExceeded")})
	if got, err := fleet.New(a.ec2, "prod").Authorize(t.Context(), resolved, cluster, nil); err == nil {
		t.Errorf("throttled: %+v", got)
	}
	if running := a.alive(); len(running) != 0 {
		t.Errorf("a dry run launched %v", running)
	}
	if got, err := fleet.New(original, "prod").Authorize(t.Context(), class(), cluster, nil); err != nil || got.Asked {
		t.Errorf("nothing resolved: %+v, %v", got, err)
	}
}

// TestAuthorizeAsksAboutLaunchesThatAPoolAllows holds that one launch that EC2 would take is enough, and
// that the dry run is like the launch.
func TestAuthorizeAsksAboutLaunchesThatAPoolAllows(t *testing.T) {
	a := newAccount(t)
	a.role(t, "nodes")
	resolved := class()
	resolved.Default()
	resolved.Status = nodeclass.Resolve(resolved, discover(t, a, resolved), time.Now())
	cluster := nodeclass.Cluster{
		Name: "prod", Endpoint: "https://api.example", CertificateAuthority: []byte("PEM"), ServiceCIDR: "10.100.0.0/16",
	}
	images := map[string]api.AMI{}
	for _, image := range resolved.Status.AMIs {
		images[image.ID] = image
	}
	trial := func(instanceType, capacityType string) launch.Trial {
		architecture := "x86_64"
		if instanceType == "m7g.large" {
			architecture = "arm64"
		}
		return launch.Trial{
			InstanceType: instanceType, CapacityType: capacityType, Image: images[a.image(t, architecture)],
			Subnets: resolved.Status.Subnets,
		}
	}
	trials := []launch.Trial{trial("m6i.large", "spot"), trial("m7g.large", "on-demand")}
	original := a.ec2
	snapshot := `<Response><Errors><Error><Code>InvalidBlockDeviceMapping</Code>` +
		`<Message>Volume of size 10GB is smaller than snapshot 'snap-1', expect size >= 20GB</Message>` +
		`</Error></Errors></Response>`
	for _, test := range []struct {
		name    string
		answers map[string]string
		spared  string // the type that EC2 takes
		reason  string
		says    []string
	}{
		{name: "allowed"},
		{
			name: "the first type is denied", answers: map[string]string{"RunInstances": failure("UnauthorizedOperation")},
			spared: "m7g.large",
		},
		{
			name: "one image is not shared", answers: map[string]string{"CreateFleet": failure("InvalidAMIID.NotFound")},
			spared: "m7g.large",
		},
		{
			name: "both types are denied", answers: map[string]string{"CreateFleet": failure("UnauthorizedOperation")},
			reason: api.ReasonCreateFleetAuthCheckFailed, says: []string{"m6i.large, m7g.large", "disableDryRun"},
		},
		{
			name: "a volume is too small", answers: map[string]string{"RunInstances": snapshot},
			reason: api.ReasonDryRunRefused, says: []string{"expect size >= 20GB", "spec.blockDeviceMappings"},
		},
		{
			name: "the profile is new", answers: map[string]string{
				"RunInstances": strings.Replace(failure("InvalidParameterValue"), "no", "Invalid IAM Instance Profile name", 1),
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			a.ec2 = original
			given := a.answering(test.answers)
			given.spared = func(form url.Values) bool { return test.spared != "" && formHas(form, test.spared) }
			got, err := fleet.New(a.ec2, "prod").Authorize(t.Context(), resolved, cluster, trials)
			if err != nil || !got.Asked || got.Problem.Reason != test.reason {
				t.Errorf("%+v, %v", got, err)
			}
			for _, part := range test.says {
				if !strings.Contains(got.Problem.Message, part) {
					t.Errorf("no %q in %q", part, got.Problem.Message)
				}
			}
			for _, form := range given.asked {
				if form.Get("Action") == "RunInstances" && (form.Get("MetadataOptions.HttpTokens") != "required" ||
					formHas(form, "m6i.large") && form.Get("InstanceMarketOptions.MarketType") != "spot") {
					t.Errorf("the dry run is not like the launch: %v", form)
				}
			}
		})
	}
	if running := a.alive(); len(running) != 0 {
		t.Errorf("a dry run launched %v", running)
	}
}

// formHas reports whether a parameter has the value.
func formHas(form url.Values, value string) bool {
	for key := range form {
		if form.Get(key) == value {
			return true
		}
	}
	return false
}
