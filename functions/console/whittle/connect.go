package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

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
