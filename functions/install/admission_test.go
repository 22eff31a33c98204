package install

import (
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"

	"github.com/whittle-dev/whittle/shared/cluster"
)

func TestAClusterThatCannotWorkIsRefused(t *testing.T) {
	open, office := []string{"0.0.0.0/0", "::/0"}, []string{"203.0.113.0/24", "::/0"}
	for name, test := range map[string]struct {
		endpoint           cluster.Endpoint
		inVPC, mayAutoMode bool
		says               []string // nil when the cluster is accepted
	}{
		"a public endpoint":                    {endpoint: cluster.Endpoint{PublicCIDRs: open}},
		"both endpoints":                       {endpoint: cluster.Endpoint{Private: true, PublicCIDRs: open}},
		"an endpoint of the environment":       {},
		"a private endpoint from its VPC":      {endpoint: cluster.Endpoint{Private: true}, inVPC: true},
		"a NAT gateway may be among the CIDRs": {endpoint: cluster.Endpoint{PublicCIDRs: office}, inVPC: true},
		"a private endpoint from outside": {
			endpoint: cluster.Endpoint{Private: true}, says: []string{"only its VPC", "subnets and securityGroups"},
		},
		"restricted, from outside": {
			endpoint: cluster.Endpoint{PublicCIDRs: office},
			says:     []string{"203.0.113.0/24", "enable its private endpoint", "subnets and securityGroups"},
		},
		"restricted and private, from outside": {
			endpoint: cluster.Endpoint{Private: true, PublicCIDRs: office},
			says:     []string{"203.0.113.0/24", "address: deploy with the settings subnets and securityGroups"},
		},
		"Auto Mode": {
			endpoint: cluster.Endpoint{PublicCIDRs: open, AutoMode: true}, says: []string{"Auto Mode", "allowAutoMode=true"},
		},
		"Auto Mode beside Whittle": {
			endpoint: cluster.Endpoint{PublicCIDRs: open, AutoMode: true}, mayAutoMode: true,
		},
		"both faults": {
			endpoint: cluster.Endpoint{Private: true, AutoMode: true}, says: []string{"only its VPC", "Auto Mode"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstallation(t)
			i.line.endpoint, i.inVPC, i.autoMode = test.endpoint, test.inVPC, test.mayAutoMode
			_, err := i.install(t.Context(), cfn.RequestCreate)
			if (err != nil) != (test.says != nil) {
				t.Fatalf("installed: %v", err)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error is %v, want one that says %q", err, part)
				}
			}
			if calls := i.line.calls.Load(); err != nil && calls > 0 {
				t.Errorf("%d calls before the refusal", calls)
			}
			// A person may turn Auto Mode on later. The rollback of an upgrade must then succeed.
			if _, err := i.install(t.Context(), cfn.RequestUpdate); err != nil {
				t.Errorf("updated: %v", err)
			}
		})
	}
}
