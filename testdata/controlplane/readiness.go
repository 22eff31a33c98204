package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// readinessInterval is the interval of readiness checks. Each component takes a second or two to
// start.
const readinessInterval = 25 * time.Millisecond

// waitForServer polls a component's /readyz at the address until it answers ok.
func waitForServer(ctx context.Context, configuration configuration, component *component, address string) error {
	return waitFor(ctx, configuration, component, "https://"+address+"/readyz")
}

// waitForControllers waits until the controllers have created the service accounts that pods need.
// The controller-manager's own /healthz answers ok before any controller runs.
func waitForControllers(
	ctx context.Context, configuration configuration, controllerManager *component, apiServerAddress string,
) error {
	for _, namespace := range []string{"default", "kube-system"} {
		url := "https://" + apiServerAddress + "/api/v1/namespaces/" + namespace + "/serviceaccounts/default"
		if err := waitFor(ctx, configuration, controllerManager, url); err != nil {
			return err
		}
	}
	return nil
}

// waitFor polls the URL, with the credentials of the kubeconfig, until the answer is 200, the
// component ends or ctx ends.
func waitFor(ctx context.Context, configuration configuration, component *component, url string) error {
	config, err := clientcmd.BuildConfigFromFlags("", configuration.kubeconfig)
	if err != nil {
		return fmt.Errorf("reading --kubeconfig: %w", err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("making a client of --kubeconfig: %w", err)
	}
	defer client.CloseIdleConnections()
	ticker := time.NewTicker(readinessInterval)
	defer ticker.Stop()
	for {
		ready, err := isReady(ctx, client, url)
		if ready {
			return nil
		}
		select {
		case <-ticker.C:
		case <-component.done:
			return component.err
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", component.name, errors.Join(ctx.Err(), err))
		}
	}
}

// isReady reports whether the endpoint answers ok, and returns the reason as an error where it does
// not.
func isReady(ctx context.Context, client *http.Client, url string) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err
	}
	response, err := client.Do(request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return true, nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return false, err
	}
	return false, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
}
