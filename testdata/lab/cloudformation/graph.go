package cloudformation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// maxParallel is the number of a stack's resources that are worked on at the same time.
const maxParallel = 16

// graph returns for each resource the resources that it needs first.
type graph map[string][]string

// dependencies finds the dependencies of each resource by DependsOn, Ref, Fn::GetAtt and Fn::Sub. It
// refuses unknown references, circles, and what the local AWS does not simulate.
func (r *resolver) dependencies() (graph, error) {
	g := graph{}
	for _, id := range slices.Sorted(maps.Keys(r.template.Resources)) {
		d := r.template.Resources[id]
		needs := map[string]bool{}
		for _, name := range d.DependsOn {
			if _, declared := r.template.Resources[name]; !declared {
				return nil, fmt.Errorf(
					"unresolved resource dependencies [%s] in the Resources block of the template: %s depends on it", name, id)
			}
			needs[name] = true
		}
		if err := r.references(d.Properties, needs); err != nil {
			return nil, fmt.Errorf("resource %s: %w", id, err)
		}
		if needs[id] {
			return nil, fmt.Errorf("circular dependency between resources: [%s]", id)
		}
		g[id] = slices.Sorted(maps.Keys(needs))
	}
	for _, id := range slices.Sorted(maps.Keys(r.template.Outputs)) {
		if err := r.references(r.template.Outputs[id].Value, map[string]bool{}); err != nil {
			return nil, fmt.Errorf("output %s: %w", id, err)
		}
	}
	return g, g.checkCircles()
}

// references collects the resources that a value refers to.
func (r *resolver) references(value any, needs map[string]bool) error {
	if name, argument, ok := intrinsic(value); ok {
		return r.functionReferences(name, argument, needs)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := r.references(v[key], needs); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := r.references(inner, needs); err != nil {
				return err
			}
		}
	case string:
		if strings.Contains(v, "{{resolve:") {
			return fmt.Errorf("the dynamic reference %s is not simulated by the local AWS", describe(v))
		}
	}
	return nil
}

// functionReferences adds the references of an intrinsic function.
func (r *resolver) functionReferences(name string, argument any, needs map[string]bool) error {
	switch name {
	case "Ref":
		target, err := refArgument(argument)
		if err != nil {
			return err
		}
		return r.refer(target, needs)
	case "Fn::GetAtt":
		id, _, err := getAttArguments(argument)
		if err != nil {
			return err
		}
		return r.refer(id, needs)
	case "Fn::Sub":
		parts, err := subParts(argument)
		if err != nil {
			return err
		}
		for _, part := range parts {
			id, _, _ := strings.Cut(part.name, ".")
			if part.name == "" {
				continue
			}
			if err := r.refer(id, needs); err != nil {
				return err
			}
		}
		return r.references(argument, needs)
	case "Fn::Join":
		return r.references(argument, needs)
	case "Fn::If":
		condition, values, err := ifArguments(argument)
		if err != nil {
			return err
		}
		if _, err := r.condition(condition, 0); err != nil {
			return err
		}
		return r.references(values, needs)
	default:
		return notSimulated(name)
	}
}

// refer adds a reference to a resource. Pseudo parameters are none.
func (r *resolver) refer(name string, needs map[string]bool) error {
	if _, declared := r.template.Resources[name]; declared {
		needs[name] = true
		return nil
	}
	if _, known := r.pseudo[name]; known || name == noValueName {
		return nil
	}
	if strings.HasPrefix(name, "AWS::") {
		return fmt.Errorf("the pseudo parameter %s is not simulated by the local AWS", name)
	}
	return fmt.Errorf("unresolved resource dependencies [%s] in the Resources block of the template", name)
}

func (g graph) checkCircles() error {
	left := maps.Clone(g)
	for len(left) > 0 {
		progress := false
		for id, needs := range left {
			if !slices.ContainsFunc(needs, func(need string) bool { _, waiting := left[need]; return waiting }) {
				delete(left, id)
				progress = true
			}
		}
		if !progress {
			return fmt.Errorf("circular dependency between resources: [%s]", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
		}
	}
	return nil
}

// reversed returns the graph for deletion: a resource goes after those that depend on it.
func (g graph) reversed() graph {
	back := graph{}
	for id := range g {
		back[id] = nil
	}
	for id, needs := range g {
		for _, need := range needs {
			if _, ok := g[need]; ok {
				back[need] = append(back[need], id)
			}
		}
	}
	return back
}

// walk calls f for each resource after its dependencies, independent ones in parallel. After the
// first failure it starts nothing new, cancels the running calls, and returns that failure once
// they have returned. With keepGoing it continues with resources that do not depend on the failed
// one, and returns the first failure at the end.
func (g graph) walk(ctx context.Context, keepGoing bool, f func(ctx context.Context, id string) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var failure error
	finished := map[string]chan struct{}{}
	failed := map[string]bool{}
	for id := range g {
		finished[id] = make(chan struct{})
	}
	slots := make(chan struct{}, maxParallel)
	var all sync.WaitGroup
	for _, id := range slices.Sorted(maps.Keys(g)) {
		all.Go(func() {
			defer close(finished[id])
			for _, need := range g[id] {
				if done, ok := finished[need]; ok {
					<-done
				}
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			mu.Lock()
			skip := ctx.Err() != nil || slices.ContainsFunc(g[id], func(need string) bool { return failed[need] })
			if skip {
				failed[id] = true
			}
			mu.Unlock()
			if skip {
				return
			}
			if err := f(ctx, id); err != nil {
				mu.Lock()
				failed[id] = true
				if failure == nil {
					failure = err
				}
				mu.Unlock()
				if !keepGoing {
					cancel(errCancelled)
				}
			}
		})
	}
	all.Wait()
	if failure == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure
}
