package cloudformation

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// hasChanges reports whether a deployment would change its stack at all.
func (d *deployment) hasChanges(tags map[string]string) bool {
	old := d.stack
	return old.template == nil || !sameJSON(withoutMetadata(old.template), withoutMetadata(d.template)) ||
		!maps.Equal(old.tags, tags)
}

// withoutMetadata removes the parts of a template that change no resource.
func withoutMetadata(t *template) template {
	bare := *t
	bare.Metadata = nil
	return bare
}

// update brings a stack's resources to the deployment's template; it runs in its own goroutine
// until the stack is settled.
func (d *deployment) update(ctx context.Context) {
	err := d.graph.walk(ctx, false, d.updateResource)
	if err == nil {
		err = d.finish()
	}
	if err != nil {
		reason := d.failure(err)
		d.locked(func(at time.Time) { d.stack.setStatus(updateRollbackInProgress, reason, at) })
		d.rollBackUpdate(ctx)
		return
	}
	leaving := graph{}
	d.locked(func(at time.Time) {
		for id, r := range d.stack.resources {
			if _, kept := d.graph[id]; kept {
				r.needs = d.graph[id]
			} else {
				leaving[id] = r.needs
			}
		}
		d.stack.setStatus(updateCleanupInProgress, "", at)
	})
	d.deleteReplaced(ctx, d.cleanup)
	err = leaving.reversed().walk(ctx, true, func(ctx context.Context, id string) error {
		return d.service.deleteResource(ctx, d.stack, id)
	})
	d.locked(func(at time.Time) {
		reason := ""
		if err != nil {
			// CloudFormation too calls such an update complete and leaves the resource behind.
			reason = "Update successful. One or more resources could not be deleted."
			for id := range leaving {
				delete(d.stack.resources, id)
			}
		}
		d.stack.setStatus(updateComplete, reason, at)
	})
}

// updateResource creates, changes or leaves alone one resource of the new template.
func (d *deployment) updateResource(ctx context.Context, id string) error {
	declared := d.template.Resources[id]
	d.service.mu.Lock()
	r, exists := d.stack.resources[id]
	// A creation that failed and was not rolled back leaves a resource without anything behind it.
	exists = exists && r.physicalID != ""
	d.service.mu.Unlock()
	if !exists {
		return d.createResource(ctx, id)
	}
	if r.kind != declared.Type {
		return d.failed(r, updateFailed,
			fmt.Errorf("update of resource type is not permitted: %s is %s and the new template says %s", id, r.kind,
				declared.Type))
	}
	properties, err := d.resolver.properties(declared.Properties)
	if err != nil {
		return d.failed(r, updateFailed, err)
	}
	old := *r
	r.deletionPolicy = declared.DeletionPolicy
	if sameJSON(r.properties, properties) {
		return nil
	}
	t, ok := d.service.typeOf(declared.Type)
	if !ok {
		return d.failed(r, updateFailed, fmt.Errorf("resource type %s is not simulated by the local AWS", declared.Type))
	}
	var request Request
	d.locked(func(at time.Time) {
		r.properties = properties
		d.stack.setResource(r, updateInProgress, "", at)
		request = d.stack.request(r, properties, old.properties)
		request.GeneratedName = d.stack.generatedName(id)
		d.undo = append(d.undo, func(ctx context.Context) error { return d.restore(ctx, r, old) })
	})
	result, err := t.Update(ctx, request)
	if err != nil {
		return d.failed(r, updateFailed, err)
	}
	d.locked(func(at time.Time) {
		if result.PhysicalID != "" && result.PhysicalID != old.physicalID {
			replaced := old
			replaced.deletionPolicy = declared.UpdateReplacePolicy
			d.cleanup = append(d.cleanup, &replaced)
		}
		if result.PhysicalID != "" {
			r.physicalID = result.PhysicalID
		}
		if result.Attributes != nil {
			r.attributes = result.Attributes
		}
		d.stack.setResource(r, updateComplete, "", at)
	})
	return nil
}

// restore returns one resource to its state before the update.
func (d *deployment) restore(ctx context.Context, r *resource, old resource) error {
	t, ok := d.service.typeOf(r.kind)
	if !ok {
		return fmt.Errorf("resource %s: its type %s is gone", r.logicalID, r.kind)
	}
	if r.physicalID != old.physicalID {
		// The update created a replacement and the old resource still exists, so the replacement is
		// deleted.
		replacement := *r
		d.locked(func(at time.Time) {
			r.physicalID, r.properties, r.attributes = old.physicalID, old.properties, old.attributes
			d.stack.setResource(r, updateComplete, "", at)
		})
		d.deleteReplaced(ctx, []*resource{&replacement})
		return nil
	}
	var request Request
	d.locked(func(at time.Time) {
		request = d.stack.request(r, old.properties, r.properties)
		request.GeneratedName = d.stack.generatedName(r.logicalID)
		r.properties = old.properties
		d.stack.setResource(r, updateInProgress, "", at)
	})
	result, err := t.Update(ctx, request)
	if err != nil {
		return d.failed(r, updateFailed, err)
	}
	d.locked(func(at time.Time) {
		r.attributes = old.attributes
		if result.PhysicalID != "" {
			r.physicalID = result.PhysicalID
			if result.Attributes != nil {
				r.attributes = result.Attributes
			}
		}
		d.stack.setResource(r, updateComplete, "", at)
	})
	return nil
}

// deleteReplaced deletes resources that are no longer the stack's. A failure is noted in the events
// and does not stop the rest, as in CloudFormation's cleanup.
func (d *deployment) deleteReplaced(ctx context.Context, replaced []*resource) {
	for _, r := range replaced {
		if err := d.service.unmake(ctx, d.stack, r); err != nil {
			d.locked(func(at time.Time) { d.stack.setResource(r, deleteFailed, err.Error(), at) })
		}
	}
}
