package kueue

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/infra/local/gomodule"
	"github.com/whittle-dev/whittle/infra/local/supervisor"
)

// Namespace is where Kueue keeps its own objects.
const Namespace = "kueue-system"

// Options say how the controller is run.
type Options struct {
	// Root is the repository's folder, Binary the result of Build.
	Root, Binary string
	// Directory is for the configuration and the log. It exists.
	Directory string
	// Kubeconfig gives the controller all rights.
	Kubeconfig string
	// Certificate and Key (PEM) are for 127.0.0.1, and Authority has signed them.
	Certificate, Key, Authority []byte
}

// Start writes the controller's configuration and runs it. Webhooks is a manifest of what the API
// server has to know of it.
func Start(ctx context.Context, options Options) (running *supervisor.Process, webhooks string, err error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, "", err
	}
	if webhooks, err = writeWebhooks(ctx, &options, port); err != nil {
		return nil, "", err
	}
	for name, content := range map[string][]byte{
		"tls.crt": options.Certificate, "tls.key": options.Key, "configuration.yaml": configuration(options.Directory, port),
	} {
		if err := os.WriteFile(filepath.Join(options.Directory, name), content, 0o600); err != nil {
			return nil, "", err
		}
	}
	return supervisor.Start(supervisor.Options{
		Binary: options.Binary, Log: filepath.Join(options.Directory, "kueue.log"), Arguments: []string{
			"--config", filepath.Join(options.Directory, "configuration.yaml"), "--zap-log-level=2",
			// Otherwise it serves an aggregated API with certificates that it does not find.
			"--feature-gates=VisibilityOnDemand=false",
		}, Environment: []string{"KUBECONFIG=" + options.Kubeconfig},
	}), webhooks, nil
}

// configuration is what the controller reads.
func configuration(directory string, port int) []byte {
	return fmt.Appendf(nil, `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: %s
health: {healthProbeBindAddress: "127.0.0.1:0"}
metrics: {bindAddress: "127.0.0.1:0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
integrations: {frameworks: [batch/job]}
`, Namespace, port, directory)
}

// freePort is one that nobody uses now.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port, listener.Close()
}

// writeWebhooks writes Kueue's webhooks for Jobs and for its own kinds, with the address of the
// controller in place of a service. It returns the file.
func writeWebhooks(ctx context.Context, options *Options, port int) (string, error) {
	directory, err := gomodule.Folder(ctx, Folder(options.Root), module)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(directory, "config", "components", "webhook", "manifests.yaml"))
	if err != nil {
		return "", err
	}
	var manifest []string
	for _, document := range strings.Split(string(content), "\n---\n") {
		text, err := rewritten(document, options.Authority, port)
		if err != nil {
			return "", err
		}
		manifest = append(manifest, text)
	}
	file := filepath.Join(options.Directory, "webhooks.yaml")
	return file, os.WriteFile(file, []byte(strings.Join(manifest, "---\n")), 0o600)
}

// rewritten is one of the two configurations with the webhooks that are used.
func rewritten(document string, authority []byte, port int) (string, error) {
	var configuration map[string]any
	if err := yaml.Unmarshal([]byte(document), &configuration); err != nil {
		return "", err
	}
	webhooks, _ := configuration["webhooks"].([]any)
	var used []any
	for _, webhook := range webhooks {
		fields, _ := webhook.(map[string]any)
		path, _, err := unstructured.NestedString(fields, "clientConfig", "service", "path")
		if err != nil {
			return "", err
		}
		if strings.Contains(path, "-kueue-x-k8s-io-") || strings.HasSuffix(path, "-batch-v1-job") {
			fields["clientConfig"] = map[string]any{
				"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, path), "caBundle": base64.StdEncoding.EncodeToString(authority),
			}
			used = append(used, fields)
		}
	}
	configuration["webhooks"] = used
	text, err := yaml.Marshal(configuration)
	return string(text), err
}
