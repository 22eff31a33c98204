package ec2

import (
	"net/netip"
	"strings"
	"testing"
)

func TestWildcard(t *testing.T) {
	for _, c := range []struct {
		pattern, value string
		want           bool
	}{
		{"m5.large", "m5.large", true}, {"m5.large", "m5.xlarge", false}, {"m5.*", "m5.large", true}, {"*", "", true},
		{"", "", true}, {"", "a", false},
		{"?5.large", "m5.large", true}, {"?", "", false}, {"*.metal*", "m5.metal-24xl", true}, {"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{`\*`, "*", true}, {`\*`, "a", false}, {`a\?c`, "abc", false}, {"M5.*", "m5.large", false}, {"a*", "a", true},
		{"*a", "ba", true},
	} {
		if got := wildcard(c.pattern, c.value); got != c.want {
			t.Errorf("wildcard(%q, %q) is %v", c.pattern, c.value, got)
		}
	}
}

func FuzzWildcard(f *testing.F) {
	f.Add("a*b?c")
	f.Add(`\`)
	f.Fuzz(func(t *testing.T, value string) {
		escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`).Replace(value)
		for _, pattern := range []string{"*", escaped, escaped + "*", "*" + escaped} {
			if !wildcard(pattern, value) {
				t.Errorf("%q does not match %q", pattern, value)
			}
		}
	})
}

func TestSubnetGivesEachAddressOnce(t *testing.T) {
	v := newVPC(&identifiers{}, "us-east-1", nil)
	s := v.subnets[1]
	seen := map[netip.Addr]bool{}
	for s.available() > 0 {
		address, ok := s.take()
		if !ok || seen[address] || !s.cidr.Contains(address) {
			t.Fatalf("after %d addresses came %s, %v", len(seen), address, ok)
		}
		seen[address] = true
	}
	if len(seen) != 4091 || seen[netip.MustParseAddr("10.0.16.3")] || seen[netip.MustParseAddr("10.0.31.255")] {
		t.Errorf("%d addresses were given out, reserved ones among them: %v", len(seen),
			seen[netip.MustParseAddr("10.0.16.3")])
	}
	if _, ok := s.take(); ok {
		t.Error("a full subnet gave an address")
	}
	freed := netip.MustParseAddr("10.0.20.20")
	s.release(freed)
	if address, ok := s.take(); !ok || address != freed {
		t.Errorf("the freed address is %s, the next one %s, %v", freed, address, ok)
	}
}

func TestZoneIDs(t *testing.T) {
	for region, want := range map[string]string{"us-east-1": "use1", "eu-central-1": "euc1", "ap-southeast-2": "apse2"} {
		if got := zoneIDPrefix(region); got != want {
			t.Errorf("%s is %q, want %q", region, got, want)
		}
	}
}
