package world

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/kueue"
	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/supervisor"
)

// StartKueue runs Kueue's controller with all rights, and makes the queue "training", whose jobs
// start when a ProvisioningRequest has its room. The caller stops it before closing the world.
func (w *World) StartKueue(ctx context.Context) (*supervisor.Process, error) {
	binary, err := kueue.Build(ctx, w.options.Root, w.options.Progress)
	if err != nil {
		return nil, err
	}
	client, err := scenario.NewClient(w.RESTConfig())
	if err != nil {
		return nil, err
	}
	if err := defineKueue(ctx, client, w.options.Root); err != nil {
		return nil, fmt.Errorf("installing Kueue: %w", err)
	}
	directory := filepath.Join(w.options.Directory, "kueue")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	certificate, key, err := w.ControlPlane.ServingCertificate()
	if err != nil {
		return nil, err
	}
	running, webhooks, err := kueue.Start(ctx, kueue.Options{
		Root: w.options.Root, Binary: binary, Directory: directory, Kubeconfig: w.ControlPlane.Kubeconfig,
		Certificate: certificate, Key: key, Authority: w.ControlPlane.CertificateAuthority,
	})
	if err != nil {
		return nil, err
	}
	if err := makeQueue(ctx, client, webhooks, filepath.Join(kueue.Folder(w.options.Root), "queues.yaml")); err != nil {
		running.Stop()
		return nil, fmt.Errorf("starting Kueue, whose log is in %s: %w", directory, err)
	}
	return running, nil
}

// defineKueue makes what has to be there before the controller starts.
func defineKueue(ctx context.Context, client *scenario.Client, root string) error {
	files, err := kueue.Definitions(ctx, root)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := client.Apply(ctx, file, nil); err != nil {
			return err
		}
	}
	_, err = client.Core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: kueue.Namespace},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return scenario.Until(ctx, settling, "Kueue's definitions to be served",
		func(ctx context.Context) (bool, string, error) {
			for _, resource := range scenario.KueueResources() {
				if _, err := client.Objects.Resource(resource).List(ctx, metav1.ListOptions{}); err != nil {
					return false, err.Error(), nil
				}
			}
			return true, "", nil
		})
}

// makeQueue registers the webhooks, and makes the queue as soon as they answer.
func makeQueue(ctx context.Context, client *scenario.Client, webhooks, queues string) error {
	if err := client.Apply(ctx, webhooks, nil); err != nil {
		return err
	}
	return scenario.Until(ctx, settling, "Kueue to take a queue", func(ctx context.Context) (bool, string, error) {
		if err := client.Apply(ctx, queues, nil); err != nil {
			return false, err.Error(), nil
		}
		return true, "", nil
	})
}
