package starter_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/console/starter"
	"github.com/whittle-dev/whittle/shared/api"
)

func facts() starter.Facts {
	return starter.Facts{
		Cluster: "prod", Pool: "default", Role: "Whittle-prod-node", Tagged: true, Zones: []string{"us-east-1b", "us-east-1a", "us-east-1b"},
		Image: "al2023@v20261120", ImageParameter: "/aws/service/x",
	}
}

// TestTheObjectsAreValidAndSafe reads the manifest as the API server's validation does.
func TestTheObjectsAreValidAndSafe(t *testing.T) {
	for name, change := range map[string]func(*starter.Facts){
		"tagged": func(*starter.Facts) {},
		"by ids": func(f *starter.Facts) {
			f.Tagged, f.Subnets, f.Groups = false, []string{"subnet-0a1b2c3d"}, []string{"sg-0a1b2c3d"}
		},
		"newest image": func(f *starter.Facts) { f.Image = "" },
	} {
		f := facts()
		change(&f)
		if err := f.Check(); err != nil {
			t.Fatal(err)
		}
		first, second, _ := strings.Cut(f.Manifest(), "\n---\n")
		var pool api.NodePool
		var class api.EC2NodeClass
		for text, into := range map[string]any{first: &pool, second: &class} {
			if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
		}
		if err := class.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := pool.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if pool.Spec.Disruption.Budgets[0].Nodes != "10%" || pool.Spec.Template.Spec.NodeClassRef.Name != class.Name {
			t.Errorf("%s: the pool is %+v", name, pool.Spec)
		}
		if strings.Count(first, "values: [us-east-1a, us-east-1b]") != 1 {
			t.Errorf("%s: zones in\n%s", name, first)
		}
		if pinned := !strings.Contains(second, "@latest"); pinned != (name != "newest image") {
			t.Errorf("%s: the image in\n%s", name, second)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for want, change := range map[string]func(*starter.Facts){
		"-node-role":             func(f *starter.Facts) { f.Role = "" },
		"lower-case":             func(f *starter.Facts) { f.Pool = "Default pool" },
		"karpenter.sh/discovery": func(f *starter.Facts) { f.Tagged = false },
		"have no zone":           func(f *starter.Facts) { f.Zones = nil },
	} {
		f := facts()
		change(&f)
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}
