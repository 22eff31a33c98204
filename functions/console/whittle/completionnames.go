package main

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/functions/console/manifests"
	"github.com/whittle-dev/whittle/shared/api"
)

// completionTimeout bounds the question after names, for which a person waits at the prompt.
const completionTimeout = 3 * time.Second

// listPaths are where the API server lists the objects of a kind. A star stands for the namespace.
var listPaths = map[string]string{
	"Pod": "/api/v1/namespaces/*/pods", "Node": "/api/v1/nodes",
	"NodeClaim":   "/apis/" + api.APIVersion + "/" + api.NodeClaimResource,
	"NodePool":    "/apis/" + api.APIVersion + "/" + api.NodePoolResource,
	"Deployment":  "/apis/apps/v1/namespaces/*/deployments",
	"ReplicaSet":  "/apis/apps/v1/namespaces/*/replicasets",
	"StatefulSet": "/apis/apps/v1/namespaces/*/statefulsets", "DaemonSet": "/apis/apps/v1/namespaces/*/daemonsets",
	"Job": "/apis/batch/v1/namespaces/*/jobs", "ReplicationController": "/api/v1/namespaces/*/replicationcontrollers",
}

// objects are what explain may be asked about: types, and then names of objects, also as TYPE/NAME and
// NAMESPACE/NAME.
func (t *typed) objects(ctx context.Context, last string) candidates {
	written, _, slash := strings.Cut(last, "/")
	var kind, prefix string
	switch {
	case len(t.words) == 1:
		kind = explainType(t.words[0])
	case slash && explainType(written) != "":
		kind, prefix = explainType(written), written+"/"
	default:
		return candidates{explainedTypes(), noFiles}
	}
	namespace := t.last("n", "namespace")
	if given, _, within := strings.Cut(strings.TrimPrefix(last, prefix), "/"); within {
		prefix, namespace = prefix+given+"/", given
	}
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	var names []string
	if files := t.set["f"]; len(files) > 0 {
		names = namesInFiles(files, kind, namespace)
	} else {
		names = t.names(ctx, strings.Replace(listPaths[kind], "*", namespace, 1))
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return candidates{names, noFiles}
}

// contexts are those of the kubeconfig.
func (t *typed) contexts() []string {
	way := access{kubeconfig: t.last("kubeconfig")}
	raw, err := way.loader().RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// names are the names of a list's objects in the cluster; none where it does not answer in time.
func (t *typed) names(ctx context.Context, path string) []string {
	way := access{kubeconfig: t.last("kubeconfig"), kubecontext: t.last("context"), timeout: completionTimeout}
	_, config, err := way.config()
	if err != nil {
		return nil
	}
	if config.ExecProvider != nil {
		config.ExecProvider.StdinUnavailable = true // nobody answers it at the prompt
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	names, err := namesAt(ctx, config, path)
	if err != nil {
		return nil
	}
	return names
}

// namesOnly asks for a table without objects: of large lists a short form.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
const namesOnly = "application/json;as=Table;v=v1;g=meta.k8s.io"

func namesAt(ctx context.Context, config *rest.Config, path string) ([]string, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	address := base.JoinPath(path)
	address.RawQuery = "includeObject=None&resourceVersion=0"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", namesOnly)
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var table metav1.Table
	if err := json.NewDecoder(answer.Body).Decode(&table); err != nil {
		return nil, err
	}
	column := slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool {
		return c.Format == "name"
	})
	var names []string
	for i := range table.Rows {
		if cells := table.Rows[i].Cells; column >= 0 && column < len(cells) {
			if name, isText := cells[column].(string); isText {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// namesInFiles are the names of objects in manifests, as far as plans list them.
func namesInFiles(files []string, kind, namespace string) []string {
	read, err := manifests.Read(slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name == "-" }), nil)
	if err != nil {
		return nil
	}
	var names []string
	add := func(of string, object metav1.Object) {
		if of == kind && (object.GetNamespace() == "" || object.GetNamespace() == namespace) {
			names = append(names, object.GetName())
		}
	}
	for i := range read.Pods {
		add("Pod", &read.Pods[i])
		for _, owner := range read.Pods[i].OwnerReferences {
			if owner.Kind == kind && read.Pods[i].Namespace == namespace {
				names = append(names, owner.Name)
			}
		}
	}
	for i := range read.Nodes {
		add("Node", &read.Nodes[i])
	}
	for i := range read.NodeClaims {
		add("NodeClaim", &read.NodeClaims[i])
	}
	for i := range read.NodePools {
		add("NodePool", &read.NodePools[i])
	}
	for i := range read.DaemonSets {
		add("DaemonSet", &read.DaemonSets[i])
	}
	slices.Sort(names)
	return slices.Compact(names)
}
