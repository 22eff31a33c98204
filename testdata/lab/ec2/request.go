package ec2

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// decode reads the request's form into a structure and refuses parameters that the structure does
// not have.
func decode(c *wire.Call, in any) error {
	for _, name := range slices.Sorted(maps.Keys(c.Form)) {
		switch name {
		case "Action", "Version", "DryRun":
			continue
		}
		if !takes(reflect.TypeOf(in).Elem(), strings.Split(name, ".")) {
			return refuse(codeUnknownParameter, "The parameter %s is not recognized by the local EC2's %s", name, c.Action)
		}
	}
	return c.DecodeQuery(in)
}

// takes reports whether a parameter's path, such as Filter.1.Value.2, leads to something that can
// hold it in a type with query tags.
func takes(t reflect.Type, path []string) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return takes(t.Elem(), path)
	case reflect.Slice:
		if len(path) == 0 { // how some clients say that a list is empty
			return true
		}
		n, err := strconv.Atoi(path[0])
		return err == nil && n > 0 && takes(t.Elem(), path[1:])
	case reflect.Struct:
		if len(path) == 0 || t == reflect.TypeFor[time.Time]() {
			return len(path) == 0
		}
		for i := range t.NumField() {
			if t.Field(i).Anonymous && takes(t.Field(i).Type, path) {
				return true
			}
			if t.Field(i).Tag.Get("query") == path[0] {
				return takes(t.Field(i).Type, path[1:])
			}
		}
		return false
	default:
		return len(path) == 0
	}
}
