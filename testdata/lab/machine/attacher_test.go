package machine

import (
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func TestAVolumeIsAttachedToOneInstance(t *testing.T) {
	m := &Machines{volumes: map[string]string{}, machines: map[string]*machine{
		"i-1": {instance: ec2.Instance{ID: "i-1", PrivateDNSName: "one"}},
		"i-2": {instance: ec2.Instance{ID: "i-2", PrivateDNSName: "two"}},
	}}
	check := func(step string, err error, refused bool) {
		t.Helper()
		if (err != nil) != refused {
			t.Errorf("%s: %v", step, err)
		}
	}
	check("to the first instance", m.attach("v", "one"), false)
	check("once more", m.attach("v", "one"), false)
	check("to the second instance", m.attach("v", "two"), true)
	check("to no instance", m.attach("w", "three"), true)
	m.detach("v", "two")
	check("after another's detachment", m.attach("v", "two"), true)
	m.detach("v", "one")
	check("after its detachment", m.attach("v", "two"), false)
	m.release(&m.machines["i-2"].instance)
	check("after the instance has ended", m.attach("v", "one"), false)
	check("to an instance that has ended", m.attach("w", "two"), true)
}
