package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// errNoKubeconfig says that nothing names a cluster.
var errNoKubeconfig = errors.New(
	"no kubeconfig: run `aws eks update-kubeconfig --name CLUSTER`, set KUBECONFIG, or pass -kubeconfig FILE",
)

// defaultTimeout is how long a request may take. An API server is slow when somebody asks what is wrong.
const defaultTimeout = 30 * time.Second

// access is the way to a cluster that the flags name.
type access struct {
	kubeconfig, kubecontext string
	timeout                 time.Duration
}

// addFlags adds the flags of the way to a cluster.
func (a *access) addFlags(flags *flag.FlagSet) {
	flags.StringVar(
		&a.kubeconfig, "kubeconfig", "",
		"kubeconfig `file` of the cluster (default: KUBECONFIG, or .kube/config at home)",
	)
	flags.StringVar(&a.kubecontext, "context", "", "`name` of the context in it (default: its current one)")
	a.timeout = defaultTimeout
	flags.Func("request-timeout", "`time` that a request to the cluster may take, such as 2m (default: 30s)",
		func(text string) (err error) {
			if a.timeout, err = time.ParseDuration(text); err != nil || a.timeout <= 0 {
				return fmt.Errorf("%q is no time above 0: write it like 30s or 2m", text)
			}
			return nil
		})
}

// connect returns a client of the cluster in the kubeconfig's context. It sends nothing yet.
func (a *access) connect() (*cluster.Client, error) {
	kubeconfig, kubecontext := a.kubeconfig, a.kubecontext
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
	config.Timeout = a.timeout
	return cluster.NewForConfig(cluster.Endpoint{Name: kubecontext, URL: config.Host}, config)
}
