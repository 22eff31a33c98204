package manifests

import (
	"github.com/whittle-dev/whittle/shared/buffer"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/quota"
)

// warnBuffers warns of CapacityBuffers that get no room as they are.
func (r *reader) warnBuffers() {
	var resolved []buffer.Buffer
	for i := range r.manifests.Buffers {
		object := &r.manifests.Buffers[i]
		if !buffer.IsOurs(object) {
			continue
		}
		var source *buffer.Source
		of, _ := buffer.ReferenceOf(object)
		if template := r.template(of.Kind, of.Namespace, of.Name); template != nil {
			source = &buffer.Source{Template: template.Pod, Generation: template.Generation, Replicas: template.Replicas}
		}
		resolved = append(resolved, buffer.Resolve(object, source, r.manifests.LimitRanges))
	}
	buffer.Within(resolved, quota.New(r.manifests.Quotas))
	for i := range resolved {
		if problem := resolved[i].Problem(); problem != "" {
			object := resolved[i].Object
			key := keyOf(*object, object.Namespace, object.Name)
			r.warnf(r.seen[key].d, nil, "CapacityBuffer %q: %s", object.Namespace+"/"+object.Name, problem)
		}
	}
}

// warnQuotas warns of CapacityQuotas that do not bound what they seem to.
func (r *reader) warnQuotas() {
	for _, fault := range limit.Faults(r.manifests.CapacityQuotas) {
		key := keyOf(*fault.Quota, "", fault.Quota.Name)
		r.warnf(r.seen[key].d, nil, "CapacityQuota %q: %s", fault.Quota.Name, fault.Message)
	}
}

// template is the pod template of an object, and nil if the files do not have it.
func (r *reader) template(kind, namespace, name string) *cluster.Template {
	switch kind {
	case "PodTemplate":
		if t := named(r.podTemplates, namespace, name); t != nil {
			return &cluster.Template{Pod: t.Template, Generation: t.Generation}
		}
	case "Deployment":
		if d := named(r.deployments, namespace, name); d != nil {
			return &cluster.Template{Pod: d.Spec.Template, Replicas: int32(replicas(d.Spec.Replicas))}
		}
	case "StatefulSet":
		if s := named(r.statefulSets, namespace, name); s != nil {
			return &cluster.Template{Pod: s.Spec.Template, Replicas: int32(replicas(s.Spec.Replicas))}
		}
	case "ReplicaSet":
		if s := named(r.replicaSets, namespace, name); s != nil {
			return &cluster.Template{Pod: s.Spec.Template, Replicas: int32(replicas(s.Spec.Replicas))}
		}
	case "Job":
		if j := named(r.jobs, namespace, name); j != nil {
			return &cluster.Template{Pod: j.Spec.Template, Replicas: int32(parallel(j))}
		}
	}
	return nil
}

// named returns the object of the name, or nil.
func named[T any, P object[T]](objects []T, namespace, name string) P {
	for i := range objects {
		if o := P(&objects[i]); o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}
