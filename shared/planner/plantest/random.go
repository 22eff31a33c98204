package plantest

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Random makes a small cluster, the same for the same seed. It has 5 to 40 waiting pods, or a few
// more if nodes leave. It has up to eight nodes, one to three NodePools, and 5 to 25 instance
// types. Each feature of scheduling has a probability. One cluster has a few features, and a few
// hundred clusters have all.
func Random(seed uint64) *plan.Snapshot {
	g := &generator{
		Rand:  rand.New(rand.NewPCG(seed, 0x77686974746c65)),
		later: rand.New(rand.NewPCG(seed, 0x6c61746572)),
	}
	g.s = &plan.Snapshot{InstanceTypes: map[string][]catalog.InstanceType{}}
	g.zones = zoneNames[:2+g.IntN(3)]
	if g.chance(30) {
		g.s.PreferencePolicy = plan.PreferencesIgnored
	}
	if g.chance(30) {
		g.s.MinValuesPolicy = plan.MinValuesBestEffort
	}
	g.makeNamespaces()
	g.makeTypes()
	g.makePools()
	g.makeStorage()
	g.makeDaemonSets()
	g.makeApps()
	g.makeNodes()
	g.makePods()
	return g.s
}

var zoneNames = []string{"us-west-2a", "us-west-2b", "us-west-2c", "us-west-2d"}

type generator struct {
	*rand.Rand
	// later draws features that came later, so that the rest of a seed's cluster stays as it was.
	later *rand.Rand
	s     *plan.Snapshot
	zones []string
	types []catalog.InstanceType
	apps  []app
	// serial is the number of the last object with a numbered name.
	serial int
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) number() int {
	g.serial++
	return g.serial
}

// oneOf returns one of the values.
func oneOf[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

// someOf returns at least one of the values, in their order.
func someOf[T any](g *generator, values ...T) []T {
	var some []T
	for _, v := range values {
		if g.chance(50) {
			some = append(some, v)
		}
	}
	if len(some) == 0 {
		some = append(some, oneOf(g, values...))
	}
	return some
}

func pointer[T any](v T) *T { return &v }

// deletedAt returns the deletion time of all objects that are being deleted.
func deletedAt() metav1.Time { return metav1.Unix(1780000000, 0) }

// namespaceNames are the namespaces of pods. All but the first have a label that selectors use.
var namespaceNames = []string{"default", "team-a", "team-b"}

func (g *generator) makeNamespaces() {
	for i, name := range namespaceNames {
		ns := corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
		}
		if i > 0 {
			ns.Labels["tier"] = "product"
		}
		g.s.Namespaces = append(g.s.Namespaces, ns)
	}
	g.s.Namespaces = append(g.s.Namespaces, corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}})
}

// makePods makes the waiting pods. It adds replicas of each app to the pods of leaving nodes, which
// makeNodes has added.
func (g *generator) makePods() {
	most := 5 + g.IntN(36)
	for i := 0; len(g.s.Pods) < most && i < 200; i++ {
		a := &g.apps[i%len(g.apps)]
		for range 1 + g.IntN(6) {
			if len(g.s.Pods) < most {
				g.s.Pods = append(g.s.Pods, g.podOf(a))
			}
		}
	}
}

// podOf makes a waiting replica of an app.
func (g *generator) podOf(a *app) corev1.Pod {
	n := g.number()
	pod := corev1.Pod{ObjectMeta: *a.meta.DeepCopy(), Spec: *a.spec.DeepCopy()}
	pod.Name = fmt.Sprintf("%s-%02d", a.name, n)
	pod.UID = uid("pod", pod.Name)
	pod.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: a.name, UID: uid("rs", a.name), Controller: pointer(true)},
	}
	if a.claimFor != nil {
		a.claimFor(&pod)
	}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
	}
	return pod
}

func customLabels() []string { return []string{teamLabel, slotLabel} }

// Labels that only NodePools give.
const (
	teamLabel = "example.com/team"
	slotLabel = "example.com/slot"
	// Offerings of some instance types have rackLabel.
	rackLabel = "example.com/rack"
)

// capacityTypes are the capacity types of all clusters. Some clusters also have reservations.
var capacityTypes = []string{api.CapacityTypeOnDemand, api.CapacityTypeSpot}
