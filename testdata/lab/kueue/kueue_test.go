package kueue_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/testdata/lab/kueue"
)

var root = filepath.Join("..", "..", "..")

// TestDefinitions finds those of Kueue's pinned version, and that of ProvisioningRequests.
func TestDefinitions(t *testing.T) {
	files, err := kueue.Definitions(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(files, "\n")
	for _, want := range []string{
		"kueue@v0.19.0", "kueue.x-k8s.io_workloads.yaml", "autoscaling.x-k8s.io_provisioningrequests.yaml",
		"jobset@v0.12.0",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s among\n%s", want, all)
		}
	}
}

// TestWebhooks starts a program that ends at once in place of each controller, and reads what the
// API server is told.
func TestWebhooks(t *testing.T) {
	for _, c := range []struct {
		controller *kueue.Controller
		want       []string
	}{
		{kueue.Kueue(), []string{"mclusterqueue.kb.io", "mjob.kb.io", "mjobset.kb.io", "mresourceflavor.kb.io",
			"mworkload.kb.io", "vclusterqueue.kb.io", "vcohort.kb.io", "vjob.kb.io", "vjobset.kb.io", "vresourceflavor.kb.io",
			"vworkload.kb.io"}},
		{kueue.JobSet(), []string{"mjobset.kb.io", "vjobset.kb.io"}},
	} {
		running, err := c.controller.Start(t.Context(), kueue.Options{
			Root: root, Binary: "/bin/true", Directory: t.TempDir(), Authority: []byte("an authority"),
		})
		if err != nil {
			t.Fatal(err)
		}
		running.Stop()
		if got := webhooks(t, running); !slices.Equal(got, c.want) {
			t.Errorf("the API server calls the webhooks %v of %s, want %v", got, c.controller.Namespace(), c.want)
		}
	}
}

// webhooks are the names of those that the API server is told of, at the controller's address.
func webhooks(t *testing.T, running *kueue.Running) []string {
	t.Helper()
	content, err := os.ReadFile(running.Webhooks)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, document := range strings.Split(string(content), "---\n") {
		var made struct {
			Webhooks []struct {
				Name         string `json:"name"`
				ClientConfig struct {
					URL      string `json:"url"`
					CABundle []byte `json:"caBundle"`
					Service  any    `json:"service"`
				} `json:"clientConfig"`
			} `json:"webhooks"`
		}
		if err := yaml.Unmarshal([]byte(document), &made); err != nil {
			t.Fatal(err)
		}
		for _, webhook := range made.Webhooks {
			config := webhook.ClientConfig
			if !strings.HasPrefix(config.URL, "https://"+running.Address) || string(config.CABundle) != "an authority" ||
				config.Service != nil {
				t.Errorf("the webhook %s has %+v", webhook.Name, config)
			}
			names = append(names, webhook.Name)
		}
	}
	return names
}
