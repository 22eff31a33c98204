package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// coreClient is a client of the core API group alone.
func (c *ControlPlane) coreClient() (*rest.RESTClient, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := c.RESTConfig()
	config.APIPath = "/api"
	config.GroupVersion = &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

// bootstrap creates the objects that EKS adds to a new cluster: the Service of the cluster's DNS.
// Every node's kubelet gives its address to pods. A node derives the address from the service
// range; Karpenter reads it from this Service.
func (c *ControlPlane) bootstrap(ctx context.Context, clusterDNS netip.Addr) error {
	client, err := c.coreClient()
	if err != nil {
		return fmt.Errorf("creating service kube-system/kube-dns: %w", err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:      "kube-dns",
			Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{
				"eks.amazonaws.com/component":   "kube-dns",
				"k8s-app":                       "kube-dns",
				"kubernetes.io/cluster-service": "true",
				"kubernetes.io/name":            "CoreDNS",
			},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: clusterDNS.String(),
			Selector:  map[string]string{"k8s-app": "kube-dns"},
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)},
				{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(53)},
				{Name: "metrics", Port: 9153, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(9153)},
			},
		},
	}
	// A control plane that starts again has it already. Creating it would not say so, but that its
	// address is taken.
	var existing corev1.Service
	err = client.Get().Namespace(service.Namespace).Resource("services").Name(service.Name).Do(ctx).Into(&existing)
	if err == nil && existing.Spec.ClusterIP != service.Spec.ClusterIP {
		return fmt.Errorf("service kube-system/kube-dns has the address %s, not %s: option ServiceCIDR %q is not the one "+
			"that the directory's state was made with",
			existing.Spec.ClusterIP, service.Spec.ClusterIP, c.ServiceCIDR)
	}
	if apierrors.IsNotFound(err) {
		err = client.Post().Namespace(service.Namespace).Resource("services").Body(service).Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("creating service kube-system/kube-dns: %w", err)
	}
	return nil
}

// serverVersion asks for the version that the server reports.
func (c *ControlPlane) serverVersion(ctx context.Context) (string, error) {
	client, err := c.coreClient()
	if err != nil {
		return "", fmt.Errorf("asking for the server's version: %w", err)
	}
	content, err := client.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("asking for the server's version: %w", err)
	}
	var reported version.Info
	if err := json.Unmarshal(content, &reported); err != nil {
		return "", fmt.Errorf("reading the server's version %q: %w", content, err)
	}
	return reported.GitVersion, nil
}
