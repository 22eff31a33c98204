package manifests

import (
	"errors"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func finishPod(_ *reader, _ *document.Document, pod *corev1.Pod) []document.Problem {
	defaultPod(pod)
	return checkRequests(&pod.Spec, document.Path{"spec"})
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

// checkRequests finds amounts that the API server would refuse.
func checkRequests(spec *corev1.PodSpec, path document.Path) []document.Problem {
	var problems []document.Problem
	check := func(list corev1.ResourceList, path document.Path) {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if amount := list[name]; amount.Sign() < 0 {
				problems = append(
					problems, document.Problem{Path: path.With(string(name)), Text: amount.String() + ": want zero or more"},
				)
			}
		}
	}
	for _, field := range []struct {
		name       string
		containers []corev1.Container
	}{{"initContainers", spec.InitContainers}, {"containers", spec.Containers}} {
		for i := range field.containers {
			check(field.containers[i].Resources.Requests, path.With(field.name, i, "resources", "requests"))
		}
	}
	check(spec.Overhead, path.With("overhead"))
	if spec.Resources != nil {
		check(spec.Resources.Requests, path.With("resources", "requests"))
	}
	return problems
}

// finishNode sets allocatable to the capacity where the kubelet reserves nothing.
func finishNode(_ *reader, _ *document.Document, node *corev1.Node) []document.Problem {
	node.Status.Images = nil // most of a node's size
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity
	}
	return nil
}

func finishDaemonSet(_ *reader, _ *document.Document, set *appsv1.DaemonSet) []document.Problem {
	defaultPorts(&set.Spec.Template.Spec)
	return checkTemplate(&set.Spec.Template)
}

func finishDeployment(_ *reader, _ *document.Document, d *appsv1.Deployment) []document.Problem {
	return append(checkCount(d.Spec.Replicas, "spec", "replicas"), checkTemplate(&d.Spec.Template)...)
}

func finishStatefulSet(_ *reader, _ *document.Document, s *appsv1.StatefulSet) []document.Problem {
	problems := checkCount(s.Spec.Replicas, "spec", "replicas")
	for i := range s.Spec.VolumeClaimTemplates {
		if s.Spec.VolumeClaimTemplates[i].Name == "" {
			problems = append(
				problems,
				document.Problem{Path: document.Path{"spec", "volumeClaimTemplates", i, "metadata", "name"}, Text: "is missing"},
			)
		}
	}
	return append(problems, checkTemplate(&s.Spec.Template)...)
}

func finishReplicaSet(_ *reader, _ *document.Document, s *appsv1.ReplicaSet) []document.Problem {
	return append(checkCount(s.Spec.Replicas, "spec", "replicas"), checkTemplate(&s.Spec.Template)...)
}

// finishController sets the selector that an API server sets.
func finishController(_ *reader, _ *document.Document, c *corev1.ReplicationController) []document.Problem {
	if c.Spec.Template == nil {
		return []document.Problem{{Path: document.Path{"spec", "template"}, Text: "is missing"}}
	}
	if len(c.Spec.Selector) == 0 {
		c.Spec.Selector = c.Spec.Template.Labels
	}
	return append(checkCount(c.Spec.Replicas, "spec", "replicas"), checkTemplate(c.Spec.Template)...)
}

func finishJob(_ *reader, _ *document.Document, j *batchv1.Job) []document.Problem {
	problems := checkCount(j.Spec.Parallelism, "spec", "parallelism")
	problems = append(problems, checkCount(j.Spec.Completions, "spec", "completions")...)
	return append(problems, checkTemplate(&j.Spec.Template)...)
}

func checkTemplate(template *corev1.PodTemplateSpec) []document.Problem {
	return checkRequests(&template.Spec, document.Path{"spec", "template", "spec"})
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
	return r.invalid(d, pool.Validate())
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
	return r.invalid(d, class.Validate())
}

func finishNodeOverlay(r *reader, d *document.Document, overlay *api.NodeOverlay) []document.Problem {
	return r.invalid(d, overlay.Validate())
}

// invalid returns what a cluster would refuse, each a *api.FieldError in err. A missing field is a
// warning: a plan is often possible without it.
func (r *reader) invalid(d *document.Document, err error) []document.Problem {
	var joined interface{ Unwrap() []error }
	errs := []error{err}
	if errors.As(err, &joined) {
		errs = joined.Unwrap()
	}
	var problems []document.Problem
	for _, err := range errs {
		var field *api.FieldError
		switch {
		case !errors.As(err, &field):
		case field.Value == nil:
			r.warnf(d, document.ParsePath(field.Path), "%w; a cluster would refuse it", field)
		default:
			problems = append(problems, document.Problem{Path: document.ParsePath(field.Path), Text: field.Text()})
		}
	}
	return problems
}
