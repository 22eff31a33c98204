package cloudformation

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Decode fills v, a pointer to a struct with json tags, from resolved properties. CloudFormation
// carries numbers and booleans as strings as well, and strings as numbers: both are accepted for
// each other. A property that v has no field for is an error that names it, so that nothing in a
// template is ignored silently.
func Decode(properties map[string]any, v any) error {
	target := reflect.TypeOf(v)
	if target == nil || target.Kind() != reflect.Pointer || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decoding properties: the target is %T, not a pointer to a struct", v)
	}
	shaped, err := shape(properties, target.Elem(), "")
	if err != nil {
		return err
	}
	text, err := json.Marshal(shaped)
	if err != nil {
		return fmt.Errorf("decoding properties: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("decoding properties: %w", err)
	}
	return nil
}

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

// shape bends a value toward a type: it converts scalars where CloudFormation is lax and refuses
// unknown properties.
func shape(value any, target reflect.Type, path string) (any, error) {
	for target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	if value == nil || reflect.PointerTo(target).Implements(unmarshalerType) {
		return value, nil
	}
	switch target.Kind() {
	case reflect.Struct:
		return shapeStruct(value, target, path)
	case reflect.Slice, reflect.Array:
		return shapeList(value, target, path)
	case reflect.Map:
		return shapeMap(value, target, path)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return shapeScalar(value, target, path)
	default:
		return value, nil
	}
}

func shapeStruct(value any, target reflect.Type, path string) (any, error) {
	given, ok := value.(map[string]any)
	if !ok {
		return nil, wrongType(path, "an object", value)
	}
	fields := map[string]reflect.Type{}
	collectFields(target, fields)
	result := make(map[string]any, len(given))
	for name, inner := range given {
		field, ok := fields[name]
		if !ok {
			return nil, fmt.Errorf("property %s is not simulated by the local AWS", join(path, name))
		}
		shaped, err := shape(inner, field, join(path, name))
		if err != nil {
			return nil, err
		}
		result[name] = shaped
	}
	return result, nil
}

func collectFields(target reflect.Type, fields map[string]reflect.Type) {
	for i := range target.NumField() {
		field := target.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			collectFields(field.Type, fields)
			continue
		}
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		fields[name] = field.Type
	}
}

func shapeList(value any, target reflect.Type, path string) (any, error) {
	if text, ok := value.(string); ok && target.Elem().Kind() == reflect.Uint8 {
		return text, nil
	}
	given, ok := value.([]any)
	if !ok {
		return nil, wrongType(path, "a list", value)
	}
	result := make([]any, len(given))
	for i, inner := range given {
		shaped, err := shape(inner, target.Elem(), fmt.Sprintf("%s[%d]", path, i))
		if err != nil {
			return nil, err
		}
		result[i] = shaped
	}
	return result, nil
}

func shapeMap(value any, target reflect.Type, path string) (any, error) {
	given, ok := value.(map[string]any)
	if !ok {
		return nil, wrongType(path, "an object", value)
	}
	result := make(map[string]any, len(given))
	for name, inner := range given {
		shaped, err := shape(inner, target.Elem(), join(path, name))
		if err != nil {
			return nil, err
		}
		result[name] = shaped
	}
	return result, nil
}

func shapeScalar(value any, target reflect.Type, path string) (any, error) {
	switch target.Kind() {
	case reflect.String:
		if text, ok := scalarText(value); ok {
			return text, nil
		}
		return nil, wrongType(path, "a string", value)
	case reflect.Bool:
		if text, ok := scalarText(value); ok {
			if flag, err := strconv.ParseBool(text); err == nil {
				return flag, nil
			}
		}
		return nil, wrongType(path, "true or false", value)
	default:
		if text, ok := scalarText(value); ok {
			if _, err := strconv.ParseFloat(text, 64); err == nil {
				return json.Number(text), nil
			}
		}
		return nil, wrongType(path, "a number", value)
	}
}

// scalarText returns the text of a JSON scalar as CloudFormation would write it into a string.
func scalarText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return v.String(), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case int:
		return strconv.Itoa(v), true
	default:
		return "", false
	}
}

func wrongType(path, want string, got any) error {
	return fmt.Errorf("property %s takes %s, not %s", path, want, describe(got))
}

// describe names a JSON value in a message, shortened.
func describe(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	if len(text) > 80 {
		return string(text[:80]) + "..."
	}
	return string(text)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
