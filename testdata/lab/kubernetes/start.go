package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startPatience is when a start has failed. It takes three to five seconds on two cores that are
// free.
const startPatience = 90 * time.Second

// Start runs a control plane. It returns when the API answers, the scheduler and the controllers
// work, pods can be created in default and kube-system, and EKS's objects exist. Ending ctx cancels
// the start; it does not stop a started control plane. A failed start leaves no process, and its
// error has the last lines of the log.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	controlPlane, err := start(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("starting a control plane in %q: %w", options.Directory, err)
	}
	return controlPlane, nil
}

func start(ctx context.Context, options Options) (*ControlPlane, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %s", startPatience))
	defer cancel()
	controlPlane, err := launch(options)
	if err != nil {
		return nil, err
	}
	err = controlPlane.waitUntilReady(ctx)
	if err == nil {
		err = controlPlane.bootstrap(ctx, options.clusterDNS())
	}
	if err == nil {
		controlPlane.Version, err = controlPlane.serverVersion(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, controlPlane.Stop())
	}
	return controlPlane, nil
}

// launch prepares the directory and starts the process.
func launch(options Options) (*ControlPlane, error) {
	directory, err := filepath.Abs(options.Directory)
	if err != nil {
		return nil, err
	}
	volumePlugins := filepath.Join(directory, "volume-plugins")
	if err := os.MkdirAll(volumePlugins, 0o700); err != nil {
		return nil, err
	}
	// The child inherits the lock and the listener. So the directory is locked exactly while the
	// process lives, and no other process can take the port before the API server serves it.
	held, err := tryLock(filepath.Join(directory, "lock"))
	if errors.Is(err, errLocked) {
		return nil, errors.New("another control plane runs in this directory: stop it or use another directory")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = held.Close() }()
	listener, port, err := listen(options.Port)
	if err != nil {
		return nil, err
	}
	defer func() { _ = listener.Close() }()

	controlPlane := &ControlPlane{
		Endpoint:    fmt.Sprintf("https://127.0.0.1:%d", port),
		Kubeconfig:  filepath.Join(directory, "admin.kubeconfig"),
		ServiceCIDR: options.ServiceCIDR,
		logPath:     filepath.Join(directory, "controlplane.log"),
		ready:       make(chan struct{}),
		done:        make(chan struct{}),
	}
	certificates := filepath.Join(directory, "certificates")
	controlPlane.certificates = certificates
	if err := ensureCertificates(certificates); err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	if err := writeAdminKubeconfig(controlPlane.Kubeconfig, certificates, controlPlane.Endpoint); err != nil {
		return nil, err
	}
	if controlPlane.admin, err = adminConfig(controlPlane.Kubeconfig); err != nil {
		return nil, err
	}
	controlPlane.CertificateAuthority = controlPlane.admin.CAData

	arguments := []string{
		"--data-dir=" + filepath.Join(directory, "etcd"),
		"--listener-descriptor=3",
		"--kubeconfig=" + controlPlane.Kubeconfig,
		"--client-ca-file=" + filepath.Join(certificates, authorityCertificate),
		"--tls-cert-file=" + filepath.Join(certificates, servingCertificate),
		"--tls-private-key-file=" + filepath.Join(certificates, servingKey),
		"--service-account-key-file=" + filepath.Join(certificates, serviceAccountKey),
		"--service-cluster-ip-range=" + options.ServiceCIDR,
		"--flex-volume-plugin-dir=" + volumePlugins,
		"--node-monitor-grace-period=" + options.NodeMonitorGracePeriod.String(),
		"--stop-when-input-closes",
	}
	if options.TokenWebhookURL != "" {
		webhook := filepath.Join(directory, "token-webhook.kubeconfig")
		if err := writeWebhookKubeconfig(webhook, options.TokenWebhookURL); err != nil {
			return nil, err
		}
		arguments = append(arguments, "--authentication-token-webhook-config-file="+webhook)
	}
	if options.WithoutWatchCache {
		arguments = append(arguments, "--watch-cache=false")
	}
	if len(options.AuditGroups) > 0 {
		policy := filepath.Join(directory, "audit-policy.json")
		controlPlane.auditLog = filepath.Join(directory, "audit.log")
		if err := writeAuditPolicy(policy, options.AuditGroups); err != nil {
			return nil, err
		}
		arguments = append(arguments, "--audit-policy-file="+policy, "--audit-log-path="+controlPlane.auditLog)
	}
	command := exec.Command(options.Binary, arguments...)
	command.Dir = directory
	command.Env = environment()
	command.ExtraFiles = []*os.File{listener, held}
	// In a process group of its own, so that Ctrl-C in a terminal reaches the local run, which
	// stops things in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := controlPlane.run(command, options.Log); err != nil {
		return nil, err
	}
	return controlPlane, nil
}

// listen opens a loopback port and returns the socket as a file to hand over.
func listen(port int) (*os.File, int, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = listener.Close() }()
	file, err := listener.File()
	if err != nil {
		return nil, 0, fmt.Errorf("handing over the listener: %w", err)
	}
	return file, listener.Addr().(*net.TCPAddr).Port, nil
}

// environment is the process's environment: no variable that changes Kubernetes' behaviour, and no
// credentials.
func environment() []string {
	var kept []string
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "GOMAXPROCS", "GOMEMLIMIT", "GOGC"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// adminConfig reads the kubeconfig without client-go's limit of five requests a second, which the
// API server's own priority and fairness makes needless.
func adminConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %q: %w", kubeconfig, err)
	}
	config.QPS = -1
	return config, nil
}

// openLog opens the log for appending, and also writes to extra unless it is nil.
func openLog(path string, extra io.Writer) (*os.File, io.Writer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log: %w", err)
	}
	if extra == nil {
		// Given the file itself, the process writes without a detour through this one.
		return file, file, nil
	}
	return file, io.MultiWriter(file, extra), nil
}
