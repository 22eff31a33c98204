package main

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/release"
)

// ordersReleases continues and aborts a release by a command.
func ordersReleases(t *testing.T, kubeconfig string, client *cluster.Client) {
	t.Helper()
	says := func(want, unwanted string, arguments ...string) {
		t.Helper()
		text, err := output(t, append(arguments, "-kubeconfig", kubeconfig)...)
		text = strings.Join(strings.Fields(text), " ")
		if err != nil || !strings.Contains(text, want) || unwanted != "" && strings.Contains(text, unwanted) {
			t.Errorf("%q: %v, %s", arguments, err, text)
		}
	}
	says("no release was seen yet", "", "release", "status")
	setDrifted := func(status metav1.ConditionStatus) {
		t.Helper()
		claims, err := client.NodeClaims(t.Context())
		if err != nil || len(claims) != 1 {
			t.Fatal(len(claims), err)
		}
		conditions := claims[0].Status.Conditions
		api.SetCondition(&conditions, metav1.Condition{Type: api.ConditionTypeDrifted, Status: status,
			Reason: api.ReasonAMIDrift, Message: "another image"}, time.Now())
		if status == metav1.ConditionFalse {
			api.RemoveCondition(&conditions, api.ConditionTypeDrifted)
		}
		if _, err = client.PatchNodeClaimStatus(t.Context(), claims[0].Name,
			map[string]any{"status": map[string]any{"conditions": conditions}}); err != nil {
			t.Fatal(err)
		}
	}
	remember := func(record release.Record) {
		t.Helper()
		records := map[string]release.Record{"general": record}
		if record.Release == "" {
			records = nil
		}
		if err := inventory.RememberReleases(t.Context(), client, records); err != nil {
			t.Fatal(err)
		}
	}
	setDrifted(metav1.ConditionTrue)
	halted := release.Record{Release: "b1", Since: time.Now(), Halted: time.Now(), Why: "node a: it broke"}
	remember(halted)
	says("general halted 1 0 0 - its release halted at ", "", "release", "status")
	says("its release halted at", "", "status")
	says("awaits its release", "", "explain", "nodeclaim", "general-1")
	says(`nodepool "general": its release is continued by `, "by somebody", "release", "continue", "-pool", "general")
	says("general waves 1 0 0 - its release is continued by", "", "release")
	says("", "its release", "status")
	says(`"stage": "waves"`, "", "release", "status", "-pool", "general", "-o", "json")
	says("its release is aborted by", "", "release", "abort")
	says("general aborted", "", "release")
	halted.Release = "b2" // the orders end with their release
	remember(halted)
	says("general halted", "", "release")
	setDrifted(metav1.ConditionFalse)
	says("general done 0", "", "release")
	_, problems, err := runPlan(t, "", "release", "abort", "-pool", "general", "-kubeconfig", kubeconfig)
	if err == nil || !strings.Contains(err.Error()+problems, `no release of nodepool "general" is under way`) {
		t.Errorf("%v, %s", err, problems)
	}
	if _, _, err = runPlan(t, "", "release", "stop", "-kubeconfig", kubeconfig); exitCode(err) != codeUsage {
		t.Errorf("an unknown word: %v", err)
	}
	remember(release.Record{})
}
