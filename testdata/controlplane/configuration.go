package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"
)

// configuration holds the flags. A flag that a Kubernetes component also has carries the
// component's name for it.
type configuration struct {
	// dataDirectory holds etcd's data and survives a restart.
	dataDirectory string

	// listenerDescriptor is the file descriptor of a TCP listener that the parent opened for
	// kube-apiserver. An open socket, unlike a port number, cannot be taken by another process.
	listenerDescriptor int
	// securePort is the port of kube-apiserver when the parent passes no listener.
	securePort int

	kubeconfig             string
	certificateAuthority   string
	servingCertificate     string
	servingKey             string
	serviceAccountKey      string
	serviceAccountIssuer   string
	tokenWebhookConfig     string
	tokenWebhookCacheTTL   time.Duration
	authorizationMode      string
	auditPolicy, auditLog  string
	admissionPlugins       string
	watchCache             bool
	serviceClusterIPRange  string
	nodeMonitorPeriod      time.Duration
	nodeMonitorGracePeriod time.Duration
	stopWhenInputCloses    bool
	volumePluginDirectory  string
	controllerManagerQPS   int
	schedulerQPS           int
}

// parseConfiguration parses the command line. Its errors name the flag and the remedy, and the
// caller prints them.
func parseConfiguration(arguments []string, output io.Writer) (configuration, error) {
	var c configuration
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&c.dataDirectory, "data-dir", "", "`directory` for etcd's data (required)")
	flags.IntVar(
		&c.listenerDescriptor, "listener-descriptor", 0,
		"file descriptor of the TCP listener for kube-apiserver, inherited from the parent",
	)
	flags.IntVar(&c.securePort, "secure-port", 0, "port of 127.0.0.1 for kube-apiserver, when no listener is inherited")
	flags.StringVar(
		&c.kubeconfig, "kubeconfig", "",
		"`file` with which scheduler and controller-manager reach kube-apiserver (required)",
	)
	flags.StringVar(
		&c.certificateAuthority, "client-ca-file", "",
		"PEM `file` of the authority that signed the client and serving certificates (required)",
	)
	flags.StringVar(&c.servingCertificate, "tls-cert-file", "", "PEM `file` of the serving certificate (required)")
	flags.StringVar(&c.servingKey, "tls-private-key-file", "", "PEM `file` of the serving certificate's key (required)")
	flags.StringVar(
		&c.serviceAccountKey, "service-account-key-file", "",
		"PEM `file` of the key that signs service account tokens (required)",
	)
	flags.StringVar(
		&c.serviceAccountIssuer, "service-account-issuer", "https://kubernetes.default.svc",
		"issuer of service account tokens",
	)
	flags.StringVar(
		&c.tokenWebhookConfig, "authentication-token-webhook-config-file", "",
		"kubeconfig `file` of the webhook that checks bearer tokens; none: no webhook",
	)
	flags.DurationVar(
		&c.tokenWebhookCacheTTL, "authentication-token-webhook-cache-ttl", 10*time.Second,
		"how long an answer of the token webhook is kept",
	)
	flags.StringVar(&c.authorizationMode, "authorization-mode", "Node,RBAC", "authorizers, in order")
	flags.StringVar(
		&c.auditPolicy, "audit-policy-file", "", "`file` that says which requests are logged; none: no request is",
	)
	flags.StringVar(&c.auditLog, "audit-log-path", "", "`file` that gets a line of JSON for each of them")
	flags.StringVar(
		&c.admissionPlugins, "enable-admission-plugins", "NodeRestriction",
		"admission plugins beside the default ones",
	)
	flags.BoolVar(
		&c.watchCache, "watch-cache", true,
		"keep objects in kube-apiserver's memory; without it each list and watch is etcd's",
	)
	flags.StringVar(
		&c.serviceClusterIPRange, "service-cluster-ip-range", "10.100.0.0/16", "CIDR of the services' addresses",
	)
	flags.DurationVar(
		&c.nodeMonitorPeriod, "node-monitor-period", time.Second,
		"how often the node lifecycle controller looks at the nodes",
	)
	flags.DurationVar(
		&c.nodeMonitorGracePeriod, "node-monitor-grace-period", 0,
		"how long a silent node stays ready; 0: the controller-manager's default",
	)
	flags.StringVar(
		&c.volumePluginDirectory, "flex-volume-plugin-dir", "",
		"empty `directory` for the controller-manager's volume plugins (required)",
	)
	flags.IntVar(
		&c.controllerManagerQPS, "controller-manager-api-qps", 200,
		"requests a second that the controller-manager may send; twice that in a burst",
	)
	flags.IntVar(
		&c.schedulerQPS, "scheduler-api-qps", 200,
		"requests a second that the scheduler may send; twice that in a burst",
	)
	flags.BoolVar(
		&c.stopWhenInputCloses, "stop-when-input-closes", false,
		"stop when standard input ends, which it does when the parent dies",
	)
	if err := flags.Parse(arguments); err != nil {
		return configuration{}, err
	}
	if flags.NArg() > 0 {
		return configuration{}, fmt.Errorf("unexpected argument %q: use flags only", flags.Arg(0))
	}
	return c, c.validate()
}

// validate returns all missing and invalid flags, before anything is started.
func (c configuration) validate() error {
	var problems []error
	for _, required := range []struct{ flag, value string }{
		{"data-dir", c.dataDirectory},
		{"flex-volume-plugin-dir", c.volumePluginDirectory},
	} {
		if required.value == "" {
			problems = append(problems, fmt.Errorf("--%s is missing", required.flag))
		}
	}
	for _, file := range []struct {
		flag, path string
		optional   bool
	}{
		{"kubeconfig", c.kubeconfig, false},
		{"client-ca-file", c.certificateAuthority, false},
		{"tls-cert-file", c.servingCertificate, false},
		{"tls-private-key-file", c.servingKey, false},
		{"service-account-key-file", c.serviceAccountKey, false},
		{"authentication-token-webhook-config-file", c.tokenWebhookConfig, true},
		{"audit-policy-file", c.auditPolicy, true},
	} {
		if file.path == "" {
			if !file.optional {
				problems = append(problems, fmt.Errorf("--%s is missing", file.flag))
			}
			continue
		}
		if _, err := os.Stat(file.path); err != nil {
			problems = append(problems, fmt.Errorf("--%s: %w", file.flag, err))
		}
	}
	if (c.auditPolicy == "") != (c.auditLog == "") {
		problems = append(problems, errors.New("--audit-policy-file and --audit-log-path are needed both, or neither"))
	}
	if (c.listenerDescriptor == 0) == (c.securePort == 0) {
		problems = append(problems, errors.New("one of --listener-descriptor and --secure-port is needed, and only one"))
	}
	if prefix, err := netip.ParsePrefix(c.serviceClusterIPRange); err != nil {
		problems = append(problems, fmt.Errorf("--service-cluster-ip-range: %w", err))
	} else if prefix != prefix.Masked() {
		problems = append(
			problems, fmt.Errorf("--service-cluster-ip-range %s has host bits set: give %s", prefix, prefix.Masked()),
		)
	}
	if c.nodeMonitorPeriod <= 0 {
		problems = append(problems, fmt.Errorf("--node-monitor-period %s must be above zero", c.nodeMonitorPeriod))
	}
	if c.controllerManagerQPS < 1 || c.schedulerQPS < 1 {
		problems = append(problems, errors.New("--controller-manager-api-qps and --scheduler-api-qps must be above zero"))
	}
	return errors.Join(problems...)
}
