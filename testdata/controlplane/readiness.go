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

// readinessInterval is how often a component is asked whether it is ready. Each takes a second or
// two to start.
const readinessInterval = 25 * time.Millisecond

// waitForServer asks a component's /readyz at address until it says ok.
func waitForServer(ctx context.Context, configuration configuration, component *component, address string) error {
	return waitFor(ctx, configuration, component, "https://"+address+"/readyz")
}

// waitForControllers waits until the controllers have made the service accounts without which no
// pod can be created. The controller-manager's own /healthz is no measure: it says ok before any
// controller runs.
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

// waitFor gets url, with the credentials of the kubeconfig, until the answer is 200, the component
// ends or ctx does.
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

// isReady gives the reason as an error when the endpoint does not say ok.
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
