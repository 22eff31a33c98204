package cloudformation

import (
	"fmt"
	"strings"
)

// resolver replaces intrinsic functions by their values in one stack.
type resolver struct {
	template *template
	pseudo   map[string]string
	// resource returns the physical ID and the attributes of a created resource, for Ref and
	// Fn::GetAtt.
	resource func(logicalID string) (physicalID string, attributes map[string]any, ok bool)
}

// pseudoParameters are the names that Ref and Fn::Sub know in every template.
func pseudoParameters(accountID, region, stackName, stackID string) map[string]string {
	return map[string]string{
		"AWS::AccountId": accountID, "AWS::Region": region, "AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com",
		"AWS::StackName": stackName, "AWS::StackId": stackID,
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

// notSimulated refuses an intrinsic function by its name.
func notSimulated(function string) error {
	return fmt.Errorf("the intrinsic function %s is not simulated by the local AWS; it knows Ref, Fn::GetAtt, Fn::Sub, "+
		"Fn::Join and Fn::If", function)
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
			if resolved != (noValue{}) {
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
			if resolved != (noValue{}) {
				result = append(result, resolved)
			}
		}
		return result, nil
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

// call returns the result of one intrinsic function.
func (r *resolver) call(name string, argument any) (any, error) {
	switch name {
	case "Ref":
		target, err := refArgument(argument)
		if err != nil {
			return nil, err
		}
		return r.ref(target)
	case "Fn::GetAtt":
		id, attribute, err := getAttArguments(argument)
		if err != nil {
			return nil, err
		}
		return r.attribute(id, attribute)
	case "Fn::Join":
		return r.join(argument)
	case "Fn::Sub":
		return r.sub(argument)
	case "Fn::If":
		return r.choose(argument)
	default:
		return nil, notSimulated(name)
	}
}

func refArgument(argument any) (string, error) {
	target, ok := argument.(string)
	if !ok {
		return "", fmt.Errorf("the function Ref takes a name, not %s", describe(argument))
	}
	return target, nil
}

func getAttArguments(argument any) (logicalID, attribute string, err error) {
	if list, ok := argument.([]any); ok && len(list) == 2 {
		id, isText := list[0].(string)
		name, isAlso := list[1].(string)
		if isText && isAlso {
			return id, name, nil
		}
	}
	return "", "", fmt.Errorf("Fn::GetAtt takes [\"LogicalId\", \"Attribute\"] in the local AWS, not %s",
		describe(argument))
}

// ref returns the value of {"Ref": name}.
func (r *resolver) ref(name string) (any, error) {
	if name == noValueName {
		return noValue{}, nil
	}
	if value, ok := r.pseudo[name]; ok {
		return value, nil
	}
	if r.resource != nil {
		if id, _, ok := r.resource(name); ok {
			return id, nil
		}
	}
	return nil, fmt.Errorf("reference to %q: the template has no created resource of this name", name)
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

func (r *resolver) join(argument any) (any, error) {
	refused := fmt.Errorf("Fn::Join takes a separator and a list in the local AWS, not %s", describe(argument))
	arguments, ok := argument.([]any)
	if !ok || len(arguments) != 2 {
		return nil, refused
	}
	separator, isText := arguments[0].(string)
	items, isList := arguments[1].([]any)
	if !isText || !isList {
		return nil, refused
	}
	parts := make([]string, len(items))
	for i, item := range items {
		resolved, err := r.resolve(item)
		if err != nil {
			return nil, err
		}
		if parts[i], ok = scalarText(resolved); !ok {
			return nil, fmt.Errorf("Fn::Join joins strings, not %s", describe(resolved))
		}
	}
	return strings.Join(parts, separator), nil
}

func (r *resolver) sub(argument any) (any, error) {
	parts, err := subParts(argument)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, part := range parts {
		if part.name == "" {
			out.WriteString(part.literal)
			continue
		}
		var value any
		if id, attribute, dotted := strings.Cut(part.name, "."); dotted {
			value, err = r.attribute(id, attribute)
		} else {
			value, err = r.ref(part.name)
		}
		if err != nil {
			return nil, fmt.Errorf("Fn::Sub of ${%s}: %w", part.name, err)
		}
		inserted, ok := scalarText(value)
		if !ok {
			return nil, fmt.Errorf("Fn::Sub of ${%s} takes a string, not %s", part.name, describe(value))
		}
		out.WriteString(inserted)
	}
	return out.String(), nil
}

// subPart is a literal piece of Fn::Sub's text, or the name between ${ and }.
type subPart struct{ literal, name string }

// subParts reads the argument of Fn::Sub.
func subParts(argument any) ([]subPart, error) {
	text, ok := argument.(string)
	if !ok {
		return nil, fmt.Errorf("Fn::Sub takes a string in the local AWS, not %s", describe(argument))
	}
	var parts []subPart
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			return append(parts, subPart{literal: text}), nil
		}
		inner, rest, closed := strings.Cut(after, "}")
		if !closed {
			return append(parts, subPart{literal: text}), nil
		}
		parts = append(parts, subPart{literal: before})
		if literal, escaped := strings.CutPrefix(inner, "!"); escaped {
			parts = append(parts, subPart{literal: "${" + literal + "}"})
		} else {
			parts = append(parts, subPart{name: strings.TrimSpace(inner)})
		}
		text = rest
	}
}
