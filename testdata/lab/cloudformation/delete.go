package cloudformation

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// rollBackCreate deletes the resources of a failed creation. The stack remains until it is deleted.
func (s *Service) rollBackCreate(ctx context.Context, st *stack) {
	s.deleteResources(ctx, st, rollbackComplete, rollbackFailed)
}

// rollBackUpdate returns a stack to its last template. It restores changed resources in reverse
// order and deletes new ones.
func (d *deployment) rollBackUpdate(ctx context.Context) {
	var failure error
	for _, undo := range slices.Backward(d.undo) {
		if err := undo(ctx); err != nil && failure == nil {
			failure = err
		}
	}
	if failure != nil {
		d.locked(func(at time.Time) { d.stack.setStatus(updateRollbackFailed, failure.Error(), at) })
		return
	}
	made := graph{}
	d.locked(func(at time.Time) {
		for id, r := range d.fresh {
			made[id] = r.needs
		}
		d.stack.setStatus(updateRollbackCleanupInProgress, "", at)
	})
	err := made.reversed().walk(ctx, true, func(ctx context.Context, id string) error {
		return d.service.deleteResource(ctx, d.stack, id)
	})
	d.locked(func(at time.Time) {
		reason := ""
		if err != nil {
			reason = err.Error()
		}
		for id := range made {
			delete(d.stack.resources, id)
		}
		d.stack.setStatus(updateRollbackComplete, reason, at)
	})
}

// deleteResources deletes everything that a stack has, in the reverse order of need.
func (s *Service) deleteResources(ctx context.Context, st *stack, done, failed string) {
	s.mu.Lock()
	g := st.resourceGraph()
	s.mu.Unlock()
	err := g.reversed().walk(ctx, true, func(ctx context.Context, id string) error {
		return s.deleteResource(ctx, st, id)
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if err != nil {
		st.setStatus(failed, err.Error(), now)
		return
	}
	if done == deleteComplete {
		st.deleted = now
		st.outputs = nil
		delete(s.stacks, st.name)
		s.past[st.id] = st
	}
	st.setStatus(done, "", now)
}

// deleteResource deletes one resource of a stack and forgets it.
func (s *Service) deleteResource(ctx context.Context, st *stack, id string) error {
	s.mu.Lock()
	r := st.resources[id]
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	if err := s.unmake(ctx, st, r); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		st.setResource(r, deleteFailed, err.Error(), time.Now())
		return fmt.Errorf("resource %s could not be deleted: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(st.resources, id)
	return nil
}

// unmake deletes a resource, or releases it if its policy retains it.
func (s *Service) unmake(ctx context.Context, st *stack, r *resource) error {
	s.mu.Lock()
	made := r.physicalID != ""
	// RetainExceptOnCreate keeps a resource unless it was this stack's creation that failed.
	keep := retains(r.deletionPolicy) && (r.deletionPolicy != "RetainExceptOnCreate" || st.status != rollbackInProgress)
	if made && keep {
		st.setResource(r, deleteSkipped, "", time.Now())
	}
	if !made || keep {
		s.mu.Unlock()
		return nil
	}
	st.setResource(r, deleteInProgress, "", time.Now())
	request := st.request(r, r.properties, nil)
	s.mu.Unlock()
	t, ok := s.typeOf(r.kind)
	if !ok {
		return fmt.Errorf("resource type %s is not simulated by the local AWS", r.kind)
	}
	if err := t.Delete(ctx, request); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.setResource(r, deleteComplete, "", time.Now())
	return nil
}
