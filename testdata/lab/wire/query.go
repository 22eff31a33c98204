package wire

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

// maxQueryDepth bounds how many dots a parameter's name may have; EC2's deepest (launch template
// data) has 8.
const maxQueryDepth = 24

// DecodeQuery fills the struct that v points to from the call's parameters. A field takes the
// parameter of its tag `query:"Filter"`, or of its own name without a tag; `query:"-"` skips it. It
// supports strings, booleans, numbers, time.Time, []byte (base64), pointers to them and nested
// structs (A.B). It supports lists of EC2's style (A.1, A.1.B) and of the member style
// (A.member.1), and maps (A.entry.1.key, A.entry.1.value). A value of the wrong type returns
// InvalidParameterValue with the parameter's full name.
func (c *Call) DecodeQuery(v any) error {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decoding the parameters of %s: the target is %T, not a pointer to a struct", c.name(), v)
	}
	root, err := parseQuery(c.Form)
	if err != nil {
		return err
	}
	return root.decodeStruct("", target.Elem())
}

// parameter is one step of dotted names: A.1.B=x is the path A, 1, B with the value x at its end.
type parameter struct {
	value    string
	set      bool
	children map[string]*parameter
}

func (p *parameter) child(name string) *parameter {
	if p.children == nil {
		p.children = map[string]*parameter{}
	}
	next, ok := p.children[name]
	if !ok {
		next = &parameter{}
		p.children[name] = next
	}
	return next
}

func parseQuery(form url.Values) (*parameter, error) {
	root := &parameter{}
	for name, values := range form {
		if len(values) == 0 {
			continue
		}
		if strings.Count(name, ".") > maxQueryDepth {
			return nil, Errorf("InvalidParameterValue", http.StatusBadRequest, "parameter %.80q is nested more than %d deep",
				name, maxQueryDepth)
		}
		at := root
		for _, step := range strings.Split(name, ".") {
			at = at.child(step)
		}
		at.value, at.set = values[0], true
	}
	return root, nil
}

var timeType = reflect.TypeFor[time.Time]()

func (p *parameter) decodeStruct(path string, target reflect.Value) error {
	for i := range target.NumField() {
		field := target.Type().Field(i)
		if field.Anonymous && field.Type.Kind() == reflect.Struct && field.Tag.Get("query") == "" {
			if err := p.decodeStruct(path, target.Field(i)); err != nil {
				return err
			}
			continue
		}
		name := field.Tag.Get("query")
		if name == "" {
			name = field.Name
		}
		if name == "-" || !field.IsExported() {
			continue
		}
		child, ok := p.children[name]
		if !ok {
			continue
		}
		full := name
		if path != "" {
			full = path + "." + name
		}
		if err := child.decode(full, target.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *parameter) decode(path string, target reflect.Value) error {
	switch {
	case target.Kind() == reflect.Pointer:
		fresh := reflect.New(target.Type().Elem())
		if err := p.decode(path, fresh.Elem()); err != nil {
			return err
		}
		target.Set(fresh)
		return nil
	case target.Type() == timeType:
		return p.decodeTime(path, target)
	case target.Kind() == reflect.Struct:
		return p.decodeStruct(path, target)
	case target.Kind() == reflect.Slice && target.Type().Elem().Kind() == reflect.Uint8:
		raw, err := base64.StdEncoding.DecodeString(p.value)
		if err != nil {
			return p.invalid(path, "base64")
		}
		target.SetBytes(raw)
		return nil
	case target.Kind() == reflect.Slice:
		return p.decodeList(path, target)
	default:
		return p.decodeScalar(path, target)
	}
}

// items returns the elements of a list in the order of their numbers, which need not be without
// gaps.
func (p *parameter) items() ([]string, []*parameter) {
	holder, prefix := p, ""
	for _, wrapper := range []string{"member", "entry"} {
		if inner, ok := p.children[wrapper]; ok {
			holder, prefix = inner, wrapper+"."
			break
		}
	}
	var numbers []int
	for name := range holder.children {
		if n, err := strconv.Atoi(name); err == nil && n >= 0 {
			numbers = append(numbers, n)
		}
	}
	sort.Ints(numbers)
	var names []string
	var found []*parameter
	for _, n := range numbers {
		if item, ok := holder.children[strconv.Itoa(n)]; ok {
			names = append(names, prefix+strconv.Itoa(n))
			found = append(found, item)
		}
	}
	return names, found
}

func (p *parameter) decodeList(path string, target reflect.Value) error {
	names, items := p.items()
	list := reflect.MakeSlice(target.Type(), len(items), len(items))
	for i, item := range items {
		if err := item.decode(path+"."+names[i], list.Index(i)); err != nil {
			return err
		}
	}
	target.Set(list)
	return nil
}

func (p *parameter) decodeTime(path string, target reflect.Value) error {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", time.RFC1123} {
		if at, err := time.Parse(layout, p.value); err == nil {
			target.Set(reflect.ValueOf(at))
			return nil
		}
	}
	// Bounded to the range in which the conversion to nanoseconds is exact enough and defined.
	if seconds, err := strconv.ParseFloat(p.value, 64); err == nil && math.Abs(seconds) < 1e11 {
		whole, fraction := math.Modf(seconds)
		target.Set(reflect.ValueOf(time.Unix(int64(whole), int64(fraction*1e9)).UTC()))
		return nil
	}
	return p.invalid(path, "a time such as 2006-01-02T15:04:05Z")
}

func (p *parameter) decodeScalar(path string, target reflect.Value) error {
	if !p.set && len(p.children) > 0 {
		return Errorf("InvalidParameterValue", http.StatusBadRequest,
			"parameter %s takes one value, not a structure or a list", path)
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(p.value)
	case reflect.Bool:
		flag, err := strconv.ParseBool(strings.ToLower(p.value))
		if err != nil {
			return p.invalid(path, "true or false")
		}
		target.SetBool(flag)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(p.value, 10, target.Type().Bits())
		if err != nil {
			return p.invalid(path, "a whole number")
		}
		target.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(p.value, 10, target.Type().Bits())
		if err != nil {
			return p.invalid(path, "a whole number of at least 0")
		}
		target.SetUint(n)
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(p.value, target.Type().Bits())
		if err != nil {
			return p.invalid(path, "a number")
		}
		target.SetFloat(n)
	default:
		return fmt.Errorf("parameter %s: a field of type %s cannot be decoded", path, target.Type())
	}
	return nil
}

func (p *parameter) invalid(path, want string) *Error {
	return Errorf("InvalidParameterValue", http.StatusBadRequest, "value %.200q of parameter %s is invalid: it takes %s",
		p.value, path, want)
}
