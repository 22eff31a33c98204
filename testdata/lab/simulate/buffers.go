package simulate

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// bufferName is the name of the CapacityBuffer that some seeds have, and of its PodTemplate.
const bufferName = "room"

// makeBuffer makes a CapacityBuffer in some seeds.
func (r *Run) makeBuffer() error {
	e := r.engine
	if !e.Chance(0.3, "buffer") {
		return nil
	}
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: bufferName, Namespace: metav1.NamespaceDefault}}
	template.Template.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(e.Number(1, 8, bufferName, "cpu"))*250, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(e.Number(1, 8, bufferName, "memory"))<<28, resource.BinarySI),
		},
	}}}
	if _, err := r.store.Create(apiserver.PodTemplates, template); err != nil {
		return err
	}
	_, err := r.store.Create(apiserver.CapacityBuffers, map[string]any{
		"metadata": map[string]any{"name": bufferName, "namespace": metav1.NamespaceDefault},
		"spec": map[string]any{
			"podTemplateRef": map[string]any{"name": bufferName}, "replicas": e.Number(1, 4, bufferName, "replicas"),
		},
	})
	return err
}

// checkVirtual holds that no function writes about the pods of a CapacityBuffer, which exist in
// plans only.
func (r *Run) checkVirtual(c *call) {
	if !c.isKubernetes() || c.request.Method == http.MethodGet {
		return
	}
	if strings.Contains(c.request.URL.Path, "/capacity-buffer-") ||
		bytes.Contains(c.body, []byte(`"capacity-buffer-`+bufferName)) {
		r.breaks("plans-only", "%s writes about a pod that exists in plans only: %s", c.name, c.short())
	}
}

// unsettledBuffers lists the buffers that nodes have had no room for in a while, although limits
// leave some. Pods of a node that expires come to other nodes than planned, and may take the room
// of a buffer.
func (r *Run) unsettledBuffers() []string {
	var problems []string
	for _, buffer := range apiserver.List[api.CapacityBuffer](r.store, apiserver.CapacityBuffers) {
		object := r.store.Get(apiserver.PodTemplates, buffer.Namespace, buffer.Spec.PodTemplateRef.Name)
		template, _ := object.Typed.(*corev1.PodTemplate)
		said := api.GetCondition(buffer.Status.Conditions, api.ConditionProvisioning)
		recent := said != nil && time.Since(said.LastTransitionTime.Time) < patience
		has := said != nil && said.Status == metav1.ConditionTrue
		if recent || has || r.mayWait(&corev1.Pod{Spec: template.Template.Spec}) {
			continue
		}
		problems = append(problems, fmt.Sprintf("capacitybuffer %s has no room: %+v", buffer.Name, said))
	}
	return problems
}
