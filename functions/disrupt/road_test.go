package disrupt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/sight/sighttest"
)

// search runs one pass in the part of a minute in which disrupt searches for moves, and returns what it
// finds.
func (l *harness) search(t *testing.T) *consolidation.Plan {
	t.Helper()
	var found *consolidation.Plan
	l.observe = func(decided *consolidation.Plan) { found = decided }
	l.ahead = time.Minute // pods that began to wait a moment ago hold it back
	for !decide.Searches(l.now()) {
		l.ahead += time.Second
	}
	l.mustTick(t)
	if found == nil {
		t.Fatal("the pass has not searched for moves")
	}
	return found
}

// reportOf is the plan as the command line prints it.
func reportOf(t *testing.T, decided *consolidation.Plan) []byte {
	t.Helper()
	text, err := json.Marshal(report.ConsolidationOf(decided, 0, ""))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTheCommandConsolidatesAsDisruptDoes gives random clusters to the handler and to the command line,
// and compares the moves and the reasons byte for byte.
func TestTheCommandConsolidatesAsDisruptDoes(t *testing.T) {
	command := sighttest.Command(t)
	config, kubeconfig := server.Administrator()
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	moves := 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			pool(t, []string{"100%", "1"}[seed%2])
			settleAtOnce(t)
			offers(t)
			w, err := sighttest.New(config, seed, []string{"us-east-1a", "us-east-1b"}, []string{"m5.large"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Delete(context.Background()) })
			if err := w.Create(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := sighttest.Ask(t, command, "plan", "--consolidate", "-kubeconfig", kubeconfig)
			decided := newHarness(t, nil).search(t)
			moves += len(decided.Moves)
			if got, want := sighttest.Comparable(t, got), sighttest.Comparable(t, reportOf(t, decided)); got != want {
				t.Errorf("the command line moves\n%s\nand disrupt\n%s", got, want)
			}
		})
	}
	if moves == 0 && !testing.Short() {
		t.Error("no cluster has a move, so that nothing is compared")
	}
}

func supply(name corev1.ResourceName, amount string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(amount)}
}

// TestPodsWithVolumesMove has four nodes with a pod each, which would fit one node. Each pod mounts a
// claim that is bound in the nodes' zone, and no pod waits.
func TestPodsWithVolumesMove(t *testing.T) {
	const claims, volumes = "/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/persistentvolumes"
	pool(t, "100%")
	settleAtOnce(t)
	offers(t)
	names := []string{"a", "b", "c", "d"}
	initialized(t, names...)
	for _, name := range names {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Name = "data-" + name
		claim.Spec.VolumeName, claim.Spec.StorageClassName = claim.Name, new("")
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = supply("storage", "1Gi")
		volume := &corev1.PersistentVolume{}
		volume.Name, volume.Spec.Capacity, volume.Spec.AccessModes = claim.Name, supply("storage", "1Gi"), claim.Spec.AccessModes
		volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: claim.Name}
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: claim.Name}
		functiontest.Create(t, server, volumes, volume)
		functiontest.Create(t, server, claims, claim)
		t.Cleanup(func() {
			for _, path := range []string{claims, volumes} {
				server.Patch(t, path+"/"+claim.Name, map[string]any{"metadata": map[string]any{"finalizers": nil}})
				server.Delete(t, path+"/"+claim.Name)
			}
		})
		server.Patch(t, functiontest.NodesPath+"/node-"+name, map[string]any{"metadata": map[string]any{"labels": map[string]string{
			corev1.LabelTopologyZone: "us-east-1a", api.NodePoolLabelKey: "default", corev1.LabelHostname: "node-" + name,
			corev1.LabelInstanceTypeStable: "m5.large", api.CapacityTypeLabelKey: api.CapacityTypeSpot,
		}}})
		server.Pod(t, "db-"+name, "node-"+name, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = supply("cpu", "200m")
			pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			}}}
		})
		t.Cleanup(func() {
			server.Delete(t, functiontest.PodsPath+"/db-"+name)
			server.EndPods(t, "node-"+name)
		})
	}
	// A claim without the mark is taken for one whose volume is being bound.
	for _, name := range names {
		bound := func() bool {
			claim := functiontest.Get[corev1.PersistentVolumeClaim](t, server, claims+"/data-"+name)
			return claim.Annotations["pv.kubernetes.io/bind-completed"] != ""
		}
		for deadline := time.Now().Add(time.Minute); !bound(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("nobody binds the claim data-%s", name)
			}
		}
	}
	decided := newHarness(t, nil).search(t)
	deleted := 0
	for i := range decided.Moves {
		deleted += len(decided.Moves[i].Delete)
	}
	if deleted < 3 {
		t.Errorf("%d of four nodes are to go, want three: %s", deleted, reportOf(t, decided))
	}
	if strings.Contains(string(reportOf(t, decided)), "were not read") {
		t.Error("volumes are not read")
	}
}
