package schedulertest

import (
	"cmp"
	"embed"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

//go:embed testdata/*.yaml
var files embed.FS

// Scenario is a cluster with pods that wait, as a file of testdata describes it.
type Scenario struct {
	Description string `json:"description"`
	// Rounds is how often the test may plan and launch until every pod is bound. The default is 2,
	// because the scheduler may put a pod on a node that the plan meant for another pod. Scenarios
	// in which that cannot happen say 1.
	Rounds int `json:"rounds,omitempty"`
	// InstanceTypes are the types on offer, with their real sizes and prices. None means all.
	InstanceTypes []string `json:"instanceTypes,omitempty"`
	// NodePools default to one pool without requirements.
	NodePools        []api.NodePool           `json:"nodePools,omitempty"`
	PreferencePolicy string                   `json:"preferencePolicy,omitempty"`
	Namespaces       []corev1.Namespace       `json:"namespaces,omitempty"`
	RuntimeClasses   []nodev1.RuntimeClass    `json:"runtimeClasses,omitempty"`
	StorageClasses   []storagev1.StorageClass `json:"storageClasses,omitempty"`
	Volumes          []volume                 `json:"volumes,omitempty"`
	DaemonSets       []daemonSet              `json:"daemonSets,omitempty"`
	Nodes            []existingNode           `json:"nodes,omitempty"`
	Pods             []podGroup               `json:"pods"`
	// Unplaced is the number of pods of each group that neither the planner nor the scheduler may
	// find a node for.
	Unplaced map[string]int `json:"unplaced,omitempty"`
}

// Scenarios returns the scenarios of testdata by the names of their files, without the extension.
func Scenarios(t testing.TB) map[string]*Scenario {
	t.Helper()
	entries, err := files.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	scenarios := map[string]*Scenario{}
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("testdata", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		s := &Scenario{}
		if err := yaml.UnmarshalStrict(text, s); err != nil {
			t.Fatalf("%s: %v", entry.Name(), err)
		}
		s.setDefaults()
		scenarios[strings.TrimSuffix(entry.Name(), ".yaml")] = s
	}
	return scenarios
}

func (s *Scenario) setDefaults() {
	s.Rounds = cmp.Or(s.Rounds, 2)
	if len(s.NodePools) == 0 {
		s.NodePools = []api.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	}
	for i := range s.NodePools {
		s.NodePools[i].Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
			Group: api.AWSGroup,
			Kind:  api.EC2NodeClassKind,
			Name:  nodeClass().Name,
		}
	}
}

// nodeClass returns the class of all NodePools.
func nodeClass() *api.EC2NodeClass { return catalogtest.NodeClass("default") }

// instanceTypes returns the types on offer, as they resolve for the class.
func (s *Scenario) instanceTypes(t testing.TB) []catalog.InstanceType {
	t.Helper()
	all := catalog.Resolve(catalogtest.Catalog(t), nodeClass(), catalog.Observed{}, catalogtest.Now)
	return slices.DeleteFunc(all, func(typ catalog.InstanceType) bool {
		return len(s.InstanceTypes) > 0 && !slices.Contains(s.InstanceTypes, typ.Name)
	})
}

// namespaceNames returns the namespaces that the scenario uses, sorted.
func (s *Scenario) namespaceNames() []string {
	names := map[string]bool{metav1.NamespaceDefault: true}
	for i := range s.Namespaces {
		names[s.Namespaces[i].Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
