package fleet_test

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func TestStatusesListWhatIsWrong(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	ids := map[string]string{}
	for _, name := range []string{"well", "system", "instance", "retired"} {
		ids[name] = mustLaunch(t, client, a.request(t, name)).ID
	}
	a.awaitRunning()
	start := time.Now().Add(48 * time.Hour)
	for _, err := range []error{
		a.service.Impair(ids["system"], ec2.SystemCheck, 5*time.Minute),
		a.service.Impair(ids["instance"], ec2.InstanceCheck, time.Minute),
		a.service.Retire(ids["retired"], "", start),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	announced, err := client.Announced(t.Context())
	if err != nil || len(announced) != 1 || !announced[ids["retired"]] {
		t.Errorf("announced work for %v, %v, want %s", announced, err, ids["retired"])
	}
	statuses, err := client.Statuses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(statuses) != 3 {
		t.Errorf("listed %+v", statuses)
	}
	near := func(at time.Time, ago time.Duration) bool {
		apart := time.Since(at) - ago
		return apart > -time.Minute && apart < time.Minute
	}
	if system := statuses[ids["system"]]; !near(system.SystemImpaired, 5*time.Minute) ||
		!system.InstanceImpaired.IsZero() || len(system.Events) != 0 {
		t.Errorf("system: %+v", system)
	}
	if instance := statuses[ids["instance"]]; !near(instance.InstanceImpaired, time.Minute) ||
		!instance.SystemImpaired.IsZero() {
		t.Errorf("instance: %+v", instance)
	}
	retired := statuses[ids["retired"]]
	if len(retired.Events) != 1 || retired.Events[0].Code != "instance-retirement" ||
		!near(retired.Events[0].NotBefore, -48*time.Hour) || retired.Events[0].ID == "" {
		t.Errorf("retired: %+v", retired)
	}
	if err := a.service.Recover(ids["system"]); err != nil {
		t.Fatal(err)
	}
	if statuses, err = client.Statuses(t.Context()); err != nil || len(statuses) != 2 {
		t.Errorf("after the recovery: %+v, %v", statuses, err)
	}
}

func TestWorkThatIsOverIsNoneThatLiesAhead(t *testing.T) {
	a := newAccount(t)
	a.answering(
		map[string]string{
			"DescribeInstanceStatus": `<DescribeInstanceStatusResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><instanceStatusSet><item><instanceId>i-1</instanceId>
		<eventsSet><item><instanceEventId>instance-event-1</instanceEventId><code>instance-stop</code><description>[Completed] The instance is running on degraded hardware</description><notBefore>2026-03-01T00:00:00Z</notBefore></item>
		<item><instanceEventId>instance-event-2</instanceEventId><code>instance-stop</code><description>[Canceled] The instance is running on degraded hardware</description><notBefore>2026-03-01T00:00:00Z</notBefore></item>
		<item><instanceEventId>instance-event-3</instanceEventId><code>system-reboot</code><description>Your instance is scheduled for a reboot</description><notBefore>2026-03-02T00:00:00Z</notBefore></item></eventsSet>
		<systemStatus><status>insufficient-data</status><details><item><name>reachability</name><status>insufficient-data</status></item></details></systemStatus></item></instanceStatusSet></DescribeInstanceStatusResponse>`,
		},
	)
	statuses, err := fleet.New(a.ec2, "prod").Statuses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if events := statuses["i-1"].Events; len(events) != 1 || events[0].ID != "instance-event-3" ||
		!statuses["i-1"].SystemImpaired.IsZero() {
		t.Errorf("listed %+v", statuses)
	}
}
