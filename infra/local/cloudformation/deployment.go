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

// deployment is one creation or update of a stack: a template and its parameters, resolved as far
// as possible beforehand.
type deployment struct {
	service    *Service
	stack      *stack
	body       string
	template   *template
	parameters map[string]parameterValue
	resolver   *resolver
	graph      graph
	imports    map[string]bool
	undo       []func(ctx context.Context) error // steps of a rollback, oldest first; guarded by the service's lock
	cleanup    []*resource                       // replaced resources, to be deleted when all went well
	fresh      map[string]*resource              // made by this deployment, for its rollback
}

// prepare checks a template and its parameters against a stack and everything that can be known
// before the start.
func (s *Service) prepare(ctx context.Context, st *stack, body string, given []givenParameter) (*deployment, error) {
	t, err := parseTemplate(body)
	if err != nil {
		return nil, fmt.Errorf("template format error: %w", err)
	}
	parameters, err := resolveParameters(ctx, t, given, st.parameters, s.config.Parameters)
	if err != nil {
		return nil, err
	}
	d := &deployment{
		service: s, stack: st, body: body, template: t, parameters: parameters, imports: map[string]bool{},
		fresh: map[string]*resource{},
	}
	d.resolver = &resolver{
		ctx: ctx, template: t, parameters: parameters, store: s.config.Parameters, zones: s.zones,
		pseudo: pseudoParameters(s.config.AccountID, s.config.Region, st.name, st.id, st.notificationARNs),
	}
	if err := d.resolver.evaluateConditions(); err != nil {
		return nil, fmt.Errorf("template format error: %w", err)
	}
	if err := d.resolver.checkRules(); err != nil {
		return nil, err
	}
	if d.graph, err = d.resolver.dependencies(); err != nil {
		return nil, fmt.Errorf("template format error: %w", err)
	}
	d.resolver.ctx = s.ctx
	d.resolver.resource = d.lookup
	d.resolver.export = func(name string) (string, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		d.imports[name] = true
		return s.export(name)
	}
	return d, nil
}

func (s *Service) zones(region string) []string {
	if region != s.config.Region {
		return nil
	}
	return s.config.Zones
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
	if d.stack.disableRollback || d.stack.onFailure == "DO_NOTHING" {
		d.locked(func(at time.Time) { d.stack.setStatus(createFailed, reason, at) })
		return
	}
	if d.stack.onFailure == "DELETE" {
		d.locked(func(at time.Time) { d.stack.setStatus(deleteInProgress, reason, at) })
		d.service.deleteResources(ctx, d.stack, deleteComplete, deleteFailed)
		return
	}
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
		if o.Condition != "" && !d.resolver.conditions[o.Condition] {
			continue
		}
		value, err := d.resolver.text("the value", o.Value)
		if err != nil {
			return fmt.Errorf("output %s: %w", key, err)
		}
		resolved := outputValue{key: key, value: value, description: o.Description}
		if o.Export != nil {
			if resolved.export, err = d.resolver.text("the export's name", o.Export.Name); err != nil {
				return fmt.Errorf("output %s: %w", key, err)
			}
		}
		outputs = append(outputs, resolved)
	}
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	if err := d.checkExports(outputs); err != nil {
		return err
	}
	d.stack.outputs, d.stack.imports = outputs, d.imports
	d.stack.template, d.stack.body, d.stack.parameters, d.stack.description = d.template, d.body, d.parameters,
		d.template.Description
	return nil
}

// checkExports refuses names that another stack exports and the loss or change of exports that
// others use; the lock is held.
func (d *deployment) checkExports(outputs []outputValue) error {
	now := map[string]string{}
	for _, o := range outputs {
		if o.export == "" {
			continue
		}
		now[o.export] = o.value
		for _, other := range d.service.stacks {
			if other != d.stack && slices.ContainsFunc(other.outputs, func(theirs outputValue) bool {
				return theirs.export == o.export
			}) {
				return fmt.Errorf("export with name %s is already exported by stack %s", o.export, other.name)
			}
		}
	}
	for _, o := range d.stack.outputs {
		if o.export == "" || now[o.export] == o.value {
			continue
		}
		if users := d.service.importers(o.export); len(users) > 0 {
			return fmt.Errorf("export %s cannot be updated or deleted as it is in use by %s", o.export,
				strings.Join(users, ", "))
		}
	}
	return nil
}

// sameJSON reports whether two resolved values are equal as JSON.
func sameJSON(a, b any) bool { return reflect.DeepEqual(a, b) }
