package main

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/spread"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/pricing"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// TestPlanWithTodaysPrices reads the offer of the local AWS.
func TestPlanWithTodaysPrices(t *testing.T) {
	service, err := ec2.New(ec2.Config{AccountID: "123456789012", Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	prices, err := pricing.New("us-east-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer()
	service.Register(server)
	prices.Register(server)
	address, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": address, "AWS_REGION": "", "AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_CA_BUNDLE": "", "AWS_CONFIG_FILE": "/nowhere", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	arguments := []string{"plan", "-f", "testdata/plan/builtin.yaml", "--prices", "aws"}
	_, _, err = runPlan(t, "", arguments...)
	want(t, err, "no region: pass -region")
	text, _, err := runPlan(t, "", append(arguments, "--region", "us-east-1")...)
	if err != nil || !strings.Contains(text, "3 pods: 3 on 3 new nodes") ||
		!strings.Contains(text, "prices: AWS, us-east-1; on-demand prices of just now; spot prices of just now") {
		t.Errorf("%v\n%s", err, text)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, _, err = runPlan(t, "", append(arguments, "--region", "us-east-1")...)
	want(t, err, "there are no AWS credentials")
}

func TestThePriceSourceIsTold(t *testing.T) {
	text, _, err := runPlan(t, "", "plan", "-f", "testdata/plan/builtin.yaml")
	if err != nil || !strings.Contains(text, "prices: built in, us-east-1, 2026-07; spot prices are examples") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestPlansFollowTheDeployment(t *testing.T) {
	zone := spread.Defaults{{TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1, WhenUnsatisfiable: "ScheduleAnyway"}}
	told := &status.Deployment{PreferencePolicy: "Ignore", MinValuesPolicy: "BestEffort", DefaultTopologySpread: zone}
	for _, test := range []struct {
		name       string
		arguments  []string
		told       *status.Deployment
		preference plan.PreferencePolicy
		spreads    int
		problems   int
	}{
		{"nothing told", nil, nil, plan.PreferencesRespected, 0, 0},
		{"no flags", nil, told, plan.PreferencesIgnored, 1, 0},
		{"an equal flag", []string{"-policy", "Ignore"}, told, plan.PreferencesIgnored, 1, 0},
		{"other flags", []string{"-policy", "Respect", "-default-topology-spread", "[]"}, told, plan.PreferencesRespected, 0, 2},
	} {
		flags, err := parsePlanFlags("plan", noWords, test.arguments, &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		var problems strings.Builder
		flags.follow(test.told, &problems)
		if flags.policy != test.preference || len(flags.spread) != test.spreads ||
			strings.Count(problems.String(), "Whittle would plan otherwise") != test.problems {
			t.Errorf("%s: %+v\n%s", test.name, flags, problems.String())
		}
	}
}
