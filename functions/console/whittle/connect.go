package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// errNoKubeconfig says that nothing names a cluster.
var errNoKubeconfig = errors.New(
	"no kubeconfig: run `aws eks update-kubeconfig --name CLUSTER`, set KUBECONFIG, or pass -kubeconfig FILE",
)

// connect returns a client of the cluster in the kubeconfig's context. It sends nothing yet.
func connect(kubeconfig, kubecontext string) (*cluster.Client, error) {
	if kubeconfig != "" {
		if _, err := os.Stat(kubeconfig); err != nil {
			return nil, fmt.Errorf("-kubeconfig %q: %w", kubeconfig, err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		rules, &clientcmd.ConfigOverrides{CurrentContext: kubecontext},
	)
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if kubecontext == "" {
		kubecontext = raw.CurrentContext
	}
	if known := slices.Sorted(maps.Keys(raw.Contexts)); len(known) > 0 && !slices.Contains(known, kubecontext) {
		return nil, fmt.Errorf(
			"the kubeconfig has no context %q: pass -context with one of %s", kubecontext, strings.Join(known, ", "),
		)
	}
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errNoKubeconfig
	}
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return cluster.NewForConfig(cluster.Endpoint{Name: kubecontext, URL: config.Host}, config)
}

// mend adds what a person can do to an error of the API server.
func mend(err error, endpoint cluster.Endpoint) error {
	var unreachable *url.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf(
			"%w: the cluster does not know the credentials of context %q: sign in again, or choose another context", err,
			endpoint.Name,
		)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask the cluster's administrator for the right to get and list it", err)
	case errors.As(err, &unreachable) && !errors.Is(err, context.Canceled):
		return fmt.Errorf(
			"%w: is the cluster of context %q at %s running, and reachable from here?", err, endpoint.Name, endpoint.URL,
		)
	}
	return err
}
