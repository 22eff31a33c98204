package kubernetes

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// clientFor is a client of one API group with the identity of config.
func clientFor(t *testing.T, config *rest.Config, group schema.GroupVersion) *rest.RESTClient {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, schedulingv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &group
	config.APIPath = "/apis"
	if group.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// tokenConfig is the configuration of a client that has nothing but a bearer token.
func tokenConfig(controlPlane *ControlPlane, token string) *rest.Config {
	return &rest.Config{
		Host:            controlPlane.Endpoint,
		BearerToken:     token,
		TLSClientConfig: rest.TLSClientConfig{CAData: controlPlane.CertificateAuthority},
		QPS:             -1,
	}
}

// eventually asks check until it returns an empty string, and fails with its last answer.
func eventually(t *testing.T, what string, check func(context.Context) string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	started := time.Now()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		answer := check(ctx)
		if answer == "" {
			t.Logf("%s after %s", what, time.Since(started).Round(time.Millisecond))
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within 30 s: %s", what, answer)
		}
	}
}
