package manifests

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/buffer"
)

// resolveBuffers gives the CapacityBuffers the pods of what they name in the files.
func (r *reader) resolveBuffers() {
	for i := range r.buffers {
		object := &r.buffers[i]
		if !buffer.IsOurs(object) {
			continue
		}
		resolved := buffer.Resolve(object, r.namedBy(object), r.manifests.LimitRanges)
		if problem := resolved.Problem(); problem != "" {
			key := keyOf(*object, object.Namespace, object.Name)
			r.warnf(r.seen[key].d, nil, "CapacityBuffer %q: %s", object.Namespace+"/"+object.Name, problem)
		}
		r.manifests.Buffers = append(r.manifests.Buffers, resolved)
	}
}

// namedBy is what the buffer names, and nil if the files do not have it.
func (r *reader) namedBy(object *api.CapacityBuffer) *buffer.Source {
	of, _ := buffer.ReferenceOf(object)
	switch of.Kind {
	case "PodTemplate":
		if t := named(r.podTemplates, of); t != nil {
			return &buffer.Source{Template: t.Template, Generation: t.Generation}
		}
	case "Deployment":
		if d := named(r.deployments, of); d != nil {
			return &buffer.Source{Template: d.Spec.Template, Replicas: int32(replicas(d.Spec.Replicas))}
		}
	case "StatefulSet":
		if s := named(r.statefulSets, of); s != nil {
			return &buffer.Source{Template: s.Spec.Template, Replicas: int32(replicas(s.Spec.Replicas))}
		}
	case "ReplicaSet":
		if s := named(r.replicaSets, of); s != nil {
			return &buffer.Source{Template: s.Spec.Template, Replicas: int32(replicas(s.Spec.Replicas))}
		}
	}
	return nil
}

// named returns the object of the reference's name, or nil.
func named[T any, P object[T]](objects []T, of buffer.Reference) P {
	for i := range objects {
		if o := P(&objects[i]); o.GetNamespace() == of.Namespace && o.GetName() == of.Name {
			return o
		}
	}
	return nil
}
