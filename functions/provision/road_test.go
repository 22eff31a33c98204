package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/console/report"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/sight/sighttest"
	"github.com/whittle-dev/whittle/shared/status"
)

// randomWorlds is how many random clusters a test tries.
func randomWorlds() uint64 {
	if testing.Short() {
		return 2
	}
	return 8
}

// TestTheCommandPlansAsProvisionDoes gives random clusters to the handler and to the command line, and
// compares their plans byte for byte. The clusters have volumes, namespaces, settings, misfits, offerings
// that EC2 lacked, a CapacityBuffer, a ProvisioningRequest and a PodGroup.
func TestTheCommandPlansAsProvisionDoes(t *testing.T) {
	command := sighttest.Command(t)
	for seed := range randomWorlds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := newEnvironment(t)
			w := e.world(seed)
			settings := sight.Settings{
				PreferencePolicy: plan.PreferencesRespected, MinValuesPolicy: plan.MinValuesStrict,
				ProvisioningRequests: seed%3 == 0, CapacityBuffers: seed%2 == 0,
			}
			if seed%4 >= 2 {
				settings.PreferencePolicy, settings.MinValuesPolicy = plan.PreferencesIgnored, plan.MinValuesBestEffort
			}
			if settings.CapacityBuffers {
				e.template("spare", "1")
				e.buffer("spare", "spare", 2)
			}
			if settings.ProvisioningRequests {
				e.template("batch", "7")
				e.request("batch", []string{api.CheckCapacityClass, api.AtomicScaleUpClass}[seed%2], "batch", "batch")
			}
			if seed%4 != 0 {
				e.podGroup(sighttest.Gang, int(seed))
			}
			e.remember(w)
			told := status.Deployment{Tick: time.Now()}
			settings.Tell(&told)
			e.try(status.PutDeployment(t.Context(), e.client, told, 0))
			var decided *report.Plan
			handler := e.handler(alive())
			handler.dryRun, handler.settings = true, settings
			handler.observe = func(view *sight.View, made *plan.Plan) {
				decided = report.Of(made, 0, "")
				decided.Hold(view.Held)
			}
			if _, err := handler.handle(t.Context(), tick("1")); err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(decided)
			e.try(err)
			got := sighttest.Ask(t, command, "plan", "-kubeconfig", controlPlane.Kubeconfig)
			if got, want := sighttest.Comparable(t, got), sighttest.Comparable(t, want); got != want {
				t.Errorf("the command line plans\n%s\nand provision\n%s", got, want)
			}
			if len(decided.Held) == 0 {
				t.Error("no pod is held, although one is a misfit")
			}
			for _, held := range decided.Held {
				explained := sighttest.Ask(t, command, "explain", "pod", strings.TrimPrefix(held.Pod, "default/"),
					"-kubeconfig", controlPlane.Kubeconfig)
				if !strings.Contains(string(explained), `"outcome": "held"`) || !strings.Contains(string(explained), held.Reason) {
					t.Errorf("%s is held by provision, and explained as\n%s", held.Pod, explained)
				}
			}
		})
	}
}

// TestFilesArePlannedAsTheirClusterIs gives the objects of random clusters to the command line as files,
// with the cluster's catalogue. The plan is the one that the handler makes in the cluster.
func TestFilesArePlannedAsTheirClusterIs(t *testing.T) {
	command := sighttest.Command(t)
	for seed := range randomWorlds() / 2 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := newEnvironment(t)
			w := e.world(100 + seed)
			e.podGroup(sighttest.Gang, 1+int(seed))
			var decided *report.Plan
			handler := e.handler(alive())
			handler.dryRun = true
			handler.observe = func(view *sight.View, made *plan.Plan) {
				decided = report.Of(made, 0, "")
				decided.Hold(view.Held)
			}
			if _, err := handler.handle(t.Context(), tick("1")); err != nil {
				t.Fatal(err)
			}
			objects, err := w.Export(t.Context(), api.NodePoolsPath+"/default",
				"/apis/"+api.AWSAPIVersion+"/"+api.EC2NodeClassResource+"/default", "/api/v1/namespaces/team",
				"/apis/"+api.PodGroupAPIVersion+"/namespaces/default/podgroups/"+sighttest.Gang)
			e.try(err)
			types, err := json.Marshal(offer())
			e.try(err)
			files := t.TempDir()
			e.try(os.WriteFile(filepath.Join(files, "objects.json"), objects, 0o600))
			e.try(os.WriteFile(filepath.Join(files, "types.json"), types, 0o600))
			want, err := json.Marshal(decided)
			e.try(err)
			got := sighttest.Ask(t, command, "plan", "-daemon-sets", "files", "-f", filepath.Join(files, "objects.json"),
				"-instance-types", filepath.Join(files, "types.json"))
			if got, want := sighttest.Comparable(t, got), sighttest.Comparable(t, want); got != want {
				t.Errorf("from files the command line plans\n%s\nand provision in the cluster\n%s", got, want)
			}
		})
	}
}

// world makes a random cluster until the test is over.
func (e *environment) world(seed uint64) *sighttest.World {
	e.t.Helper()
	w, err := sighttest.New(unlimited(), seed, []string{"us-east-1a", "us-east-1b", "us-east-1c"},
		[]string{"m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"})
	e.try(err)
	e.t.Cleanup(func() { w.Delete(context.Background()) })
	e.try(w.Create(e.t.Context()))
	e.untilCached()
	return w
}

// remember stores a misfit of two of the pods, one of which waits no longer, and a shortage.
func (e *environment) remember(w *sighttest.World) {
	e.t.Helper()
	misfits := map[string]misfit.Misfit{}
	pods, err := e.client.UnboundPods(e.t.Context())
	e.try(err)
	for i := range pods {
		until := time.Now().Add(time.Hour)
		switch pods[i].Name {
		case w.Waiting[1]:
			until = time.Now().Add(-time.Minute)
			fallthrough
		case w.Waiting[0]:
			misfits[string(pods[i].UID)] = misfit.Misfit{
				Claims: []string{"small"}, Until: until.UTC().Truncate(time.Second), Because: "it requests 1 of cpu",
			}
		}
	}
	e.try(inventory.PutMisfits(e.t.Context(), e.client, misfits))
	short := &catalog.Unavailable{}
	short.Mark(api.CapacityTypeSpot, "m5.large", "us-east-1a", time.Now())
	e.try(inventory.MarkUnavailable(e.t.Context(), e.client, short, time.Now()))
	e.t.Cleanup(func() { _ = inventory.PutMisfits(context.Background(), e.client, nil) })
}
