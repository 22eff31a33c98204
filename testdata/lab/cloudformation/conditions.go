package cloudformation

import (
	"fmt"
	"reflect"
)

// noValue is what {"Ref": "AWS::NoValue"} gives: the property or the item is left out.
type noValue struct{}

const noValueName = "AWS::NoValue"

// choose returns one of the two values of Fn::If, which names a condition of the template.
func (r *resolver) choose(argument any) (any, error) {
	condition, values, err := ifArguments(argument)
	if err != nil {
		return nil, err
	}
	holds, err := r.condition(condition, 0)
	if err != nil {
		return nil, err
	}
	if holds {
		return r.resolve(values[0])
	}
	return r.resolve(values[1])
}

func ifArguments(argument any) (condition string, values []any, err error) {
	list, _ := argument.([]any)
	if len(list) == 3 {
		if name, isText := list[0].(string); isText {
			return name, list[1:], nil
		}
	}
	return "", nil, fmt.Errorf("Fn::If takes a condition and two values, not %s", describe(argument))
}

// condition evaluates a condition of the template. depth bounds conditions that name each other.
func (r *resolver) condition(name string, depth int) (bool, error) {
	expression, ok := r.template.Conditions[name]
	if !ok {
		return false, fmt.Errorf("unresolved condition dependency %s in the Resources block of the template", name)
	}
	return r.holds(expression, depth+1)
}

// holds evaluates an expression of a condition: Fn::Equals, Fn::And, Fn::Or, Fn::Not or another condition.
func (r *resolver) holds(expression any, depth int) (bool, error) {
	if depth > maxNesting {
		return false, fmt.Errorf("circular dependency between conditions: %s", describe(expression))
	}
	object, _ := expression.(map[string]any)
	if len(object) != 1 {
		return false, fmt.Errorf("a condition is one function, not %s", describe(expression))
	}
	for function, argument := range object {
		if name, isText := argument.(string); function == "Condition" && isText {
			return r.condition(name, depth)
		}
		list, _ := argument.([]any)
		switch {
		case function == "Fn::Equals" && len(list) == 2:
			return r.equal(list)
		case function == "Fn::Not" && len(list) == 1:
			holds, err := r.holds(list[0], depth+1)
			return !holds, err
		case (function == "Fn::And" || function == "Fn::Or") && len(list) >= 2 && len(list) <= 10:
			return r.every(list, function == "Fn::And", depth+1)
		}
	}
	return false, fmt.Errorf("a condition is Fn::Equals, Fn::And, Fn::Or, Fn::Not or Condition, with their arguments: "+
		"not %s", describe(expression))
}

func (r *resolver) equal(list []any) (bool, error) {
	first, err := r.resolve(list[0])
	if err != nil {
		return false, err
	}
	second, err := r.resolve(list[1])
	return reflect.DeepEqual(first, second), err
}

// every reports whether all expressions hold, or whether one does.
func (r *resolver) every(list []any, all bool, depth int) (bool, error) {
	for _, expression := range list {
		holds, err := r.holds(expression, depth)
		if err != nil || holds != all {
			return holds, err
		}
	}
	return all, nil
}
