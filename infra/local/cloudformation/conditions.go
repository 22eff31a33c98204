package cloudformation

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// rule is one entry of a template's Rules: assertions about parameters that hold before anything is
// made.
type rule struct {
	RuleCondition any
	Assertions    []struct {
		Assert            any
		AssertDescription string
	}
}

// evaluateConditions returns each condition of the template its truth. Parameters must be set in
// the resolver.
func (r *resolver) evaluateConditions() error {
	r.conditions = map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(r.template.Conditions)) {
		if _, err := r.named(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// named evaluates the condition of a name; under are the conditions being evaluated, to find
// circles.
func (r *resolver) named(name string, under []string) (bool, error) {
	if holds, ok := r.conditions[name]; ok {
		return holds, nil
	}
	if slices.Contains(under, name) {
		return false, fmt.Errorf("circular dependency between conditions: %v", append(under, name))
	}
	declared, ok := r.template.Conditions[name]
	if !ok {
		return false, fmt.Errorf("the template has no condition %q", name)
	}
	holds, err := r.condition(declared, append(under, name))
	if err != nil {
		return false, fmt.Errorf("condition %s: %w", name, err)
	}
	r.conditions[name] = holds
	return holds, nil
}

// condition evaluates a condition's expression.
func (r *resolver) condition(expression any, under []string) (bool, error) {
	object, ok := expression.(map[string]any)
	if !ok || len(object) != 1 {
		if text, isScalar := scalarText(expression); isScalar && (text == "true" || text == "false") {
			return text == "true", nil
		}
		return false, fmt.Errorf("%s is not a condition", describe(expression))
	}
	for name, argument := range object {
		switch name {
		case "Condition":
			target, ok := argument.(string)
			if !ok {
				return false, fmt.Errorf("a Condition takes a name, not %s", describe(argument))
			}
			return r.named(target, under)
		case "Fn::Equals":
			return r.equals(argument)
		case "Fn::Not":
			return r.not(argument, under)
		case "Fn::And", "Fn::Or":
			return r.combine(name, argument, under)
		case "Fn::Contains":
			return r.contains(argument)
		case "Fn::EachMemberIn":
			return r.eachMemberIn(argument)
		default:
			return false, fmt.Errorf("%s is not a condition function that the local AWS knows", name)
		}
	}
	return false, nil
}

func (r *resolver) not(argument any, under []string) (bool, error) {
	list, ok := argument.([]any)
	if !ok || len(list) != 1 {
		return false, fmt.Errorf("Fn::Not takes a list of one condition, not %s", describe(argument))
	}
	holds, err := r.condition(list[0], under)
	return !holds, err
}

func (r *resolver) equals(argument any) (bool, error) {
	first, second, err := pair("Fn::Equals", argument)
	if err != nil {
		return false, err
	}
	left, err := r.resolve(first)
	if err != nil {
		return false, err
	}
	right, err := r.resolve(second)
	if err != nil {
		return false, err
	}
	leftText, leftScalar := scalarText(left)
	rightText, rightScalar := scalarText(right)
	if leftScalar && rightScalar {
		return leftText == rightText, nil
	}
	return reflect.DeepEqual(left, right), nil
}

func (r *resolver) combine(name string, argument any, under []string) (bool, error) {
	list, ok := argument.([]any)
	if !ok || len(list) < 2 || len(list) > 10 {
		return false, fmt.Errorf("%s takes 2 to 10 conditions, not %s", name, describe(argument))
	}
	result := name == "Fn::And"
	for _, inner := range list {
		holds, err := r.condition(inner, under)
		if err != nil {
			return false, err
		}
		if name == "Fn::And" {
			result = result && holds
		} else {
			result = result || holds
		}
	}
	return result, nil
}

// contains is the rule function Fn::Contains: [list, value].
func (r *resolver) contains(argument any) (bool, error) {
	first, second, err := pair("Fn::Contains", argument)
	if err != nil {
		return false, err
	}
	list, err := r.list("Fn::Contains", first)
	if err != nil {
		return false, err
	}
	wanted, err := r.text("Fn::Contains", second)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(list, func(item any) bool {
		text, _ := scalarText(item)
		return text == wanted
	}), nil
}

// eachMemberIn is the rule function Fn::EachMemberIn: [list, list].
func (r *resolver) eachMemberIn(argument any) (bool, error) {
	first, second, err := pair("Fn::EachMemberIn", argument)
	if err != nil {
		return false, err
	}
	members, err := r.list("Fn::EachMemberIn", first)
	if err != nil {
		return false, err
	}
	for _, member := range members {
		in, err := r.contains([]any{second, member})
		if err != nil || !in {
			return false, err
		}
	}
	return true, nil
}

// checkRules evaluates the template's rules; the first assertion that does not hold is the error.
func (r *resolver) checkRules() error {
	for _, name := range slices.Sorted(maps.Keys(r.template.Rules)) {
		declared := r.template.Rules[name]
		if declared.RuleCondition != nil {
			applies, err := r.condition(declared.RuleCondition, nil)
			if err != nil {
				return fmt.Errorf("rule %s: %w", name, err)
			}
			if !applies {
				continue
			}
		}
		for _, assertion := range declared.Assertions {
			holds, err := r.condition(assertion.Assert, nil)
			if err != nil {
				return fmt.Errorf("rule %s: %w", name, err)
			}
			if !holds {
				return fmt.Errorf("template failed rule %s: %s", name, assertion.AssertDescription)
			}
		}
	}
	return nil
}
