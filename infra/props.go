package infra

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// propName is the property of WhittleProps for a setting: dryRun has DryRun.
func propName(key string) string { return strings.ToUpper(key[:1]) + key[1:] }

// stackOnly reports whether a setting is about the stack around the construct, so that the construct
// has no property for it.
func stackOnly(key string) bool { return key == "tags" || key == "terminationProtection" }

// value returns a property in the form of a setting's value: text, true or false, a number, a list or
// a map. It is nil for a property without a value.
func (p *WhittleProps) value(key string) any {
	if stackOnly(key) {
		return nil
	}
	field := reflect.ValueOf(p).Elem().FieldByName(propName(key))
	if field.Kind() == reflect.String { // one of the package's own types of words
		if field.String() == "" {
			return nil
		}
		return field.String()
	}
	if field.IsNil() {
		return nil
	}
	if duration, ok := field.Interface().(awscdk.Duration); ok {
		return (time.Duration(*duration.ToMilliseconds(nil)) * time.Millisecond).String()
	}
	switch given := field.Elem(); given.Kind() {
	case reflect.Slice:
		items := []any{}
		for i := range given.Len() {
			items = append(items, given.Index(i).Elem().Interface())
		}
		return items
	case reflect.Map:
		items := map[string]any{}
		for _, name := range given.MapKeys() {
			items[name.String()] = given.MapIndex(name).Elem().Interface()
		}
		return items
	default:
		return given.Interface()
	}
}

// put writes a checked value of a setting into its property.
func (p *WhittleProps) put(key string, value any) error {
	if stackOnly(key) {
		return nil
	}
	made, err := asProperty(reflect.ValueOf(p).Elem().FieldByName(propName(key)).Interface(), value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	field := reflect.ValueOf(p).Elem().FieldByName(propName(key))
	if field.Kind() == reflect.String {
		field.SetString(made.(string))
		return nil
	}
	if field.Kind() == reflect.Interface {
		duration, err := time.ParseDuration(made.(string))
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		made = awscdk.Duration_Millis(jsii.Number(float64(duration.Milliseconds())))
	}
	field.Set(reflect.ValueOf(made))
	return nil
}

// asProperty converts a setting's value to the type of a property, whose present value is of no
// interest. Words and durations are returned as text.
func asProperty(property, value any) (any, error) {
	switch property.(type) {
	case *bool:
		on, err := truth(value)
		return &on, err
	case *float64:
		number, err := strconv.ParseFloat(sprint(value), 64)
		return &number, err
	case *[]*string:
		items, err := list(value)
		return jsii.Strings(items...), err
	case *map[string]*float64:
		items, err := pairs(value)
		if err != nil {
			return nil, err
		}
		numbers := map[string]*float64{}
		for name, item := range items {
			number, err := strconv.ParseFloat(sprint(item), 64)
			if err != nil {
				return nil, err
			}
			numbers[name] = &number
		}
		return &numbers, nil
	case *string:
		written, err := asText(value)
		return &written, err
	}
	if value == false {
		return "off", nil // as YAML reads off
	}
	return sprint(value), nil
}

// asText returns a text as it is, and anything else in JSON.
func asText(value any) (string, error) {
	if given, ok := value.(string); ok {
		return given, nil
	}
	written, err := json.Marshal(value)
	return string(written), err
}

// configure reads and checks properties. An error names the property and shows a correct value.
func configure(p *WhittleProps) (configuration, clusterConfiguration, error) {
	stack, one := configuration{architecture: defaultArchitecture}, clusterConfiguration{}
	if p == nil || p.ClusterName == nil || *p.ClusterName == "" {
		return stack, one, fmt.Errorf("WhittleProps.ClusterName is missing: give the name of the EKS cluster")
	}
	name := *p.ClusterName
	if isToken(name) {
		return stack, one, fmt.Errorf("WhittleProps.ClusterName is known at the deployment only, and names and rights " +
			"contain it: give the name of the EKS cluster as text")
	}
	if err := checkClusterNames([]string{name}); err != nil {
		return stack, one, fmt.Errorf("WhittleProps.ClusterName: %w", err)
	}
	one = clusterDefaults(name)
	if err := readProps(p, stackSettings(), &stack); err != nil {
		return stack, one, err
	}
	if err := readProps(p, clusterSettings(), &one); err != nil {
		return stack, one, err
	}
	if err := one.check(); err != nil {
		return stack, one, fmt.Errorf("WhittleProps of the cluster %q: %w", name, err)
	}
	if stack.release == "" && stack.functions == "" {
		return stack, one, fmt.Errorf("WhittleProps.Release is missing: give the folder of a release, such as " +
			"build/release/0.9.0, or that of built functions as Functions")
	}
	if err := stack.build(); err != nil {
		return stack, one, fmt.Errorf("WhittleProps of the cluster %q: %w", name, err)
	}
	return stack, one, nil
}

// readProps reads the properties of settings.
func readProps[C any](p *WhittleProps, settings []setting[C], into *C) error {
	for _, s := range settings {
		value := p.value(s.key)
		if value == nil || value == "" {
			continue
		}
		if err := s.set(into, value); err != nil {
			return fmt.Errorf("WhittleProps.%s: %w: an example is %s", propName(s.key), err, s.example)
		}
	}
	return nil
}
