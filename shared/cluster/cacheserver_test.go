package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/shared/api"
)

// versioned is a fake API server for the three kinds that a Cache keeps. It has pages of 64 objects,
// knows each earlier version, and fails as its fields say. Its resourceVersions are numbers.
type versioned struct {
	mutex   sync.Mutex
	version int
	objects []metav1.ObjectMeta // of the version, by key
	history map[int][]metav1.ObjectMeta

	// requests are the forms of the requests: list, identities, object.
	requests []string
	// listed is the version of the last list's beginning, of any form.
	listed int
	// meanwhile is called before each request, one at a time.
	meanwhile func()
	between   sync.Mutex
	// full gives the objects specs and statuses of a usual size.
	full bool
	// spoil may replace the answer to a request of a form; nil leaves it.
	spoil func(form string, request *http.Request) (*http.Response, error)
}

func newVersioned(count int, namespaces ...string) *versioned {
	s := &versioned{version: 1000, history: map[int][]metav1.ObjectMeta{}}
	for i := range count {
		s.set(namespaces[i%len(namespaces)], fmt.Sprintf("object-%d", i), "first")
	}
	return s
}

// size makes an object about as large as a real one.
var size = strings.Repeat("size", 1000)

// key is the place of an object in etcd.
func key(meta *metav1.ObjectMeta) string { return meta.Namespace + "/" + meta.Name }

// change makes a new version.
func (s *versioned) change(change func(objects []metav1.ObjectMeta, version string) []metav1.ObjectMeta) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.version++
	s.objects = change(slices.Clone(s.objects), strconv.Itoa(s.version))
	s.history[s.version] = s.objects
}

// set creates or updates an object.
func (s *versioned) set(namespace, name, content string) {
	s.change(func(objects []metav1.ObjectMeta, version string) []metav1.ObjectMeta {
		made := metav1.ObjectMeta{
			Namespace: namespace, Name: name, ResourceVersion: version, Labels: map[string]string{"content": content},
			Annotations: map[string]string{"size": size},
		}
		at, is := slices.BinarySearchFunc(objects, key(&made), func(o metav1.ObjectMeta, wanted string) int {
			return strings.Compare(key(&o), wanted)
		})
		if !is {
			return slices.Insert(objects, at, made)
		}
		objects[at] = made
		return objects
	})
}

func (s *versioned) remove(at int) {
	s.change(func(objects []metav1.ObjectMeta, _ string) []metav1.ObjectMeta {
		return slices.Delete(objects, at, at+1)
	})
}

// at returns the objects at a version, by key, as "resourceVersion content".
func (s *versioned) at(version int) map[string]string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return described(s.history[version], func(meta *metav1.ObjectMeta) *metav1.ObjectMeta { return meta })
}

// present returns the objects as they are, and now their version.
func (s *versioned) present() []metav1.ObjectMeta {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.objects
}

func (s *versioned) now() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.version
}

// described returns the objects by key, as "resourceVersion content".
func described[T any](objects []T, meta func(*T) *metav1.ObjectMeta) map[string]string {
	found := map[string]string{}
	for i := range objects {
		meta := meta(&objects[i])
		found[key(meta)] = meta.ResourceVersion + " " + meta.Labels["content"]
	}
	return found
}

// forms returns the requests since the last call.
func (s *versioned) forms() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	slices.Sort(s.requests)
	forms := strings.Join(slices.Compact(s.requests), " ")
	s.requests = nil
	return forms
}

func (s *versioned) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.meanwhile != nil {
		s.between.Lock()
		s.meanwhile()
		s.between.Unlock()
	}
	query, form := request.URL.Query(), formOf(request)
	s.mutex.Lock()
	s.requests = append(s.requests, form)
	spoil := s.spoil
	s.mutex.Unlock()
	if spoil != nil {
		if response, err := spoil(form, request); response != nil || err != nil {
			return response, err
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if form == "object" {
		return s.object(request)
	}
	version, from := s.version, 0
	if token := query.Get("continue"); token == "" {
		s.listed = version
	} else if _, err := fmt.Sscanf(token, "%d:%d", &version, &from); err != nil {
		return nil, err
	}
	objects := s.history[version]
	meta := metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}
	to := min(from+64, len(objects))
	if to < len(objects) {
		meta.Continue = fmt.Sprintf("%d:%d", version, to)
	}
	if s.full {
		return encodeFull(request.URL.Path, form, meta, objects[from:to])
	}
	return encode(request.URL.Path, form, meta, objects[from:to])
}

// formOf is the form of a request: list, identities or object.
func formOf(request *http.Request) string {
	switch {
	case strings.Contains(request.Header.Get("Accept"), "PartialObjectMetadataList"):
		return "identities"
	case request.URL.Query().Has("fieldSelector"):
		return "object"
	}
	return "list"
}

// object answers a list of one object at an exact version, below its namespace.
func (s *versioned) object(request *http.Request) (*http.Response, error) {
	query, namespace, path := request.URL.Query(), "", request.URL.Path
	if parts := strings.Split(path, "/"); len(parts) == 6 && parts[3] == "namespaces" {
		namespace, path = parts[4], "/api/v1/"+parts[5]
	}
	version, err := strconv.Atoi(query.Get("resourceVersion"))
	if err != nil || query.Get("resourceVersionMatch") != "Exact" {
		return nil, fmt.Errorf("an object is read with the parameters %v", query)
	}
	name := strings.TrimPrefix(query.Get("fieldSelector"), "metadata.name=")
	objects := slices.DeleteFunc(slices.Clone(s.history[version]), func(meta metav1.ObjectMeta) bool {
		return meta.Namespace != namespace || meta.Name != name
	})
	return encode(path, "object", metav1.ListMeta{ResourceVersion: query.Get("resourceVersion")}, objects)
}

// encode is the answer with a list of the path's kind.
func encode(path, form string, meta metav1.ListMeta, objects []metav1.ObjectMeta) (*http.Response, error) {
	return encodeWith(path, form, meta, objects, corev1.Pod{}, corev1.Node{}, api.NodeClaim{})
}

// encodeFull is encode, with specs and statuses of a usual size.
func encodeFull(path, form string, meta metav1.ListMeta, objects []metav1.ObjectMeta) (*http.Response, error) {
	amounts := corev1.ResourceList{
		"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("58"),
		"ephemeral-storage": resource.MustParse("20Gi"), "hugepages-1Gi": resource.MustParse("0"),
	}
	pod := corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "shop:1", Resources: corev1.ResourceRequirements{Requests: amounts}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: make([]corev1.PodCondition, 2)},
	}
	node := corev1.Node{Status: corev1.NodeStatus{
		Capacity: amounts, Allocatable: amounts, Conditions: make([]corev1.NodeCondition, 5),
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
		NodeInfo:  corev1.NodeSystemInfo{KubeletVersion: "v1.36.0", OSImage: "Bottlerocket OS", Architecture: "arm64"},
	}}
	claim := api.NodeClaim{Status: api.NodeClaimStatus{
		Capacity: amounts, Allocatable: amounts, Conditions: make([]metav1.Condition, 7),
	}}
	types := api.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn,
	}
	for i := range 60 {
		types.Values = append(types.Values, fmt.Sprintf("c%dg.%dxlarge", i%4+5, i))
	}
	claim.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{types}
	return encodeWith(path, form, meta, objects, pod, node, claim)
}

func encodeWith(path, form string, meta metav1.ListMeta, objects []metav1.ObjectMeta,
	pod corev1.Pod, node corev1.Node, claim api.NodeClaim,
) (*http.Response, error) {
	if form == "identities" {
		list := &metav1.PartialObjectMetadataList{ListMeta: meta}
		for _, object := range objects {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: object})
		}
		return protobuf("PartialObjectMetadataList", list)
	}
	switch path {
	case "/api/v1/pods":
		list := &corev1.PodList{ListMeta: meta}
		for _, pod.ObjectMeta = range objects {
			list.Items = append(list.Items, pod)
		}
		return protobuf("PodList", list)
	case "/api/v1/nodes":
		list := &corev1.NodeList{ListMeta: meta}
		for _, node.ObjectMeta = range objects {
			list.Items = append(list.Items, node)
		}
		return protobuf("NodeList", list)
	case "/apis/karpenter.sh/v1/nodeclaims":
		list := &api.NodeClaimList{ListMeta: meta}
		for _, claim.ObjectMeta = range objects {
			list.Items = append(list.Items, claim)
		}
		body, err := json.Marshal(list)
		return answer(http.StatusOK, string(body)), err
	}
	return nil, errors.New("the fake API server does not know " + path)
}

// protobuf is an answer in Protocol Buffers.
func protobuf(kind string, list interface{ Marshal() ([]byte, error) }) (*http.Response, error) {
	raw, err := list.Marshal()
	if err != nil {
		return nil, err
	}
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	body, err := envelope.Marshal()
	response := answer(http.StatusOK, "k8s\x00"+string(body))
	response.Header.Set("Content-Type", runtime.ContentTypeProtobuf)
	return response, err
}

// cut is an answer whose connection breaks in the middle.
func cut(response *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(io.MultiReader(
		strings.NewReader(string(body[:len(body)/2])), broken{}))
	return response, err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// expired is the answer for a version that the API server has forgotten.
func expired() *http.Response {
	return answer(http.StatusGone, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
}

// objectsOf returns what the client lists of the kind, like described.
func objectsOf(t *testing.T, list lister) map[string]string {
	t.Helper()
	found, err := list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}
