package apiserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// marshaler is a built-in object in Protocol Buffers.
type marshaler interface{ Marshal() ([]byte, error) }

// magic begins every answer in Protocol Buffers.
const magic = "k8s\x00"

// envelope adds to an encoded object its kind.
func envelope(apiVersion, kind string, encoded []byte) ([]byte, error) {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: encoded}
	whole := make([]byte, len(magic)+unknown.Size())
	_, err := unknown.MarshalTo(whole[copy(whole, magic):])
	return whole, err
}

// encodeObject answers with one object.
func encodeObject(accept string, status int, object *Object) (*http.Response, error) {
	if _, builtIn := object.Typed.(marshaler); !builtIn || object.Kind.Custom || !acceptsProtobuf(accept) {
		return respond(status, "application/json", object.json), nil
	}
	encoded, err := object.protobufItem(false)
	if err != nil {
		return nil, err
	}
	whole, err := envelope(object.Kind.apiVersion(), object.Kind.Name, encoded)
	return respond(status, protobufType, whole), err
}

// encodeList answers with a list, in the form that the client accepts.
func encodeList(accept string, kind *Kind, objects []*Object, version uint64, next string) (*http.Response, error) {
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10), Continue: next}
	asMetadata := strings.Contains(accept, "as=PartialObjectMetadataList")
	if acceptsProtobuf(accept) && (asMetadata || !kind.Custom) {
		return encodeProtobufList(kind, objects, meta, asMetadata)
	}
	return encodeJSONList(kind, objects, meta)
}

// encodeJSONList writes a list of what is encoded already.
func encodeJSONList(kind *Kind, objects []*Object, meta metav1.ListMeta) (*http.Response, error) {
	head, err := json.Marshal(map[string]any{
		"kind": kind.Name + "List", "apiVersion": kind.apiVersion(), "metadata": meta,
	})
	if err != nil {
		return nil, err
	}
	size := len(head) + 16
	items := make([][]byte, len(objects))
	for i, object := range objects {
		if items[i], err = object.jsonItem(); err != nil {
			return nil, err
		}
		size += len(items[i]) + 1
	}
	var list bytes.Buffer
	list.Grow(size)
	list.Write(head[:len(head)-1])
	list.WriteString(`,"items":[`)
	for i, item := range items {
		if i > 0 {
			list.WriteByte(',')
		}
		list.Write(item)
	}
	list.WriteString("]}")
	return respond(http.StatusOK, "application/json", list.Bytes()), nil
}

// jsonItem is the object in a list. The list says the kind of built-in objects.
func (o *Object) jsonItem() (item []byte, err error) {
	if o.Kind.Custom {
		return o.json, nil
	}
	if o.item == nil {
		raw := maps.Clone(o.raw)
		delete(raw, "kind")
		delete(raw, "apiVersion")
		o.item, err = json.Marshal(raw)
	}
	return o.item, err
}

// encodeProtobufList writes a list whose field 1 is its metadata and whose fields 2 are its items, which
// holds for the lists of all kinds.
func encodeProtobufList(kind *Kind, objects []*Object, meta metav1.ListMeta, asMetadata bool) (*http.Response, error) {
	encoded, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	size := len(encoded) + mostHead
	items := make([][]byte, len(objects))
	for i, object := range objects {
		if items[i], err = object.protobufItem(asMetadata); err != nil {
			return nil, err
		}
		size += len(items[i]) + mostHead
	}
	var list bytes.Buffer
	list.Grow(size)
	field(&list, 1, encoded)
	for _, item := range items {
		field(&list, 2, item)
	}
	apiVersion, name := kind.apiVersion(), kind.Name+"List"
	if asMetadata {
		apiVersion, name = "meta.k8s.io/v1", "PartialObjectMetadataList"
	}
	whole, err := envelope(apiVersion, name, list.Bytes())
	return respond(http.StatusOK, protobufType, whole), err
}

// protobufItem is the object in a list, or its metadata alone.
func (o *Object) protobufItem(asMetadata bool) (item []byte, err error) {
	kept := &o.protobuf
	if asMetadata {
		kept = &o.metadata
	}
	if *kept != nil {
		return *kept, nil
	}
	if asMetadata {
		*kept, err = metadataObject(o).Marshal()
		return *kept, err
	}
	typed, _ := o.Typed.(marshaler)
	*kept, err = typed.Marshal()
	return *kept, err
}

// metadataObject is the metadata of an object as an object.
func metadataObject(object *Object) *metav1.PartialObjectMetadata {
	partial := &metav1.PartialObjectMetadata{}
	partial.APIVersion, partial.Kind = "meta.k8s.io/v1", "PartialObjectMetadata"
	meta := struct {
		Metadata *metav1.ObjectMeta `json:"metadata"`
	}{&partial.ObjectMeta}
	if err := json.Unmarshal(object.json, &meta); err != nil {
		panic(err) // the store has decoded it before
	}
	return partial
}

// mostHead is how many bytes the head of a field may have.
const mostHead = 11

// field writes a field of bytes.
func field(into *bytes.Buffer, number int, content []byte) {
	into.WriteByte(byte(number<<3 | 2))
	for length := uint64(len(content)); ; length >>= 7 {
		if length < 0x80 {
			into.WriteByte(byte(length))
			break
		}
		into.WriteByte(byte(length) | 0x80)
	}
	into.Write(content)
}
