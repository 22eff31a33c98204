package fleet_test

import (
	"errors"
	"testing"

	"github.com/whittle-dev/whittle/shared/fleet"
)

// TestRebootTellsRefusalsFromFailures holds that a missing right, or instance, is not asked about again.
func TestRebootTellsRefusalsFromFailures(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	launched := mustLaunch(t, client, a.request(t, "claim-1")).ID
	a.awaitRunning()
	if err := client.Reboot(t.Context(), launched); err != nil {
		t.Fatal(err)
	}
	for _, instance := range a.service.Instances() {
		if instance.ID == launched && instance.Reboots != 1 {
			t.Errorf("rebooted %d times", instance.Reboots)
		}
	}
	if err := client.Reboot(t.Context(), unknownID); !errors.Is(err, fleet.ErrNoReboot) {
		t.Errorf("an unknown instance: %v", err)
	}
	given := a.answering(map[string]string{})
	client = fleet.New(a.ec2, "prod")
	for code, final := range map[string]bool{
		"UnauthorizedOperation": true, "InvalidInstanceID.NotFound": true, "IncorrectInstanceState": false,
		"InternalError": false, "RequestLimitExceeded": false,
	} {
		given.byAction["RebootInstances"] = failure(code)
		if err := client.Reboot(t.Context(), launched); err == nil || errors.Is(err, fleet.ErrNoReboot) != final {
			t.Errorf("%s: %v", code, err)
		}
	}
	given.byAction["RebootInstances"] = failure("DryRunOperation")
	if err := client.Reboot(t.Context(), launched); err != nil {
		t.Errorf("a dry run: %v", err)
	}
}
