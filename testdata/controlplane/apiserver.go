package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// startAPIServer starts kube-apiserver on the listener that the configuration names, and returns
// its address.
func startAPIServer(configuration configuration, etcdAddress string) (*component, string, error) {
	listener, err := apiListener(configuration)
	if err != nil {
		return nil, "", err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsLoopback() {
		return nil, "", fmt.Errorf("listener address %s is not a loopback TCP address", listener.Addr())
	}

	settings := options.NewServerRunOptions()
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	for _, set := range settings.Flags().FlagSets {
		flags.AddFlagSet(set)
	}
	arguments := []string{
		"--etcd-servers=" + etcdAddress,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", address.Port),
		"--advertise-address=127.0.0.1",
		// Endpoints of the service "kubernetes" must not be loopback addresses. No pod uses them
		// here.
		"--endpoint-reconciler-type=none",
		"--tls-cert-file=" + configuration.servingCertificate,
		"--tls-private-key-file=" + configuration.servingKey,
		"--client-ca-file=" + configuration.certificateAuthority,
		"--authorization-mode=" + configuration.authorizationMode,
		"--allow-privileged=true",
		"--service-cluster-ip-range=" + configuration.serviceClusterIPRange,
		"--service-account-issuer=" + configuration.serviceAccountIssuer,
		"--service-account-key-file=" + configuration.serviceAccountKey,
		"--service-account-signing-key-file=" + configuration.serviceAccountKey,
		fmt.Sprintf("--watch-cache=%t", configuration.watchCache),
		"--profiling=false",
	}
	if configuration.admissionPlugins != "" {
		arguments = append(arguments, "--enable-admission-plugins="+configuration.admissionPlugins)
	}
	if configuration.tokenWebhookConfig != "" {
		arguments = append(arguments,
			"--authentication-token-webhook-config-file="+configuration.tokenWebhookConfig,
			"--authentication-token-webhook-cache-ttl="+configuration.tokenWebhookCacheTTL.String(),
			"--authentication-token-webhook-version=v1",
		)
	}
	if configuration.auditPolicy != "" {
		arguments = append(
			arguments, "--audit-policy-file="+configuration.auditPolicy, "--audit-log-path="+configuration.auditLog,
		)
	}
	if err := flags.Parse(arguments); err != nil {
		return nil, "", err
	}
	settings.SecureServing.Listener = listener
	if err := applyFeatureGates(settings.GenericServerRunOptions.ComponentGlobalsRegistry); err != nil {
		return nil, "", err
	}
	server := start("kube-apiserver", func(ctx context.Context) error {
		completed, err := settings.Complete(ctx)
		if err != nil {
			return err
		}
		if problems := completed.Validate(); len(problems) > 0 {
			return errors.Join(problems...)
		}
		return app.Run(ctx, completed)
	})
	return server, address.String(), nil
}

// apiListener returns the socket that kube-apiserver serves: the parent's, or a new one.
func apiListener(configuration configuration) (net.Listener, error) {
	if configuration.listenerDescriptor == 0 {
		return net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", configuration.securePort))
	}
	file := os.NewFile(uintptr(configuration.listenerDescriptor), "listener")
	if file == nil {
		return nil, fmt.Errorf("--listener-descriptor %d is not a file descriptor", configuration.listenerDescriptor)
	}
	defer func() { _ = file.Close() }()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("--listener-descriptor %d: %w", configuration.listenerDescriptor, err)
	}
	return listener, nil
}
