package kubernetes

import (
	"strings"
	"testing"
	"time"
)

func TestOptionsDefaults(t *testing.T) {
	options, err := Options{Binary: "b", Directory: "d"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if options.ServiceCIDR != "10.100.0.0/16" {
		t.Errorf("the service range is %q", options.ServiceCIDR)
	}
}

func TestOptionsReportErrors(t *testing.T) {
	valid := Options{Binary: "b", Directory: "d"}
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"no binary":            {func(o *Options) { o.Binary = "" }, "option Binary is empty"},
		"no directory":         {func(o *Options) { o.Directory = "" }, "option Directory is empty"},
		"port too high":        {func(o *Options) { o.Port = 70000 }, "option Port 70000"},
		"port below zero":      {func(o *Options) { o.Port = -1 }, "option Port -1"},
		"webhook not a URL":    {func(o *Options) { o.TokenWebhookURL = "http://a b" }, "option TokenWebhookURL"},
		"webhook not http":     {func(o *Options) { o.TokenWebhookURL = "https://127.0.0.1:1" }, "is not an http URL"},
		"webhook without host": {func(o *Options) { o.TokenWebhookURL = "http:/review" }, "is not an http URL"},
		"range not a range":    {func(o *Options) { o.ServiceCIDR = "10.100.0.0" }, "option ServiceCIDR"},
		"range with host bits": {func(o *Options) { o.ServiceCIDR = "10.100.0.1/16" }, `give "10.100.0.0/16"`},
		"range too small":      {func(o *Options) { o.ServiceCIDR = "10.100.0.0/25" }, "between /12 and /24"},
		"range too large":      {func(o *Options) { o.ServiceCIDR = "10.0.0.0/8" }, "between /12 and /24"},
		"range of IPv6":        {func(o *Options) { o.ServiceCIDR = "fd00::/108" }, "IPv4 range"},
		"grace period negative": {func(o *Options) {
			o.NodeMonitorGracePeriod = -time.Second
		}, "option NodeMonitorGracePeriod -1s"},
	} {
		t.Run(name, func(t *testing.T) {
			options := valid
			test.change(&options)
			_, err := Start(t.Context(), options)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error should contain %q: %v", test.want, err)
			}
		})
	}
}

func TestClusterDNSIsTheTenthAddress(t *testing.T) {
	for cidr, want := range map[string]string{
		"10.100.0.0/16":    "10.100.0.10",
		"172.20.0.0/16":    "172.20.0.10",
		"192.168.128.0/24": "192.168.128.10",
		"172.16.0.0/12":    "172.16.0.10",
	} {
		if address := (Options{ServiceCIDR: cidr}).clusterDNS(); address.String() != want {
			t.Errorf("the DNS address of %s is %s, not %s", cidr, address, want)
		}
	}
}
