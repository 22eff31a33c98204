package world

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/kueue"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

// StartKueue runs Kueue's controller and JobSet's with all rights, and makes the queue "training",
// whose jobs start when a ProvisioningRequest has their room. The caller calls stop before it
// closes the world.
func (w *World) StartKueue(ctx context.Context) (stop func(), err error) {
	client, err := scenario.NewClient(w.RESTConfig())
	if err != nil {
		return nil, err
	}
	if err := defineKueue(ctx, client, w.options.Root); err != nil {
		return nil, fmt.Errorf("installing Kueue: %w", err)
	}
	var all []*kueue.Running
	stop = func() {
		for _, running := range all {
			running.Stop()
		}
	}
	for _, controller := range []*kueue.Controller{kueue.JobSet(), kueue.Kueue()} {
		running, err := w.startController(ctx, client, controller)
		if running != nil {
			all = append(all, running)
		}
		if err != nil {
			stop()
			return nil, err
		}
	}
	if err := makeQueue(ctx, client, filepath.Join(kueue.Folder(w.options.Root), "queues.yaml")); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// startController runs a controller and returns when its webhooks answer. With an error, the
// controller may run.
func (w *World) startController(
	ctx context.Context, client *scenario.Client, controller *kueue.Controller,
) (*kueue.Running, error) {
	binary, err := controller.Build(ctx, w.options.Root, w.options.Progress)
	if err != nil {
		return nil, err
	}
	certificate, key, err := w.ControlPlane.ServingCertificate()
	if err != nil {
		return nil, err
	}
	directory := filepath.Join(w.options.Directory, controller.Namespace())
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, err
	}
	running, err := controller.Start(ctx, kueue.Options{
		Root: w.options.Root, Binary: binary, Directory: directory, Kubeconfig: w.ControlPlane.Kubeconfig,
		Certificate: certificate, Key: key, Authority: w.ControlPlane.CertificateAuthority,
	})
	if err != nil {
		return nil, err
	}
	if err := client.Apply(ctx, running.Webhooks, nil); err != nil {
		return running, err
	}
	dialer := &net.Dialer{Timeout: time.Second}
	return running, scenario.Until(ctx, settling, "the webhooks to answer, whose controller logs to "+directory,
		func(ctx context.Context) (bool, string, error) {
			connection, err := dialer.DialContext(ctx, "tcp", running.Address)
			if err != nil {
				return false, err.Error(), nil
			}
			return true, "", connection.Close()
		})
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
	for _, controller := range []*kueue.Controller{kueue.JobSet(), kueue.Kueue()} {
		_, err = client.Core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: controller.Namespace()},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
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

// makeQueue makes the queue as soon as Kueue takes it.
func makeQueue(ctx context.Context, client *scenario.Client, queues string) error {
	return scenario.Until(ctx, settling, "Kueue to take a queue", func(ctx context.Context) (bool, string, error) {
		if err := client.Apply(ctx, queues, nil); err != nil {
			return false, err.Error(), nil
		}
		return true, "", nil
	})
}
