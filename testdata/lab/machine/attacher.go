package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

const (
	// ebsDriver is the CSI driver whose attachments the attacher carries out, and attachedFinalizer
	// holds them until their volume is detached.
	ebsDriver         = "ebs.csi.aws.com"
	attachedFinalizer = "external-attacher/ebs-csi-aws-com"
	// attachEvery is the interval at which it looks at them.
	attachEvery = 200 * time.Millisecond
)

// attacher carries out VolumeAttachments as the controller of the EBS CSI driver does: a volume is
// attached to one instance at a time.
type attacher struct {
	client   kubernetes.Interface
	machines *Machines
	log      *slog.Logger
}

// run looks at the VolumeAttachments until the context ends.
func (a *attacher) run(ctx context.Context) {
	store, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(a.client.StorageV1().RESTClient(), "volumeattachments",
			metav1.NamespaceAll, fields.Everything()),
		ObjectType: &storagev1.VolumeAttachment{}, Handler: cache.ResourceEventHandlerFuncs{},
	})
	a.machines.spawn(ctx, controller.RunWithContext)
	said := map[string]string{} // the last error, by attachment
	for wait(ctx, attachEvery) {
		for _, object := range store.List() {
			attachment, ok := object.(*storagev1.VolumeAttachment)
			if !ok || attachment.Spec.Attacher != ebsDriver {
				continue
			}
			err := a.sync(ctx, attachment)
			if err == nil || apierrors.IsNotFound(err) || said[attachment.Name] == err.Error() || ctx.Err() != nil {
				continue
			}
			said[attachment.Name] = err.Error()
			a.log.Warn("volume attachment cannot be carried out yet", "attachment", attachment.Name, "error", err)
		}
	}
}

// sync attaches or detaches a volume.
func (a *attacher) sync(ctx context.Context, attachment *storagev1.VolumeAttachment) error {
	source := attachment.Spec.Source.PersistentVolumeName
	held := slices.Contains(attachment.Finalizers, attachedFinalizer)
	switch {
	case source == nil:
		return fmt.Errorf("attachment %s names no volume", attachment.Name)
	case attachment.DeletionTimestamp != nil && held:
		a.machines.detach(*source, attachment.Spec.NodeName)
		return a.patch(ctx, attachment, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	case attachment.DeletionTimestamp != nil || attachment.Status.Attached:
		return nil
	case !held:
		return a.patch(ctx, attachment, map[string]any{
			"metadata": map[string]any{"finalizers": []string{attachedFinalizer}, "uid": attachment.UID},
		})
	}
	if err := a.machines.attach(*source, attachment.Spec.NodeName); err != nil {
		return err
	}
	return a.patch(ctx, attachment, map[string]any{"status": map[string]any{"attached": true}}, "status")
}

func (a *attacher) patch(
	ctx context.Context, attachment *storagev1.VolumeAttachment, change map[string]any, subresources ...string,
) error {
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = a.client.StorageV1().VolumeAttachments().Patch(ctx, attachment.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, subresources...)
	return err
}

// attach attaches a volume to the instance of a node. It refuses a volume that another instance has.
func (m *Machines) attach(volume, node string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, machine := range m.machines {
		if machine.instance.PrivateDNSName != node || machine.gone {
			continue
		}
		if holder := m.volumes[volume]; holder != "" && holder != id {
			return fmt.Errorf("volume %s is attached to instance %s and cannot be attached to %s", volume, holder, id)
		}
		m.volumes[volume] = id
		return nil
	}
	return fmt.Errorf("node %s has no instance", node)
}

// detach detaches a volume from the instance of a node.
func (m *Machines) detach(volume, node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if machine := m.machines[m.volumes[volume]]; machine != nil && machine.instance.PrivateDNSName == node {
		delete(m.volumes, volume)
	}
}

// release detaches all volumes of an instance that ends. It is called with the lock held.
func (m *Machines) release(i *ec2.Instance) {
	for volume, holder := range m.volumes {
		if holder == i.ID {
			delete(m.volumes, volume)
		}
	}
	if machine := m.machines[i.ID]; machine != nil {
		machine.gone = true
	}
}
