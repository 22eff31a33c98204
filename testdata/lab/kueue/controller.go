package kueue

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/testdata/lab/gomodule"
	"github.com/whittle-dev/whittle/testdata/lab/supervisor"
)

// Options say how a controller is run.
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

// Running is a controller that runs. Its owner calls Stop.
type Running struct {
	*supervisor.Process
	// Webhooks is a manifest of what the API server has to know of the controller.
	Webhooks string
	// Address accepts connections when the webhooks answer.
	Address string
}

// Start writes the controller's configuration and runs it.
func (c *Controller) Start(ctx context.Context, options Options) (*Running, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	webhooks, err := c.writeWebhooks(ctx, &options, port)
	if err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{
		"tls.crt": options.Certificate, "tls.key": options.Key,
		"configuration.yaml": c.configuration(options.Directory, port),
	} {
		if err := os.WriteFile(filepath.Join(options.Directory, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	running := supervisor.Start(supervisor.Options{
		Binary: options.Binary, Log: filepath.Join(options.Directory, c.name+".log"), Arguments: append([]string{
			"--config", filepath.Join(options.Directory, "configuration.yaml"), "--zap-log-level=2",
		}, c.arguments...), Environment: []string{"KUBECONFIG=" + options.Kubeconfig},
	})
	return &Running{Process: running, Webhooks: webhooks, Address: fmt.Sprintf("127.0.0.1:%d", port)}, nil
}

// configuration is what the controller reads.
func (c *Controller) configuration(directory string, port int) []byte {
	return fmt.Appendf(nil, `apiVersion: %s
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:0"}
metrics: {bindAddress: "127.0.0.1:0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
%s`, c.version, port, directory, c.settings)
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

// writeWebhooks writes the webhooks that are called, with the address of the controller in place of
// a service. It returns the file.
func (c *Controller) writeWebhooks(ctx context.Context, options *Options, port int) (string, error) {
	directory, err := gomodule.Folder(ctx, Folder(options.Root), c.module)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(directory, "config", "components", "webhook", "manifests.yaml"))
	if err != nil {
		return "", err
	}
	var manifest []string
	for _, document := range strings.Split(string(content), "\n---\n") {
		text, err := c.rewritten(document, options.Authority, port)
		if err != nil {
			return "", err
		}
		manifest = append(manifest, text)
	}
	file := filepath.Join(options.Directory, "webhooks.yaml")
	return file, os.WriteFile(file, []byte(strings.Join(manifest, "---\n")), 0o600)
}

// rewritten is one of the two configurations with the webhooks that are used.
func (c *Controller) rewritten(document string, authority []byte, port int) (string, error) {
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
		if slices.ContainsFunc(c.called, func(part string) bool { return strings.Contains(path, part) }) {
			fields["clientConfig"] = map[string]any{
				"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, path), "caBundle": base64.StdEncoding.EncodeToString(authority),
			}
			used = append(used, fields)
		}
	}
	configuration["webhooks"] = used
	if err := unstructured.SetNestedField(configuration, c.name, "metadata", "name"); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(configuration)
	return string(text), err
}
