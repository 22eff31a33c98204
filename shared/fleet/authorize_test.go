package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
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
			got, err := fleet.New(a.ec2, "prod").Authorize(t.Context(), resolved, cluster)
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
	if got, err := fleet.New(a.ec2, "prod").Authorize(t.Context(), resolved, cluster); err == nil {
		t.Errorf("throttled: %+v", got)
	}
	if running := a.alive(); len(running) != 0 {
		t.Errorf("a dry run launched %v", running)
	}
	if got, err := fleet.New(original, "prod").Authorize(t.Context(), class(), cluster); err != nil || got.Asked {
		t.Errorf("nothing resolved: %+v, %v", got, err)
	}
}
