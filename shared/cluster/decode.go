package cluster

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// A definition in the cluster may allow values that its Go type does not: a duration of a thousand
// years, or a quantity such as 1e1.5. One such object must not hide the others of its list. It must
// not seem absent either, because its nodes would then be nobody's. So only the fields are lost
// that cannot be read.

// mostDepth bounds how deep the fields of an object are read one by one.
const mostDepth = 16

// decode reads an object or a list. Of the kinds that people write it reads what can be read.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if err == nil {
		return nil
	}
	switch typed := into.(type) {
	case *api.NodePoolList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.EC2NodeClassList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.NodeClaimList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.NodeOverlayList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.CapacityBufferList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.CapacityQuotaList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.ProvisioningRequestList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.PodGroupList:
		return decodeItems(body, &typed.ListMeta, &typed.Items)
	case *api.NodeClaim:
		*typed = api.NodeClaim{}
		return decodeObject(body, typed)
	case *api.EC2NodeClass:
		*typed = api.EC2NodeClass{}
		return decodeObject(body, typed)
	}
	return err
}

// decodeItems reads the items of a list one by one. The error is that of a body that is no list.
func decodeItems[T any](body []byte, meta *metav1.ListMeta, items *[]T) error {
	listed, encoded, err := itemsOf(body)
	if err != nil {
		return err
	}
	*meta, *items = listed, make([]T, len(encoded))
	for i, raw := range encoded {
		item := new(T)
		if json.Unmarshal(raw, item) != nil {
			item = new(T)
			if err := decodeObject(raw, item); err != nil {
				return err
			}
		}
		(*items)[i] = *item
	}
	return nil
}

// itemsOf returns the metadata of a list, and its items as they are. The error is that of a body that
// is no list.
func itemsOf(body []byte) (metav1.ListMeta, []json.RawMessage, error) {
	var list struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	err := json.Unmarshal(body, &list)
	return list.Metadata, list.Items, err
}

// decodeObject reads the fields of an object that can be read, and notes the others on it. It logs
// them for the kinds that have no condition for them. The error is that of a body that is no
// object, or of one without a name.
func decodeObject(body []byte, into any) error {
	var object struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &object); err != nil {
		return err
	}
	if object.Metadata.Name == "" {
		return errors.New("an object without metadata.name")
	}
	unreadable := map[string]string{}
	readable := withoutUnreadable(nil, body, reflect.TypeOf(into).Elem(), unreadable)
	if err := json.Unmarshal(readable, into); err != nil {
		return err
	}
	if kind, notes := into.(interface{ SetUnreadable(map[string]string) }); notes {
		kind.SetUnreadable(unreadable)
		return nil
	}
	slog.Warn("an object has fields that cannot be read, and counts without them", "kind", object.Kind,
		"namespace", object.Metadata.Namespace, "name", object.Metadata.Name, "fields", api.UnreadableText(unreadable))
	return nil
}

// withoutUnreadable is the value of the field at the path without what an object of the kind cannot
// take, which it notes. It is nil for a value of which nothing is left.
func withoutUnreadable(
	path []string, value json.RawMessage, kind reflect.Type, unreadable map[string]string,
) json.RawMessage {
	err := json.Unmarshal(nested(path, value), reflect.New(kind).Interface())
	if err == nil {
		return value
	}
	var fields map[string]json.RawMessage
	if len(path) >= mostDepth || json.Unmarshal(value, &fields) != nil || len(fields) == 0 {
		unreadable[strings.Join(path, ".")] = err.Error()
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if left := withoutUnreadable(append(slices.Clone(path), name), fields[name], kind, unreadable); left != nil {
			fields[name] = left
		} else {
			delete(fields, name)
		}
	}
	left, _ := json.Marshal(fields) // raw values never fail
	return left
}

// nested is the value as the field at the path of an object.
func nested(path []string, value []byte) []byte {
	for _, name := range slices.Backward(path) {
		key, _ := json.Marshal(name) // a string never fails
		value = slices.Concat([]byte("{"), key, []byte(":"), value, []byte("}"))
	}
	return value
}
