package cloudformation

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// call returns the result of one intrinsic function.
func (r *resolver) call(name string, argument any) (any, error) {
	switch name {
	case "Ref":
		target, ok := argument.(string)
		if !ok {
			return nil, fmt.Errorf("the function Ref takes a name, not %s", describe(argument))
		}
		return r.ref(target)
	case "Fn::GetAtt":
		return r.getAtt(argument)
	case "Fn::Join":
		return r.join(argument)
	case "Fn::Sub":
		return r.sub(argument)
	case "Fn::Select":
		return r.selectItem(argument)
	case "Fn::Split":
		return r.split(argument)
	case "Fn::Base64":
		return r.base64(argument)
	case "Fn::ImportValue":
		return r.importValue(argument)
	case "Fn::GetAZs":
		return r.getAZs(argument)
	case "Fn::FindInMap":
		return r.findInMap(argument)
	case "Fn::If":
		branch, err := r.branch(argument)
		if err != nil {
			return nil, err
		}
		return r.resolve(branch)
	case "Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not":
		return r.condition(map[string]any{name: argument}, nil)
	default:
		return nil, fmt.Errorf("the intrinsic function %s is not simulated by the local AWS", name)
	}
}

func (r *resolver) getAtt(argument any) (any, error) {
	id, attribute, err := getAttArguments(argument, func(v any) (string, error) {
		return r.text("the attribute of Fn::GetAtt", v)
	})
	if err != nil {
		return nil, err
	}
	return r.attribute(id, attribute)
}

func (r *resolver) base64(argument any) (any, error) {
	text, err := r.text("Fn::Base64", argument)
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), nil
}

// getAttArguments reads both forms of Fn::GetAtt: "Resource.Attribute" and ["Resource",
// "Attribute"].
func getAttArguments(argument any, text func(any) (string, error)) (logicalID, attribute string, err error) {
	switch v := argument.(type) {
	case string:
		id, name, ok := strings.Cut(v, ".")
		if ok && id != "" && name != "" {
			return id, name, nil
		}
	case []any:
		if len(v) == 2 {
			if id, ok := v[0].(string); ok {
				name, err := text(v[1])
				return id, name, err
			}
		}
	}
	return "", "", fmt.Errorf("Fn::GetAtt takes [\"LogicalId\", \"Attribute\"] or \"LogicalId.Attribute\", not %s",
		describe(argument))
}

// pair returns the two arguments of a function that takes two.
func pair(name string, argument any) (first, second any, err error) {
	list, ok := argument.([]any)
	if !ok || len(list) != 2 {
		return nil, nil, fmt.Errorf("%s takes a list of two, not %s", name, describe(argument))
	}
	return list[0], list[1], nil
}

func (r *resolver) join(argument any) (any, error) {
	first, second, err := pair("Fn::Join", argument)
	if err != nil {
		return nil, err
	}
	separator, ok := first.(string)
	if !ok {
		return nil, fmt.Errorf("the separator of Fn::Join is a string, not %s", describe(first))
	}
	items, err := r.list("Fn::Join", second)
	if err != nil {
		return nil, err
	}
	parts := make([]string, len(items))
	for i, item := range items {
		if parts[i], ok = scalarText(item); !ok {
			return nil, fmt.Errorf("Fn::Join joins strings, not %s", describe(item))
		}
	}
	return strings.Join(parts, separator), nil
}

func (r *resolver) sub(argument any) (any, error) {
	text, variables, err := subArguments(argument)
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, part := range subParts(text) {
		if part.name == "" {
			out.WriteString(part.literal)
			continue
		}
		var value any
		if given, ok := variables[part.name]; ok {
			value, err = r.resolve(given)
		} else if id, attribute, dotted := strings.Cut(part.name, "."); dotted {
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
	return r.dynamic(out.String())
}

// subArguments reads both forms of Fn::Sub: "text" and ["text", {variables}].
func subArguments(argument any) (text string, variables map[string]any, err error) {
	if text, ok := argument.(string); ok {
		return text, nil, nil
	}
	first, second, err := pair("Fn::Sub", argument)
	if err != nil {
		return "", nil, err
	}
	text, isText := first.(string)
	variables, isMap := second.(map[string]any)
	if !isText || !isMap {
		return "", nil, fmt.Errorf("Fn::Sub takes a string, or a string and an object of variables, not %s",
			describe(argument))
	}
	return text, variables, nil
}

// subPart is a literal piece of Fn::Sub's text, or the name between ${ and }.
type subPart struct{ literal, name string }

func subParts(text string) []subPart {
	var parts []subPart
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			return append(parts, subPart{literal: text})
		}
		inner, rest, closed := strings.Cut(after, "}")
		if !closed {
			return append(parts, subPart{literal: text})
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

func (r *resolver) selectItem(argument any) (any, error) {
	first, second, err := pair("Fn::Select", argument)
	if err != nil {
		return nil, err
	}
	position, err := r.text("the index of Fn::Select", first)
	if err != nil {
		return nil, err
	}
	items, err := r.list("Fn::Select", second)
	if err != nil {
		return nil, err
	}
	index, err := strconv.Atoi(position)
	if err != nil || index < 0 || index >= len(items) {
		return nil, fmt.Errorf("Fn::Select cannot select the value at index %s of a list of %d", position, len(items))
	}
	return items[index], nil
}

func (r *resolver) split(argument any) (any, error) {
	first, second, err := pair("Fn::Split", argument)
	if err != nil {
		return nil, err
	}
	separator, ok := first.(string)
	if !ok || separator == "" {
		return nil, fmt.Errorf("the separator of Fn::Split is a string that is not empty, not %s", describe(first))
	}
	text, err := r.text("Fn::Split", second)
	if err != nil {
		return nil, err
	}
	var items []any
	for _, item := range strings.Split(text, separator) {
		items = append(items, item)
	}
	return items, nil
}

func (r *resolver) importValue(argument any) (any, error) {
	name, err := r.text("Fn::ImportValue", argument)
	if err != nil {
		return nil, err
	}
	if r.export != nil {
		if value, ok := r.export(name); ok {
			return value, nil
		}
	}
	return nil, fmt.Errorf("no export named %s found", name)
}

func (r *resolver) getAZs(argument any) (any, error) {
	region, err := r.text("Fn::GetAZs", argument)
	if err != nil {
		return nil, err
	}
	if region == "" {
		region, _ = r.pseudo["AWS::Region"].(string)
	}
	found := r.zones(region)
	if len(found) == 0 {
		return nil, fmt.Errorf("Fn::GetAZs: the local AWS has no region %q", region)
	}
	zones := make([]any, len(found))
	for i, zone := range found {
		zones[i] = zone
	}
	return zones, nil
}

func (r *resolver) findInMap(argument any) (any, error) {
	keys, ok := argument.([]any)
	if !ok || len(keys) != 3 {
		return nil, fmt.Errorf("Fn::FindInMap takes a list of three, not %s", describe(argument))
	}
	var path [3]string
	for i, key := range keys {
		text, err := r.text("Fn::FindInMap", key)
		if err != nil {
			return nil, err
		}
		path[i] = text
	}
	value, ok := r.template.Mappings[path[0]][path[1]][path[2]]
	if !ok {
		return nil, fmt.Errorf("Fn::FindInMap: the mappings have no %s",
			strings.Join(slices.Collect(slices.Values(path[:])), "."))
	}
	return value, nil
}

// branch returns the unresolved side of Fn::If that its condition selects.
func (r *resolver) branch(argument any) (any, error) {
	list, ok := argument.([]any)
	if !ok || len(list) != 3 {
		return nil, fmt.Errorf("Fn::If takes a condition and two values, not %s", describe(argument))
	}
	name, ok := list[0].(string)
	if !ok {
		return nil, fmt.Errorf("the condition of Fn::If is a name, not %s", describe(list[0]))
	}
	holds, ok := r.conditions[name]
	if !ok {
		return nil, fmt.Errorf("Fn::If: the template has no condition %q", name)
	}
	if holds {
		return list[1], nil
	}
	return list[2], nil
}
