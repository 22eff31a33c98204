package unkind

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/machine"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

func TestDelaysScaleWithBoots(t *testing.T) {
	fast, real := Mode{Seed: 1, Boot: 6 * time.Second}, Mode{Seed: 1}
	if got, want := fast.Consistency().Lag, 6*time.Second; got != want {
		t.Errorf("lag %s with boots of 6 s, want %s", got, want)
	}
	if got, want := fast.Consistency().TemplateLag, time.Second; got != want {
		t.Errorf("launch templates are %s late with boots of 6 s, want %s", got, want)
	}
	if got := real.Consistency().Lag; got != time.Minute {
		t.Errorf("lag %s in real time", got)
	}
	if got := real.Machines(machine.FastTiming()); got.Boot != 30*time.Second || got.BootMost != 90*time.Second {
		t.Errorf("boots of %s to %s in real time", got.Boot, got.BootMost)
	}
	if fast.Propagation().Most != real.Propagation().Most || fast.Jitter() != real.Jitter() {
		t.Error("IAM and schedules depend on boots")
	}
}

func TestOtherSettingsStay(t *testing.T) {
	got := Mode{}.EC2(ec2.Config{AccountID: "1", Timing: ec2.Timing{KeepTerminated: time.Hour}})
	if got.AccountID != "1" || got.Timing.KeepTerminated != time.Hour || !got.SilentRepeats {
		t.Errorf("settings are %+v", got)
	}
}

func TestFaultsSpareTheOperatorAndCDK(t *testing.T) {
	applies := Mode{}.Faults().Applies
	for role, want := range map[string]bool{
		"": false, "arn:aws:iam::1:role/cdk-hnb659fds-deploy-role-1-us-east-1": false,
		"arn:aws:iam::1:role/Whittle-demoInstallRole7D771E75-X": false, "arn:aws:iam::1:role/Whittle-provision": true,
	} {
		if got := applies(&wire.Call{Caller: wire.Caller{RoleARN: role}}); got != want {
			t.Errorf("faults for role %q: %t, want %t", role, got, want)
		}
	}
}
