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

// dependencies finds the dependencies of each resource by DependsOn, Ref, Fn::GetAtt and Fn::Sub.
// It skips resources whose condition is false, and refuses unknown references and cycles. The
// conditions must have been evaluated.
func (r *resolver) dependencies() (graph, error) {
	kept := map[string]bool{}
	for id, d := range r.template.Resources {
		if d.Condition != "" {
			holds, ok := r.conditions[d.Condition]
			if !ok {
				return nil, fmt.Errorf("resource %s: the template has no condition %q", id, d.Condition)
			}
			if !holds {
				continue
			}
		}
		kept[id] = true
	}
	g := graph{}
	for id := range kept {
		d := r.template.Resources[id]
		needs := map[string]bool{}
		for _, name := range d.DependsOn {
			if _, declared := r.template.Resources[name]; !declared {
				return nil, fmt.Errorf(
					"unresolved resource dependencies [%s] in the Resources block of the template: %s depends on it", name, id)
			}
			if kept[name] {
				needs[name] = true
			}
		}
		if err := r.references(d.Properties, kept, needs); err != nil {
			return nil, fmt.Errorf("resource %s: %w", id, err)
		}
		if needs[id] {
			return nil, fmt.Errorf("circular dependency between resources: [%s]", id)
		}
		g[id] = slices.Sorted(maps.Keys(needs))
	}
	for _, id := range slices.Sorted(maps.Keys(r.template.Outputs)) {
		o := r.template.Outputs[id]
		if o.Condition != "" && !r.conditions[o.Condition] {
			continue
		}
		if err := r.references(o.Value, kept, map[string]bool{}); err != nil {
			return nil, fmt.Errorf("output %s: %w", id, err)
		}
	}
	return g, g.checkCircles()
}

// references collects the resources that a value refers to, following only the sides of Fn::If that
// hold.
func (r *resolver) references(value any, kept, needs map[string]bool) error {
	if name, argument, ok := intrinsic(value); ok {
		return r.functionReferences(name, argument, kept, needs)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := r.references(v[key], kept, needs); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := r.references(inner, kept, needs); err != nil {
				return err
			}
		}
	}
	return nil
}

// functionReferences adds the references of an intrinsic function.
func (r *resolver) functionReferences(name string, argument any, kept, needs map[string]bool) error {
	switch name {
	case "Ref":
		target, isText := argument.(string)
		if !isText {
			return fmt.Errorf("the function Ref takes a name, not %s", describe(argument))
		}
		return r.refer(target, kept, needs)
	case "Fn::GetAtt":
		id, _, err := getAttArguments(argument, func(any) (string, error) { return "", nil })
		if err != nil {
			return err
		}
		return r.refer(id, kept, needs)
	case "Fn::Sub":
		return r.subReferences(argument, kept, needs)
	case "Fn::If":
		branch, err := r.branch(argument)
		if err != nil {
			return err
		}
		return r.references(branch, kept, needs)
	default:
		return r.references(argument, kept, needs)
	}
}

func (r *resolver) subReferences(argument any, kept, needs map[string]bool) error {
	text, variables, err := subArguments(argument)
	if err != nil {
		return err
	}
	for _, part := range subParts(text) {
		if _, given := variables[part.name]; given || part.name == "" {
			continue
		}
		id, _, _ := strings.Cut(part.name, ".")
		if err := r.refer(id, kept, needs); err != nil {
			return err
		}
	}
	return r.references(variables, kept, needs)
}

// refer adds a reference to a resource. Parameters and pseudo parameters are none.
func (r *resolver) refer(name string, kept, needs map[string]bool) error {
	if kept[name] {
		needs[name] = true
		return nil
	}
	_, isPseudo := r.pseudo[name]
	_, isParameter := r.parameters[name]
	if isPseudo || isParameter {
		return nil
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
