package kueue_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/infra/local/kueue"
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
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s among\n%s", want, all)
		}
	}
}

// TestWebhooks starts a program that ends at once in place of Kueue, and reads what the API server
// is told.
func TestWebhooks(t *testing.T) {
	running, file, err := kueue.Start(t.Context(), kueue.Options{
		Root: root, Binary: "/bin/true", Directory: t.TempDir(), Authority: []byte("an authority"),
	})
	if err != nil {
		t.Fatal(err)
	}
	running.Stop()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
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
		if err := yaml.UnmarshalStrict([]byte(document), &made); err != nil && !strings.Contains(err.Error(), "unknown field") {
			t.Fatal(err)
		}
		for _, webhook := range made.Webhooks {
			count++
			config := webhook.ClientConfig
			if !strings.HasPrefix(config.URL, "https://127.0.0.1:") || string(config.CABundle) != "an authority" ||
				config.Service != nil {
				t.Errorf("the webhook %s has %+v", webhook.Name, config)
			}
			if strings.Contains(webhook.Name, "pod.kb.io") {
				t.Error("pods wait for Kueue, which is told of Jobs only")
			}
		}
	}
	if count < 6 {
		t.Errorf("%d webhooks, want those of Jobs, workloads, queues and flavors", count)
	}
}
