package manifests

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/functions/console/faults"
	"github.com/whittle-dev/whittle/functions/console/podrules"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func finishPod(r *reader, d *document.Document, pod *corev1.Pod) []document.Problem {
	defaultPod(pod)
	return r.check(d, &pod.Spec, &pod.ObjectMeta)
}

// defaultPod sets the API server's defaults that matter for scheduling.
func defaultPod(pod *corev1.Pod) {
	spec := &pod.Spec
	scheduling.SetRequestsFromLimits(spec)
	defaultPorts(spec)
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
}

// finishLimitRange completes the limits of containers as the API server does: the default limit
// from the maximum, the default request from the default limit, or else from the minimum.
func finishLimitRange(_ *reader, _ *document.Document, limits *corev1.LimitRange) []document.Problem {
	for i := range limits.Spec.Limits {
		item := &limits.Spec.Limits[i]
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		item.Default = scheduling.Completed(item.Default, item.Max)
		item.DefaultRequest = scheduling.Completed(item.DefaultRequest, item.Default)
		item.DefaultRequest = scheduling.Completed(item.DefaultRequest, item.Min)
	}
	return nil
}

// defaultPorts sets the host ports of a pod on the host's network.
func defaultPorts(spec *corev1.PodSpec) {
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			for j := range containers[i].Ports {
				port := &containers[i].Ports[j]
				if port.Protocol == "" {
					port.Protocol = corev1.ProtocolTCP
				}
				if spec.HostNetwork && port.HostPort == 0 {
					port.HostPort = port.ContainerPort
				}
			}
		}
	}
}

// check returns what an API server would refuse of a pod or a template, and warns of what nobody means.
func (r *reader) check(
	d *document.Document, spec *corev1.PodSpec, meta *metav1.ObjectMeta, above ...any,
) []document.Problem {
	pod := podrules.Pod{Spec: spec, Labels: meta.Labels, Path: document.Path(above).With("spec")}
	refused := podrules.Refused(pod)
	unmeant := podrules.Unmeant(pod)
	read := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: meta.Annotations}}
	if _, err := protection.OfPod(read, time.Time{}); err != nil {
		unmeant = append(unmeant, document.Problem{
			Path: document.Path(above).With("metadata", "annotations", api.DoNotDisruptAnnotationKey),
			Text: fmt.Sprintf("%q protects nothing: write \"true\", or a duration such as 10m",
				meta.Annotations[api.DoNotDisruptAnnotationKey]),
		})
	}
	for _, problem := range unmeant {
		once(r.unknown, "unmeant "+withoutIndexes(problem.Path)+problem.Text, func() string {
			return d.Errorf(problem.Path, "%s: %s", problem.Path, problem.Text).Error()
		})
	}
	return refused
}

// finishNode sets allocatable to the capacity where the kubelet reserves nothing.
func finishNode(_ *reader, _ *document.Document, node *corev1.Node) []document.Problem {
	node.Status.Images = nil // most of a node's size
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity
	}
	return nil
}

func finishDaemonSet(r *reader, d *document.Document, set *appsv1.DaemonSet) []document.Problem {
	return r.podTemplate(d, &set.Spec.Template, set.Spec.Selector)
}

func finishDeployment(r *reader, d *document.Document, of *appsv1.Deployment) []document.Problem {
	problems := checkCount(of.Spec.Replicas, "spec", "replicas")
	return append(problems, r.podTemplate(d, &of.Spec.Template, of.Spec.Selector)...)
}

func finishStatefulSet(r *reader, d *document.Document, s *appsv1.StatefulSet) []document.Problem {
	problems := checkCount(s.Spec.Replicas, "spec", "replicas")
	for i := range s.Spec.VolumeClaimTemplates {
		if s.Spec.VolumeClaimTemplates[i].Name == "" {
			problems = append(
				problems,
				document.Problem{Path: document.Path{"spec", "volumeClaimTemplates", i, "metadata", "name"}, Text: "is missing"},
			)
		}
	}
	return append(problems, r.podTemplate(d, &s.Spec.Template, s.Spec.Selector)...)
}

func finishReplicaSet(r *reader, d *document.Document, s *appsv1.ReplicaSet) []document.Problem {
	return append(checkCount(s.Spec.Replicas, "spec", "replicas"), r.podTemplate(d, &s.Spec.Template, s.Spec.Selector)...)
}

// finishController sets the selector that an API server sets.
func finishController(r *reader, d *document.Document, c *corev1.ReplicationController) []document.Problem {
	if c.Spec.Template == nil {
		return []document.Problem{{Path: document.Path{"spec", "template"}, Text: "is missing"}}
	}
	if len(c.Spec.Selector) == 0 {
		c.Spec.Selector = c.Spec.Template.Labels
	}
	selector := &metav1.LabelSelector{MatchLabels: c.Spec.Selector}
	return append(checkCount(c.Spec.Replicas, "spec", "replicas"), r.podTemplate(d, c.Spec.Template, selector)...)
}

func finishJob(r *reader, d *document.Document, j *batchv1.Job) []document.Problem {
	problems := checkCount(j.Spec.Parallelism, "spec", "parallelism")
	problems = append(problems, checkCount(j.Spec.Completions, "spec", "completions")...)
	scheduling.SetRequestsFromLimits(&j.Spec.Template.Spec)
	defaultPorts(&j.Spec.Template.Spec)
	return append(problems, r.check(d, &j.Spec.Template.Spec, &j.Spec.Template.ObjectMeta, "spec", "template")...)
}

// podTemplate completes and checks the template of a controller, whose selector may be nil.
func (r *reader) podTemplate(
	d *document.Document, template *corev1.PodTemplateSpec, selector *metav1.LabelSelector,
) []document.Problem {
	scheduling.SetRequestsFromLimits(&template.Spec)
	defaultPorts(&template.Spec)
	problems := r.check(d, &template.Spec, &template.ObjectMeta, "spec", "template")
	selects, err := metav1.LabelSelectorAsSelector(selector)
	switch path := (document.Path{"spec", "selector"}); {
	case err != nil:
		problems = append(problems, document.Problem{Path: path, Text: err.Error()})
	case selector == nil || selects.Empty():
		problems = append(problems, document.Problem{Path: path, Text: "is missing: it selects the labels of spec.template"})
	case !selects.Matches(labels.Set(template.Labels)):
		problems = append(problems, document.Problem{
			Path: path, Text: fmt.Sprintf("%s: does not select the labels of spec.template", selects)})
	}
	return problems
}

// maximumReplicas limits memory after a typing error. Kubernetes supports no cluster with more
// pods.
const maximumReplicas = 150_000

func checkCount(count *int32, path ...any) []document.Problem {
	switch {
	case count == nil:
	case *count < 0:
		return []document.Problem{{Path: path, Text: "is negative: want zero or more"}}
	case *count > maximumReplicas:
		return []document.Problem{{Path: path, Text: "is more than the 150000 pods that a cluster can have"}}
	}
	return nil
}

func finishStorageClass(_ *reader, _ *document.Document, class *storagev1.StorageClass) []document.Problem {
	if class.VolumeBindingMode == nil {
		mode := storagev1.VolumeBindingImmediate
		class.VolumeBindingMode = &mode
	}
	return nil
}

func finishNodePool(r *reader, d *document.Document, pool *api.NodePool) []document.Problem {
	pool.Default()
	return r.invalid(d, pool.ValidateAll())
}

func finishNodeClaim(_ *reader, _ *document.Document, claim *api.NodeClaim) []document.Problem {
	claim.Default()
	if claim.UID == "" { // decisions about nodes tell claims apart by it
		claim.UID = StableUID(api.NodeClaimKind, "", claim.Name)
	}
	return nil
}

func finishNodeClass(r *reader, d *document.Document, class *api.EC2NodeClass) []document.Problem {
	class.Default()
	if fault := faults.Alias(class); fault != nil {
		r.warnf(d, document.ParsePath(fault.Path), "%w; no node would start", fault)
	}
	return r.invalid(d, class.Validate())
}

func finishNodeOverlay(r *reader, d *document.Document, overlay *api.NodeOverlay) []document.Problem {
	return r.invalid(d, overlay.Validate())
}

// invalid returns what a cluster would refuse, each a *api.FieldError in err. A missing field is a
// warning: a plan is often possible without it.
func (r *reader) invalid(d *document.Document, err error) []document.Problem {
	var problems []document.Problem
	for _, field := range faults.Of(err) {
		if field.Value == nil {
			r.warnf(d, document.ParsePath(field.Path), "%w; a cluster would refuse it", field)
			continue
		}
		problems = append(problems, document.Problem{Path: document.ParsePath(field.Path), Text: field.Text()})
	}
	return problems
}
