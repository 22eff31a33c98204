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

	"k8s.io/client-go/rest"
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
	kubecontext, config, err := a.config()
	if err != nil {
		return nil, err
	}
	return cluster.NewForConfig(cluster.Endpoint{Name: kubecontext, URL: config.Host}, config)
}

// loader reads the kubeconfig, which the flag or the environment names.
func (a *access) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		rules, &clientcmd.ConfigOverrides{CurrentContext: a.kubecontext},
	)
}

// config returns the context's name, and how to connect to its cluster.
func (a *access) config() (kubecontext string, _ *rest.Config, _ error) {
	if a.kubeconfig != "" {
		if _, err := os.Stat(a.kubeconfig); err != nil {
			return "", nil, fmt.Errorf("-kubeconfig %q: %w", a.kubeconfig, err)
		}
	}
	loader := a.loader()
	raw, err := loader.RawConfig()
	if err != nil {
		return "", nil, fmt.Errorf("reading the kubeconfig: %w: mend it, or write another with "+
			"`aws eks update-kubeconfig --name CLUSTER --kubeconfig FILE`", err)
	}
	kubecontext = a.kubecontext
	if kubecontext == "" {
		kubecontext = raw.CurrentContext
	}
	if known := slices.Sorted(maps.Keys(raw.Contexts)); len(known) > 0 && !slices.Contains(known, kubecontext) {
		return "", nil, fmt.Errorf(
			"the kubeconfig has no context %q: pass -context with one of %s", kubecontext, strings.Join(known, ", "),
		)
	}
	config, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return "", nil, errNoKubeconfig
	}
	if err != nil {
		return "", nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config.Timeout = a.timeout
	return kubecontext, config, nil
}
