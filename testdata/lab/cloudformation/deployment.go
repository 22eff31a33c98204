package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// deployment is one creation or update of a stack by a template.
type deployment struct {
	service  *Service
	stack    *stack
	body     string
	template *template
	resolver *resolver
	graph    graph
	undo     []func(ctx context.Context) error // steps of a rollback, oldest first; guarded by the service's lock
	cleanup  []*resource                       // replaced resources, to be deleted when all went well
	fresh    map[string]*resource              // made by this deployment, for its rollback
}

// prepare checks a template against a stack, with everything that can be known before the start.
func (s *Service) prepare(st *stack, body string) (*deployment, error) {
	t, err := parseTemplate(body)
	if err != nil {
		return nil, fmt.Errorf("template format error: %w", err)
	}
	d := &deployment{service: s, stack: st, body: body, template: t, fresh: map[string]*resource{}}
	d.resolver = &resolver{
		template: t, pseudo: pseudoParameters(s.config.AccountID, s.config.Region, st.name, st.id), resource: d.lookup,
	}
	if d.graph, err = d.resolver.dependencies(); err != nil {
		return nil, fmt.Errorf("template format error: %w", err)
	}
	return d, nil
}

// lookup returns what the resolver knows about a resource.
func (d *deployment) lookup(logicalID string) (string, map[string]any, bool) {
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	if _, declared := d.graph[logicalID]; !declared {
		return "", nil, false
	}
	r, ok := d.stack.resources[logicalID]
	if !ok || r.physicalID == "" {
		return "", nil, false
	}
	return r.physicalID, r.attributes, true
}

// locked runs f with the service's lock.
func (d *deployment) locked(f func(at time.Time)) {
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	f(time.Now())
}

// create makes all resources of a new stack; it runs in its own goroutine until the stack is
// settled.
func (d *deployment) create(ctx context.Context) {
	err := d.graph.walk(ctx, false, d.createResource)
	if err == nil {
		err = d.finish()
	}
	if err == nil {
		d.locked(func(at time.Time) { d.stack.setStatus(createComplete, "", at) })
		return
	}
	reason := d.failure(err)
	d.locked(func(at time.Time) { d.stack.setStatus(rollbackInProgress, reason+" Rollback requested by user.", at) })
	d.service.rollBackCreate(ctx, d.stack)
}

// failure returns a stack's reason, composed from its failed resources.
func (d *deployment) failure(err error) string {
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	var failed []string
	for _, id := range slices.Sorted(maps.Keys(d.stack.resources)) {
		if status := d.stack.resources[id].status; status == createFailed || status == updateFailed {
			failed = append(failed, id)
		}
	}
	if len(failed) == 0 {
		return err.Error()
	}
	return fmt.Sprintf("The following resource(s) failed to create or update: [%s].", strings.Join(failed, ", "))
}

// createResource makes one resource.
func (d *deployment) createResource(ctx context.Context, id string) error {
	declared := d.template.Resources[id]
	r := &resource{logicalID: id, kind: declared.Type, needs: d.graph[id], deletionPolicy: declared.DeletionPolicy}
	var request Request
	properties, err := d.resolver.properties(declared.Properties)
	d.locked(func(at time.Time) {
		r.properties = properties
		d.stack.resources[id] = r
		d.fresh[id] = r
		d.stack.setResource(r, createInProgress, "", at)
		request = d.stack.request(r, properties, nil)
		request.GeneratedName = d.stack.generatedName(id)
		request.PhysicalID = request.GeneratedName
	})
	if err != nil {
		return d.failed(r, createFailed, err)
	}
	t, ok := d.service.typeOf(declared.Type)
	if !ok {
		return d.failed(r, createFailed,
			fmt.Errorf("resource type %s is not simulated by the local AWS; it knows %s", declared.Type, d.service.knownTypes()))
	}
	result, err := t.Create(ctx, request)
	d.locked(func(time.Time) { r.physicalID, r.attributes = result.PhysicalID, result.Attributes })
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
			err = cause
		}
		return d.failed(r, createFailed, err)
	}
	d.locked(func(at time.Time) { d.stack.setResource(r, createComplete, "", at) })
	return nil
}

func (d *deployment) failed(r *resource, status string, err error) error {
	d.locked(func(at time.Time) { d.stack.setResource(r, status, err.Error(), at) })
	return fmt.Errorf("resource %s: %w", r.logicalID, err)
}

// finish resolves the outputs and takes the template over into the stack.
func (d *deployment) finish() error {
	var outputs []outputValue
	for _, key := range slices.Sorted(maps.Keys(d.template.Outputs)) {
		o := d.template.Outputs[key]
		value, err := d.resolver.resolve(o.Value)
		if err != nil {
			return fmt.Errorf("output %s: %w", key, err)
		}
		text, ok := scalarText(value)
		if !ok {
			return fmt.Errorf("output %s: the value takes a string, not %s", key, describe(value))
		}
		outputs = append(outputs, outputValue{key: key, value: text, description: o.Description})
	}
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	d.stack.outputs = outputs
	d.stack.template, d.stack.body, d.stack.description = d.template, d.body, d.template.Description
	return nil
}

// sameJSON reports whether two resolved values are equal as JSON.
func sameJSON(a, b any) bool { return reflect.DeepEqual(a, b) }
