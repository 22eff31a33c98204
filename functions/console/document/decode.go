package document

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	kubernetesjson "sigs.k8s.io/json"

	"github.com/whittle-dev/whittle/shared/nearest"
)

// Problem is a fault of a field.
type Problem struct {
	Path Path
	// Text says what is wrong, and what would be right.
	Text string
	// Near is the field that was probably meant by an unknown one; empty where none is near.
	Near string
}

// Invalid are values that an object cannot have. The object then has all others.
type Invalid struct {
	// Paths are those of the values.
	Paths []Path
	errs  []error
}

func (i *Invalid) Error() string { return errors.Join(i.errs...).Error() }

// Unwrap returns one error for each value.
func (i *Invalid) Unwrap() []error { return i.errs }

// Decode reads the document into the object that into points to. As in the API server, field names
// are case-sensitive. unknown lists the fields that the object does not have. The error is *Invalid, with
// one error for each invalid value, or that of an unreadable document; each has file, line, what and the
// field.
func (d *Document) Decode(into any, what string) (unknown []Problem, err error) {
	return d.decode(into, what, func() ([]error, error) {
		return kubernetesjson.UnmarshalStrict(d.JSON, into, kubernetesjson.DisallowUnknownFields)
	}, false)
}

// DecodeFold is Decode for formats that Go programs read with the standard library. Field names are
// case-insensitive, and it ignores unknown fields.
func (d *Document) DecodeFold(into any, what string) error {
	_, err := d.decode(into, what, func() ([]error, error) { return nil, json.Unmarshal(d.JSON, into) }, true)
	return err
}

func (d *Document) decode(into any, what string, unmarshal func() ([]error, error), fold bool) (
	unknown []Problem, err error,
) {
	strict, err := unmarshal()
	if err == nil && len(strict) == 0 {
		return nil, nil
	}
	var value any
	if problem := kubernetesjson.UnmarshalCaseSensitivePreserveInts(d.JSON, &value); problem != nil {
		return nil, d.Errorf(nil, "%s: %w", what, problem)
	}
	found := &diagnosis{fold: fold}
	found.value(value, reflect.TypeOf(into).Elem(), nil)
	if err == nil {
		return found.unknown, nil
	}
	if len(found.wrong) == 0 {
		return nil, d.Errorf(nil, "%s: %w", what, err)
	}
	wrong := &Invalid{}
	for _, problem := range found.wrong {
		wrong.Paths = append(wrong.Paths, problem.Path)
		for _, read := range []string{"true", "false"} {
			if rest, ok := strings.CutPrefix(problem.Text, read+": "); ok && d.written(problem.Path) != "" {
				problem.Text = fmt.Sprintf("%s, which YAML reads as %s: %s", d.written(problem.Path), read, rest)
			}
		}
		if len(problem.Path) == 0 {
			wrong.errs = append(wrong.errs, d.Errorf(nil, "%s: %s", what, problem.Text))
			continue
		}
		wrong.errs = append(wrong.errs, d.Errorf(problem.Path, "%s: %s: %s", what, problem.Path, problem.Text))
		remove(value, problem.Path)
	}
	// What is left has no invalid value, so that the other fields can be checked too.
	if text, err := json.Marshal(value); err == nil {
		reflect.ValueOf(into).Elem().SetZero()
		_ = kubernetesjson.UnmarshalCaseSensitivePreserveInts(text, into)
	}
	return found.unknown, wrong
}

// remove takes a value out of an object. An entry of a list becomes null, because its neighbours keep their
// places.
func remove(object any, path Path) {
	for i, step := range path {
		last := i == len(path)-1
		switch step := step.(type) {
		case string:
			fields, _ := object.(map[string]any)
			if last {
				delete(fields, step)
			}
			object = fields[step]
		case int:
			entries, _ := object.([]any)
			if step >= len(entries) {
				return
			}
			if last {
				entries[step] = nil
			}
			object = entries[step]
		}
	}
}

// diagnosis compares a value with its target type. Decoders do not name the entry of a list, or a
// quantity's field.
type diagnosis struct {
	fold           bool
	wrong, unknown []Problem
}

func (d *diagnosis) wrongf(path Path, format string, arguments ...any) {
	d.wrong = append(d.wrong, Problem{Path: path, Text: fmt.Sprintf(format, arguments...)})
}

func (d *diagnosis) value(value any, typ reflect.Type, path Path) {
	if value == nil {
		return
	}
	if typ.Kind() == reflect.Pointer {
		d.value(value, typ.Elem(), path)
		return
	}
	if decoded := reflect.New(typ).Interface(); decodesItself(decoded) {
		text, err := json.Marshal(value)
		if err == nil {
			err = json.Unmarshal(text, decoded)
		}
		switch {
		case err == nil:
		case typ == reflect.TypeFor[resource.Quantity]():
			d.wrongf(path, "%s: want a quantity%s", show(value), suggested(value))
		default:
			d.wrongf(path, "%s: %s", show(value), strings.TrimPrefix(err.Error(), "json: "))
		}
		return
	}
	switch typ.Kind() {
	case reflect.Struct:
		d.object(value, typ, path)
	case reflect.Map:
		entries, ok := value.(map[string]any)
		if !ok {
			d.wrongf(path, "%s: want an object", show(value))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			d.value(entries[key], typ.Elem(), path.With(key))
		}
	case reflect.Slice, reflect.Array:
		d.list(value, typ, path)
	default:
		if want := scalar(value, typ); want != "" {
			d.wrongf(path, "%s: want %s", show(value), want)
		}
	}
}

// suggested is the quantity that a text means most likely.
func suggested(value any) string {
	text, _ := value.(string)
	text = strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), ",", ".")
	for _, candidate := range []string{text, strings.TrimSuffix(strings.TrimSuffix(text, "B"), "b") + "i",
		strings.TrimSuffix(strings.TrimSuffix(text, "B"), "b"), strings.TrimSuffix(text, "iB") + "i"} {
		if quantity, err := resource.ParseQuantity(candidate); err == nil && text != "" {
			return " such as " + quantity.String()
		}
	}
	return ", such as 500m, 2 or 8Gi"
}

func decodesItself(value any) bool {
	switch value.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return true
	}
	return false
}

func (d *diagnosis) object(value any, typ reflect.Type, path Path) {
	entries, ok := value.(map[string]any)
	if !ok {
		d.wrongf(path, "%s: want an object", show(value))
		return
	}
	known := map[string]reflect.Type{}
	addFields(known, typ)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		field, ok := known[key]
		if !ok && d.fold {
			for name := range known {
				if strings.EqualFold(name, key) {
					field, ok = known[name], true
				}
			}
		}
		if !ok {
			d.unknown = append(d.unknown, Problem{
				Path: path.With(key), Text: "there is no such field", Near: nearest.Fold(key, slices.Sorted(maps.Keys(known))),
			})
			continue
		}
		d.value(entries[key], field, path.With(key))
	}
}

// addFields adds a struct's fields by their JSON names.
func addFields(known map[string]reflect.Type, typ reflect.Type) {
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported() && !field.Anonymous:
		case name != "":
			known[name] = field.Type
		case field.Anonymous && field.Type.Kind() == reflect.Struct:
			addFields(known, field.Type)
		case field.IsExported():
			known[field.Name] = field.Type
		}
	}
}

func (d *diagnosis) list(value any, typ reflect.Type, path Path) {
	if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8 {
		text, ok := value.(string)
		if !ok {
			d.wrongf(path, "%s: want base64", show(value))
		} else if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			d.wrongf(path, "%s: want base64: %v", show(value), err)
		}
		return
	}
	entries, ok := value.([]any)
	if !ok {
		d.wrongf(path, "%s: want a list", show(value))
		return
	}
	for i, entry := range entries {
		d.value(entry, typ.Elem(), path.With(i))
	}
}

// scalar returns what a field of the type expects, or "" if the value is valid.
func scalar(value any, typ reflect.Type) string {
	switch typ.Kind() {
	case reflect.String:
		if _, ok := value.(string); !ok {
			return "text: put it in quotes"
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			return "true or false"
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return whole(value, typ)
	case reflect.Float32, reflect.Float64:
		switch value.(type) {
		case int64, float64:
		default:
			return "a number"
		}
	}
	return ""
}

// whole returns what a field of an integer type expects, or "" if the value is valid.
func whole(value any, typ reflect.Type) string {
	n, ok := value.(int64)
	if f, isFloat := value.(float64); isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		n, ok = int64(f), true
	}
	unsigned := typ.Kind() >= reflect.Uint && typ.Kind() <= reflect.Uint64
	switch {
	case !ok:
		return "a whole number"
	case unsigned && n < 0:
		return "a whole number of zero or more"
	case unsigned && reflect.Zero(typ).OverflowUint(uint64(n)), !unsigned && reflect.Zero(typ).OverflowInt(n):
		return "a smaller number"
	}
	return ""
}

// show formats a value for a message.
func show(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprint(value)
}
