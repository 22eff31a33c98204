package cloudformation

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// resolver replaces intrinsic functions by their values in one stack.
type resolver struct {
	ctx        context.Context
	template   *template
	pseudo     map[string]any
	parameters map[string]parameterValue
	conditions map[string]bool
	// resource returns the physical ID and the attributes of a created resource, for Ref and
	// Fn::GetAtt.
	resource func(logicalID string) (physicalID string, attributes map[string]any, ok bool)
	export   func(name string) (string, bool)
	zones    func(region string) []string
	store    ParameterStore
}

// noValue is the result of {"Ref": "AWS::NoValue"}. The property that holds it is left out.
type noValue struct{}

// pseudoParameters are the names that Ref and Fn::Sub know in every template.
func pseudoParameters(accountID, region, stackName, stackID string, notifications []string) map[string]any {
	arns := make([]any, len(notifications))
	for i, arn := range notifications {
		arns[i] = arn
	}
	return map[string]any{
		"AWS::AccountId": accountID, "AWS::Region": region, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
		"AWS::StackName": stackName, "AWS::StackId": stackID, "AWS::NotificationARNs": arns, "AWS::NoValue": noValue{},
	}
}

// intrinsic reports whether a value is a function call, and returns the function's name.
func intrinsic(value any) (name string, argument any, ok bool) {
	object, isObject := value.(map[string]any)
	if !isObject || len(object) != 1 {
		return "", nil, false
	}
	for key, inner := range object {
		if key == "Ref" || strings.HasPrefix(key, "Fn::") {
			return key, inner, true
		}
	}
	return "", nil, false
}

// resolve returns a copy of value without intrinsic functions.
func (r *resolver) resolve(value any) (any, error) {
	if name, argument, ok := intrinsic(value); ok {
		return r.call(name, argument)
	}
	switch v := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(v))
		for key, inner := range v {
			resolved, err := r.resolve(inner)
			if err != nil {
				return nil, err
			}
			if _, dropped := resolved.(noValue); !dropped {
				result[key] = resolved
			}
		}
		return result, nil
	case []any:
		result := make([]any, 0, len(v))
		for _, inner := range v {
			resolved, err := r.resolve(inner)
			if err != nil {
				return nil, err
			}
			if _, dropped := resolved.(noValue); !dropped {
				result = append(result, resolved)
			}
		}
		return result, nil
	case string:
		return r.dynamic(v)
	default:
		return value, nil
	}
}

// properties resolves a resource's properties.
func (r *resolver) properties(declared map[string]any) (map[string]any, error) {
	resolved, err := r.resolve(declared)
	if err != nil {
		return nil, err
	}
	properties, ok := resolved.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the properties resolve to %s, not to an object", describe(resolved))
	}
	return properties, nil
}

// text resolves a value that must be a string.
func (r *resolver) text(what string, value any) (string, error) {
	resolved, err := r.resolve(value)
	if err != nil {
		return "", err
	}
	text, ok := scalarText(resolved)
	if !ok {
		return "", fmt.Errorf("%s takes a string, not %s", what, describe(resolved))
	}
	return text, nil
}

// list resolves a value that must be a list.
func (r *resolver) list(what string, value any) ([]any, error) {
	resolved, err := r.resolve(value)
	if err != nil {
		return nil, err
	}
	list, ok := resolved.([]any)
	if !ok {
		return nil, fmt.Errorf("%s takes a list, not %s", what, describe(resolved))
	}
	return list, nil
}

// ref returns the value of {"Ref": name}.
func (r *resolver) ref(name string) (any, error) {
	if value, ok := r.pseudo[name]; ok {
		return value, nil
	}
	if value, ok := r.parameters[name]; ok {
		return value.value(), nil
	}
	if r.resource != nil {
		if id, _, ok := r.resource(name); ok {
			return id, nil
		}
	}
	return nil, fmt.Errorf("reference to %q: the template has no parameter and no created resource of this name", name)
}

// attribute returns the value of {"Fn::GetAtt": [logicalID, name]}.
func (r *resolver) attribute(logicalID, name string) (any, error) {
	if r.resource != nil {
		if _, attributes, ok := r.resource(logicalID); ok {
			if value, ok := attributes[name]; ok {
				return value, nil
			}
			return nil, fmt.Errorf("Fn::GetAtt: resource %s of type %s has no attribute %q in the local AWS", logicalID,
				r.template.Resources[logicalID].Type, name)
		}
	}
	return nil, fmt.Errorf("Fn::GetAtt of %s.%s: the template has no created resource of this name", logicalID, name)
}

var dynamicReference = regexp.MustCompile(`\{\{resolve:([a-z-]+):([^}]*)\}\}`)

// dynamic replaces {{resolve:ssm:NAME}} and {{resolve:ssm:NAME:VERSION}}; the version is not looked
// at, since the local parameter store keeps the newest value only.
func (r *resolver) dynamic(text string) (any, error) {
	if !strings.Contains(text, "{{resolve:") {
		return text, nil
	}
	var failure error
	result := dynamicReference.ReplaceAllStringFunc(text, func(reference string) string {
		match := dynamicReference.FindStringSubmatch(reference)
		if match[1] != "ssm" {
			failure = fmt.Errorf("dynamic reference %s: the local AWS resolves ssm only", reference)
			return reference
		}
		name, _, _ := strings.Cut(match[2], ":")
		if r.store != nil {
			if value, ok := r.store.Parameter(r.ctx, name); ok {
				return value
			}
		}
		failure = fmt.Errorf("dynamic reference %s: there is no parameter %q", reference, name)
		return reference
	})
	return result, failure
}
