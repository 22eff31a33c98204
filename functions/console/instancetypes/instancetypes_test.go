package instancetypes

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

func pool(name, class string) *api.NodePool {
	p := &api.NodePool{}
	p.Name = name
	if class != "" {
		p.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
			Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: class,
		}
	}
	return p
}

func readText(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Read("-", strings.NewReader(text), catalogtest.Now)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func offeringsText(t *catalog.InstanceType) []string {
	var texts []string
	for _, o := range t.Offerings {
		text := fmt.Sprintf("%s %s %v %v", o.CapacityType, o.Zone, o.Price, o.Available)
		if o.ReservationID != "" {
			text += fmt.Sprintf(" %s %d %s", o.ReservationID, o.ReservationCapacity, o.ZoneID)
		}
		if len(o.Requirements) > 0 {
			text += " " + o.Requirements.String()
		}
		texts = append(texts, text)
	}
	return texts
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestKwok(t *testing.T) {
	table, err := Read("testdata/kwok.json", nil, catalogtest.Now)
	if err != nil {
		t.Fatal(err)
	}
	types := table.Of(pool("any", "any"), nil)
	if len(types) != 3 {
		t.Fatalf("%d types, want one for each operating system: 3", len(types))
	}
	for i, want := range []string{
		`karpenter.kwok.sh/instance-cpu In [2], karpenter.kwok.sh/instance-family In [m5], ` +
			`karpenter.kwok.sh/instance-memory In [8Gi], karpenter.kwok.sh/instance-size In [large], ` +
			`karpenter.sh/capacity-type In [on-demand spot], kubernetes.io/arch In [amd64], kubernetes.io/os In [linux], ` +
			`node.kubernetes.io/instance-type In [m5.large], topology.kubernetes.io/zone In [a b]`,
		`karpenter.kwok.sh/instance-cpu In [2], karpenter.kwok.sh/instance-family In [m5], ` +
			`karpenter.kwok.sh/instance-memory In [8Gi], karpenter.kwok.sh/instance-size In [large], ` +
			`karpenter.sh/capacity-type In [on-demand spot], kubernetes.io/arch In [amd64], kubernetes.io/os In [windows], ` +
			`node.kubernetes.io/instance-type In [m5.large], topology.kubernetes.io/zone In [a b]`,
		`karpenter.kwok.sh/instance-cpu In [50m], karpenter.kwok.sh/instance-family In [s], ` +
			`karpenter.kwok.sh/instance-memory In [1Gi], karpenter.kwok.sh/instance-size In [50m], ` +
			`karpenter.sh/capacity-type In [on-demand], kubernetes.io/arch In [arm64], kubernetes.io/os In [linux], ` +
			`node.kubernetes.io/instance-type In [s-1x-arm64-linux], topology.kubernetes.io/zone In [a]`,
	} {
		if got := plainRequirements(&types[i]); got != want {
			t.Errorf("labels of type %d are\n%s\nwant\n%s", i, got, want)
		}
	}
	equal(t, "offerings", offeringsText(&types[0]), []string{
		"spot a 0.04 true", "spot b 0.05 true " + types[0].Offerings[1].Requirements.String(), "on-demand a 0.1 false",
		"on-demand b 0.1 false",
	})
	if rack, ok := types[0].Offerings[1].Requirements["example.com/rack"]; !ok || !rack.Has("r1") {
		t.Errorf("the offering's labels are %v", types[0].Offerings[1].Requirements)
	}
	if a := types[0].Allocatable; a.Cpu().String() != "1900m" || a.Memory().String() != "8182Mi" ||
		a.Pods().String() != "110" || types[0].Capacity.Cpu().String() != "2" {
		t.Errorf("allocatable is %v", a)
	}
	if a := types[2].Allocatable; a.Cpu().Sign() != 0 || a.Pods().String() != "16" {
		t.Errorf("allocatable is %v, not less than nothing wanted", a)
	}
	equal(t, "well-known labels", table.WellKnownLabels, []string{
		"example.com/rack", "karpenter.kwok.sh/instance-cpu", "karpenter.kwok.sh/instance-family",
		"karpenter.kwok.sh/instance-memory", "karpenter.kwok.sh/instance-size",
		"karpenter.sh/capacity-type", "topology.kubernetes.io/zone",
	})
}

// plainRequirements formats each requirement as key, operator and values.
func plainRequirements(t *catalog.InstanceType) string {
	var parts []string
	for _, term := range t.Requirements.Terms() {
		part := term.Key + " " + string(term.Operator)
		if len(term.Values) > 0 {
			part += fmt.Sprintf(" %v", term.Values)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func TestSnapshot(t *testing.T) {
	table, err := Read("testdata/snapshot.json", nil, catalogtest.Now)
	if err != nil {
		t.Fatal(err)
	}
	types := table.Of(pool("default", ""), nil)
	if len(types) != 2 {
		t.Fatalf("%d types", len(types))
	}
	want := `example.com/gpu DoesNotExist, example.com/rack In [1 3], karpenter.sh/capacity-type In [on-demand reserved ` +
		`spot], kubernetes.io/arch In [amd64], node.kubernetes.io/instance-type In [m6a.large], topology.k8s.aws/zone-id ` +
		`In [usw2-az1], topology.kubernetes.io/zone In [us-west-2a us-west-2b]`
	if got := plainRequirements(&types[0]); got != want {
		t.Errorf("labels are\n%s\nwant\n%s", got, want)
	}
	equal(t, "offerings", offeringsText(&types[0]), []string{
		"reserved us-west-2a 1e-07 true cr-1 2 usw2-az1", "spot us-west-2a 0.0389 true", "on-demand us-west-2b 0.0864 false",
	})
	// The overhead of 2 cores exceeds the capacity. 7577 Mi less 500, 100 and 1024 for huge pages
	// remain.
	if a := types[0].Allocatable; a.Cpu().Sign() != 0 || a.Memory().String() != "5953Mi" || a.Pods().String() != "29" {
		t.Errorf("allocatable is %v", a)
	}
	if types[0].Exotic || types[1].Exotic {
		t.Error("types are planned as given, none is exotic")
	}
	for name, want := range map[string][]string{
		"gpu": {"g5.xlarge"}, "own": {"own.large", "m6a.large"}, "none": nil, "default": {"m6a.large", "g5.xlarge"},
	} {
		var names []string
		for _, typ := range table.Of(pool(name, "x"), catalogtest.NodeClass("x")) {
			names = append(names, typ.Name)
		}
		equal(t, "types of "+name, names, want)
	}
	equal(t, "well-known labels", table.WellKnownLabels, []string{"example.com/rack"})
}

func TestCompressed(t *testing.T) {
	text, err := os.ReadFile("testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if types := readText(t, compressed.String()).Of(pool("gpu", ""), nil); len(types) != 1 {
		t.Errorf("types are %v", types)
	}
}

func TestCatalogue(t *testing.T) {
	text, err := json.Marshal(catalogtest.Catalog(t))
	if err != nil {
		t.Fatal(err)
	}
	table := readText(t, string(text))
	if types := table.Of(pool("default", "default"), nil); len(types) < 1000 {
		t.Errorf("%d types", len(types))
	}
}

func TestBuiltin(t *testing.T) {
	table, err := Builtin(catalogtest.Now)
	if err != nil {
		t.Fatal(err)
	}
	unresolved := &api.EC2NodeClass{}
	unresolved.Name = "unresolved"
	unresolved.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "bottlerocket@latest"}}
	oneZone := catalogtest.NodeClass("one")
	oneZone.Status.Subnets = oneZone.Status.Subnets[:1]
	windows := &api.EC2NodeClass{}
	windows.Name = "windows"
	windows.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "windows2022@latest"}}
	for _, test := range []struct {
		name                 string
		class                *api.EC2NodeClass
		zones, architectures []string
		os                   string
	}{
		{"without a class", nil, []string{"us-east-1a", "us-east-1b", "us-east-1c"}, []string{"amd64", "arm64"}, "linux"},
		{"unresolved", unresolved, []string{"us-east-1a", "us-east-1b", "us-east-1c"}, []string{"amd64", "arm64"}, "linux"},
		{"one zone", oneZone, []string{"us-east-1a"}, []string{"amd64", "arm64"}, "linux"},
		{"windows", windows, []string{"us-east-1a", "us-east-1b", "us-east-1c"}, []string{"amd64"}, "windows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			zones, architectures := map[string]bool{}, map[string]bool{}
			types := table.Of(pool("p", test.name), test.class)
			for i := range types {
				for _, o := range types[i].Offerings {
					zones[o.Zone] = true
				}
				value, _ := types[i].Requirements[corev1.LabelArchStable].Single()
				architectures[value] = true
				if os, _ := types[i].Requirements[corev1.LabelOSStable].Single(); os != test.os {
					t.Fatalf("%s runs %s", types[i].Name, os)
				}
			}
			equal(t, "zones", sortedKeys(zones), test.zones)
			equal(t, "architectures", sortedKeys(architectures), test.architectures)
		})
	}
	if unresolved.Status.AMIs != nil {
		t.Error("the class has been changed")
	}
	// In a cluster nothing is assumed.
	if types := OfCatalog(catalogtest.Catalog(t), catalog.Observed{}, catalogtest.Now).Of(
		pool("p", "unresolved"), unresolved,
	); len(types) != 0 {
		t.Errorf("%d types of a class that nobody resolved", len(types))
	}
	if types := OfCatalog(catalogtest.Catalog(t), catalog.Observed{}, catalogtest.Now).Of(
		pool("p", "none"), nil,
	); len(types) != 0 {
		t.Errorf("%d types of no class", len(types))
	}
	unavailable := &catalog.Unavailable{}
	unavailable.Mark(api.CapacityTypeSpot, "m5.large", "us-east-1a", catalogtest.Now)
	types := OfCatalog(
		catalogtest.Catalog(t), catalog.Observed{Unavailable: unavailable}, catalogtest.Now.Add(time.Minute),
	).Of(pool("p", "one"), oneZone)
	i := slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == "m5.large" })
	for _, o := range types[i].Offerings {
		if o.Available != (o.CapacityType == api.CapacityTypeOnDemand) {
			t.Errorf("offering %+v", o)
		}
	}
}

func TestBadInput(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", "<stdin>: holds 0 documents"},
		{
			"neither form", "{\"types\": []}",
			"<stdin>:1: instance types: instanceTypes: is missing: want a list (Karpenter's kwok form), or an object with " +
				"instanceTypes (the snapshot form)",
		},
		{"words", "hello", "<stdin>:1: instance types: \"hello\": want an object"},
		{"no json", "[\n{]", "<stdin>:2: not JSON: invalid character ']' looking for beginning of object key string"},
		{"no gzip", "\x1f\x8bx", "reading instance types: <stdin>: "},
		{"kwok: no name", "[{\"name\": \"a\"},\n{}]", "<stdin>:2: instance types: [1].name: is missing"},
		{
			"kwok: quantity", "[{\"name\": \"a\",\n \"resources\": {\"cpu\": \"x\"}}]",
			`<stdin>:2: instance types: [0].resources.cpu: "x": want a quantity, such as 500m, 2 or 8Gi`,
		},
		{
			"kwok: price", "[{\"name\": \"a\", \"offerings\": [\n{\"Price\": \"1\"}]}]",
			`<stdin>:2: instance types: [0].offerings[0].Price: "1": want a number`,
		},
		{
			"kwok: negative price", "[{\"name\": \"a\", \"offerings\": [\n{\"Price\": -1}]}]",
			`<stdin>:2: instance types: [0].offerings[0].Price: -1 is negative: want zero or more`,
		},
		{
			"kwok: operator",
			"[{\"name\": \"a\", \"offerings\": [\n{\"Requirements\": [{\"key\": \"a\", \"operator\": \"Is\"}]}]}]",
			`<stdin>:2: instance types: [0].offerings[0].Requirements: requirement on "a": operator "Is" is not one of`,
		},
		{
			"operator", "{\"instanceTypes\": [{\"name\": \"a\", \"requirements\": [\n{\"key\": \"a\", \"operator\": \"Is\"}]}]}",
			`<stdin>:2: instance types: instanceTypes[0].requirements[0]: requirement on "a": operator "Is" is not one of`,
		},
		{
			"key", "{\"instanceTypes\": [{\"name\": \"a\", \"requirements\": [\n{\"operator\": \"Exists\"}]}]}",
			`<stdin>:2: instance types: instanceTypes[0].requirements[0].key: is missing`,
		},
		{"no name", "{\"instanceTypes\": [{}]}", `<stdin>:1: instance types: instanceTypes[0].name: is missing`},
		{
			"negative price", "{\"instanceTypes\": [{\"name\": \"a\", \"offerings\": [\n{\"price\": -0.1}]}]}",
			`<stdin>:2: instance types: instanceTypes[0].offerings[0].price: -0.1 is negative: want zero or more`,
		},
		{
			"available", "{\"instanceTypes\": [{\"name\": \"a\", \"offerings\": [\n{\"available\": \"yes\"}]}]}",
			`<stdin>:2: instance types: instanceTypes[0].offerings[0].available: "yes": want true or false`,
		},
		{
			"unknown name", "{\"instanceTypes\": [{\"name\": \"a\"}],\n\"nodePools\": {\"p\": [\"a\",\n\"b\"]}}",
			`<stdin>:3: instance types: nodePools.p[1]: instanceTypes has no "b": want the name of one of its types, or a ` +
				`whole type`,
		},
		{
			"whole type", "{\"instanceTypes\": [],\n\"nodePools\": {\"p\": [{\"name\": \"a\",\n\"capacity\": {\"cpu\": []}}]}}",
			`<stdin>:3: instance types: nodePools.p[0]: capacity.cpu: a list: `,
		},
		{
			"catalogue", "{\"instanceTypes\": [{\"instanceType\": \"a\", \"zones\": 1}]}",
			`<stdin>:1: catalogue: json: cannot unmarshal number`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read("-", strings.NewReader(test.text), catalogtest.Now)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error is %v\nwant %s", err, test.want)
			}
		})
	}
	if _, err := Read("testdata/none.json", nil, catalogtest.Now); err == nil ||
		!strings.Contains(err.Error(), "none.json") {
		t.Errorf("no file: %v", err)
	}
}
