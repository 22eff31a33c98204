package cloudformation

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ParameterStore resolves parameters of an AWS::SSM::Parameter::Value type.
type ParameterStore interface {
	// Parameter returns the value of a name; false for an unknown name.
	Parameter(ctx context.Context, name string) (value string, found bool)
}

// parameterDeclaration is one entry of a template's Parameters.
type parameterDeclaration struct {
	Type                  string
	Default               any
	Description           string
	NoEcho                any
	AllowedValues         []any
	AllowedPattern        string
	ConstraintDescription string
	MinLength, MaxLength  any
	MinValue, MaxValue    any
}

// hidden reports whether the parameter's value is shown as asterisks.
func (d parameterDeclaration) hidden() bool {
	text, _ := scalarText(d.NoEcho)
	return strings.EqualFold(text, "true")
}

// parameterValue is a stack's value of a parameter: the given one, and the resolved one if it names
// an SSM parameter.
type parameterValue struct {
	given    string
	resolved string
	hidden   bool
	list     bool
}

// value is the result of Ref.
func (p parameterValue) value() any {
	text := p.given
	if p.resolved != "" {
		text = p.resolved
	}
	if !p.list {
		return text
	}
	var list []any
	for _, item := range strings.Split(text, ",") {
		list = append(list, strings.TrimSpace(item))
	}
	return list
}

// givenParameter is a parameter of CreateStack or UpdateStack.
type givenParameter struct {
	ParameterKey     string
	ParameterValue   *string
	UsePreviousValue bool
	ResolvedValue    string
}

var ssmType = regexp.MustCompile(`^AWS::SSM::Parameter::Value<(.+)>$`)

// resolveParameters returns each declared parameter its value: the one given, the one that the
// stack had before, or the default.
func resolveParameters(ctx context.Context, t *template, given []givenParameter, previous map[string]parameterValue,
	store ParameterStore) (map[string]parameterValue, error) {
	byName := map[string]givenParameter{}
	for _, p := range given {
		if _, ok := t.Parameters[p.ParameterKey]; !ok {
			return nil, fmt.Errorf("parameters: [%s] do not exist in the template", p.ParameterKey)
		}
		byName[p.ParameterKey] = p
	}
	values := map[string]parameterValue{}
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		declared := t.Parameters[name]
		text, ok := "", false
		if p, isGiven := byName[name]; isGiven && p.UsePreviousValue {
			var old parameterValue
			if old, ok = previous[name]; !ok {
				return nil, fmt.Errorf("parameter %s has UsePreviousValue, and the stack has no value of it", name)
			}
			text = old.given
		} else if isGiven && p.ParameterValue != nil {
			text, ok = *p.ParameterValue, true
		} else if declared.Default != nil {
			if text, ok = scalarText(declared.Default); !ok {
				return nil, fmt.Errorf("parameter %s: the default %s is no string", name, describe(declared.Default))
			}
		}
		if !ok {
			missing = append(missing, name)
			continue
		}
		value, err := resolveParameter(ctx, name, declared, text, store)
		if err != nil {
			return nil, err
		}
		values[name] = value
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("parameters: [%s] must have values", strings.Join(missing, ", "))
	}
	return values, nil
}

func resolveParameter(ctx context.Context, name string, declared parameterDeclaration, text string,
	store ParameterStore) (parameterValue, error) {
	value := parameterValue{given: text, hidden: declared.hidden()}
	kind := declared.Type
	if match := ssmType.FindStringSubmatch(kind); match != nil {
		found, ok := "", false
		if store != nil {
			found, ok = store.Parameter(ctx, text)
		}
		if !ok {
			return value, fmt.Errorf("unable to fetch parameters [%s] from parameter store for this account", text)
		}
		value.resolved = found
		kind = match[1]
	}
	value.list = kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<")
	// CloudFormation checks that values of types such as AWS::EC2::VPC::Id exist. Here they are
	// plain strings.
	if kind != "String" && kind != "Number" && kind != "CommaDelimitedList" && !strings.HasPrefix(kind, "List<") &&
		!strings.HasPrefix(kind, "AWS::") {
		return value, fmt.Errorf("parameter %s has the unknown type %q", name, declared.Type)
	}
	return value, declared.check(name, kind, text)
}

// check holds a value against the constraints of its declaration.
func (d parameterDeclaration) check(name, kind, text string) error {
	if kind == "Number" {
		if err := d.checkNumber(name, text); err != nil {
			return err
		}
	}
	if low, ok := limit(d.MinLength); ok && float64(len(text)) < low {
		return d.violation(name, fmt.Sprintf("must have at least %v characters", low))
	}
	if high, ok := limit(d.MaxLength); ok && float64(len(text)) > high {
		return d.violation(name, fmt.Sprintf("must have at most %v characters", high))
	}
	if d.AllowedPattern != "" {
		pattern, err := regexp.Compile(`^(?:` + d.AllowedPattern + `)$`)
		if err != nil {
			return fmt.Errorf("parameter %s has an AllowedPattern that cannot be read: %w", name, err)
		}
		if !pattern.MatchString(text) {
			return d.violation(name, "must match the pattern "+d.AllowedPattern)
		}
	}
	if len(d.AllowedValues) > 0 && !slices.ContainsFunc(d.AllowedValues, func(allowed any) bool {
		candidate, _ := scalarText(allowed)
		return candidate == text
	}) {
		return d.violation(name, "must be one of "+describe(d.AllowedValues))
	}
	return nil
}

func (d parameterDeclaration) checkNumber(name, text string) error {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("parameter %s takes a number, not %q", name, text)
	}
	if low, ok := limit(d.MinValue); ok && number < low {
		return d.violation(name, fmt.Sprintf("must be at least %v", low))
	}
	if high, ok := limit(d.MaxValue); ok && number > high {
		return d.violation(name, fmt.Sprintf("must be at most %v", high))
	}
	return nil
}

func (d parameterDeclaration) violation(name, rule string) error {
	if d.ConstraintDescription != "" {
		rule = d.ConstraintDescription
	}
	return fmt.Errorf("parameter %q failed to satisfy constraint: %s", name, rule)
}

func limit(value any) (float64, bool) {
	text, ok := scalarText(value)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil
}
