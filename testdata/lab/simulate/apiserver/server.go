package apiserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Server is one of the API servers of a cluster. Its watch cache lags behind the store.
type Server struct {
	store *Store
	// lag returns how far the watch cache is behind now.
	lag func() time.Duration
	// seen is the newest version that the watch cache has shown. It never goes back.
	seen uint64
	// Unknown takes requests that the model does not know.
	Unknown func(what string)
	// Absent are kinds that this cluster does not have.
	Absent []*Kind
}

// NewServer returns a server of the store.
func NewServer(store *Store, lag func() time.Duration) *Server {
	return &Server{store: store, lag: lag, seen: store.version, Unknown: func(string) {}}
}

// cached is the version of the watch cache.
func (s *Server) cached() uint64 {
	s.seen = max(s.seen, s.store.versionAt(s.store.now().Add(-s.lag())))
	return s.seen
}

// Serve answers one request, except a watch. The body was read before.
func (s *Server) Serve(request *http.Request, body []byte) *http.Response {
	t, known := parse(request.URL.Path)
	var answer *http.Response
	err := notFound(&Kind{Plural: request.URL.Path}, "")
	switch {
	case !known:
		s.Unknown(request.Method + " " + request.URL.Path)
	case !slices.Contains(s.Absent, t.kind):
		answer, err = s.serve(request, t, body)
	}
	if err != nil {
		status := statusOf(err)
		encoded, _ := json.Marshal(status) // it consists of strings and numbers
		answer = respond(int(status.Code), "application/json", encoded)
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			answer.Header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
	}
	answer.Request = request
	return answer
}

func respond(status int, contentType string, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{"Content-Type": {contentType}},
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
}

func (s *Server) serve(request *http.Request, t target, body []byte) (*http.Response, error) {
	query := request.URL.Query()
	if query.Get("dryRun") != "" {
		s.Unknown("a dry run of " + request.Method + " " + request.URL.Path)
	}
	if request.Method == http.MethodGet {
		if t.name == "" {
			return s.list(request, t, query)
		}
		return s.get(request, t, query)
	}
	return s.write(request, t, body)
}

// write serves a request that changes an object.
func (s *Server) write(request *http.Request, t target, body []byte) (*http.Response, error) {
	switch {
	case request.Method == http.MethodPost:
		return s.make(t, body)
	case request.Method == http.MethodPut && t.subresource == "":
		return s.put(t, body)
	case request.Method == http.MethodPatch && (t.subresource == "" || t.subresource == "status"):
		return s.change(request, t, body)
	case request.Method == http.MethodDelete && t.name != "":
		return s.delete(t, body)
	}
	return nil, s.unsupported(request.Method, t)
}

// make serves a request that makes an object, or one of a pod's subresources.
func (s *Server) make(t target, body []byte) (*http.Response, error) {
	switch {
	case t.subresource == "eviction":
		return s.evict(t, body)
	case t.kind == Pods && t.subresource == "binding":
		return s.bind(t, body)
	case t.kind == Reviews:
		return respond(http.StatusCreated, "application/json", []byte(allowed)), nil
	case t.name == "":
		return s.post(t, body)
	}
	return nil, s.unsupported(http.MethodPost, t)
}

// change serves a patch.
func (s *Server) change(request *http.Request, t target, body []byte) (*http.Response, error) {
	switch kind := request.Header.Get("Content-Type"); kind {
	case "application/merge-patch+json":
		return s.patch(t, body)
	case "application/apply-patch+yaml":
		return s.apply(t, body, request.URL.Query().Get("fieldManager"))
	default:
		s.Unknown("a patch of the type " + kind)
		return nil, apierrors.NewBadRequest("the model knows no patches of the type " + kind)
	}
}

// unsupported is the answer to a request that the model does not know.
func (s *Server) unsupported(method string, t target) error {
	s.Unknown(method + " " + t.kind.Plural + " " + t.name + " " + t.subresource)
	return apierrors.NewMethodNotSupported(t.kind.resource(), method)
}

// readVersion chooses the version of a read, and whether it comes from the watch cache.
// https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
func (s *Server) readVersion(query url.Values) (version uint64, cached bool, err error) {
	text, match := query.Get("resourceVersion"), query.Get("resourceVersionMatch")
	switch text {
	case "":
		return s.store.version, false, nil
	case "0":
		return s.cached(), true, nil
	}
	wanted, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, apierrors.NewBadRequest("resourceVersion is no number")
	}
	if match == string(metav1.ResourceVersionMatchExact) {
		if wanted < s.store.compacted {
			return 0, false, expired()
		}
		return min(wanted, s.store.version), false, nil
	}
	return min(max(wanted, s.cached()), s.store.version), true, nil // not older than
}

func (s *Server) get(request *http.Request, t target, query url.Values) (*http.Response, error) {
	version, _, err := s.readVersion(query)
	if err != nil {
		return nil, err
	}
	object := s.store.collections[t.kind].at(keyOf(t.namespace, t.name), version)
	if object == nil {
		return nil, notFound(t.kind, t.name)
	}
	return encodeObject(request.Header.Get("Accept"), http.StatusOK, object)
}

// position is where a page of a list ended.
type position struct {
	Version uint64
	Key     string
}

func (s *Server) list(request *http.Request, t target, query url.Values) (*http.Response, error) {
	version, cached, err := s.readVersion(query)
	if err != nil {
		return nil, err
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	if cached && query.Get("resourceVersion") == "0" {
		limit = 0 // the watch cache ignores it
	}
	after := ""
	if token := query.Get("continue"); token != "" {
		decoded, err := base64.RawURLEncoding.DecodeString(token)
		var from position
		if err == nil {
			err = json.Unmarshal(decoded, &from)
		}
		if err != nil {
			return nil, apierrors.NewBadRequest("continue key is not valid")
		}
		if version, after = from.Version, from.Key; version < s.store.compacted {
			return nil, expired()
		}
	}
	matches, err := s.matcher(t, query)
	if err != nil {
		return nil, err
	}
	var found []*Object
	next := ""
	for _, object := range s.store.listAt(t.kind, version) {
		if key := object.key(); key <= after && after != "" || !matches(object) {
			continue
		}
		if limit > 0 && len(found) == limit {
			token, _ := json.Marshal(position{version, found[limit-1].key()})
			next = base64.RawURLEncoding.EncodeToString(token)
			break
		}
		found = append(found, object)
	}
	return encodeList(request.Header.Get("Accept"), t.kind, found, version, next)
}

// matcher returns whether a request for a collection selects an object.
func (s *Server) matcher(t target, query url.Values) (func(*Object) bool, error) {
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	wanted, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, requirement := range wanted.Requirements() {
		if !selectable(t.kind, requirement.Field) {
			s.Unknown("the field selector " + requirement.Field + " of " + t.kind.Plural)
			return nil, apierrors.NewBadRequest("field label not supported: " + requirement.Field)
		}
	}
	if name, exact := wanted.RequiresExactMatch("metadata.name"); exact && len(wanted.Requirements()) == 1 {
		named := func(object *Object) bool { return object.Meta.GetName() == name }
		if t.namespace == "" && selector.Empty() {
			return named, nil
		}
	}
	return func(object *Object) bool {
		return (t.namespace == "" || object.Meta.GetNamespace() == t.namespace) &&
			selector.Matches(labels.Set(object.Meta.GetLabels())) && (wanted.Empty() || wanted.Matches(fieldsOf(object)))
	}, nil
}

func selectable(kind *Kind, field string) bool {
	known := []string{"metadata.name", "metadata.namespace"}
	switch kind {
	case Pods:
		known = append(known, "spec.nodeName", "status.phase", "spec.serviceAccountName")
	case Events:
		known = append(known, "involvedObject.kind", "reason")
	}
	return slices.Contains(known, field)
}

func fieldsOf(object *Object) fields.Set {
	set := fields.Set{"metadata.name": object.Meta.GetName(), "metadata.namespace": object.Meta.GetNamespace()}
	switch typed := object.Typed.(type) {
	case *corev1.Pod:
		set["spec.nodeName"], set["status.phase"] = typed.Spec.NodeName, string(typed.Status.Phase)
		set["spec.serviceAccountName"] = typed.Spec.ServiceAccountName
	case *corev1.Event:
		set["involvedObject.kind"], set["reason"] = typed.InvolvedObject.Kind, typed.Reason
	}
	return set
}

func decode(body []byte) (map[string]any, error) {
	var raw map[string]any
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, apierrors.NewBadRequest("the body is no JSON object: " + err.Error())
	}
	return raw, nil
}

func (s *Server) post(t target, body []byte) (*http.Response, error) {
	raw, err := decode(body)
	if err != nil {
		return nil, err
	}
	s.place(t, raw)
	if t.kind == Pods {
		raw["status"] = map[string]any{"phase": string(corev1.PodPending)}
	}
	object, err := s.store.create(t.kind, raw)
	if err != nil {
		return nil, err
	}
	return respond(http.StatusCreated, "application/json", object.json), nil
}

// place gives an object the namespace of the request's path.
func (s *Server) place(t target, raw map[string]any) {
	if t.namespace != "" {
		metadataOf(raw)["namespace"] = t.namespace
	}
}

// current returns the object of a write, if it fulfils the write's conditions.
func (s *Server) current(t target, raw map[string]any) (*Object, error) {
	current := s.store.Get(t.kind, t.namespace, t.name)
	if current == nil {
		return nil, notFound(t.kind, t.name)
	}
	metadata := metadataOf(raw)
	if version, _ := metadata["resourceVersion"].(string); version != "" && version != current.Meta.GetResourceVersion() {
		return nil, conflict(t.kind, t.name, "the object has been modified; please apply your changes to the latest version")
	}
	if uid, _ := metadata["uid"].(string); uid != "" && uid != string(current.Meta.GetUID()) {
		return nil, conflict(t.kind, t.name, "Precondition failed: UID in precondition: "+uid)
	}
	return current, nil
}

func (s *Server) put(t target, body []byte) (*http.Response, error) {
	raw, err := decode(body)
	if err != nil {
		return nil, err
	}
	current, err := s.current(t, raw)
	if apierrors.IsNotFound(err) && t.kind == Leases {
		return s.post(t, body) // a lease may be created by an update
	}
	if err != nil {
		return nil, err
	}
	if (t.kind.Custom || t.kind == Leases) && metadataOf(raw)["resourceVersion"] == nil {
		return nil, invalid(t.kind, t.name, "metadata.resourceVersion: must be specified for an update")
	}
	s.place(t, raw)
	if t.kind.HasStatus {
		keep(raw, current.raw, "status")
	}
	if err := checkFinalizers(t, raw, current); err != nil {
		return nil, err
	}
	return s.written(s.store.replace(current, raw))
}

func (s *Server) patch(t target, body []byte) (*http.Response, error) {
	patch, err := decode(body)
	if err != nil {
		return nil, err
	}
	current, err := s.current(t, patch)
	if err != nil {
		return nil, err
	}
	raw, _ := merge(current.raw, patch).(map[string]any)
	switch {
	case t.subresource == "status":
		keep(raw, current.raw, "spec", "metadata")
	case t.kind.HasStatus:
		keep(raw, current.raw, "status")
	}
	raw = cloned(raw)
	dropEmpty(metadataOf(raw), "labels", "annotations", "finalizers")
	if t.kind == ConfigMaps {
		dropEmpty(raw, "data")
	}
	if t.kind == Pods && nominatesBound(raw, current) {
		return nil, invalid(t.kind, t.name, "status.nominatedNodeName: may not be set on pods that are bound to a node")
	}
	if err := checkFinalizers(t, raw, current); err != nil {
		return nil, err
	}
	return s.written(s.store.replace(current, raw))
}

// nominatesBound reports whether a write nominates a node for a pod that has one.
func nominatesBound(raw map[string]any, current *Object) bool {
	pod, _ := current.Typed.(*corev1.Pod)
	status, _ := raw["status"].(map[string]any)
	node, _ := status["nominatedNodeName"].(string)
	return pod.Spec.NodeName != "" && node != "" && node != pod.Status.NominatedNodeName
}

// checkFinalizers refuses a new finalizer of an object that is being deleted.
func checkFinalizers(t target, raw map[string]any, current *Object) error {
	finalizers, _ := metadataOf(raw)["finalizers"].([]any)
	if current.Meta.GetDeletionTimestamp() == nil || !slices.ContainsFunc(finalizers, func(one any) bool {
		name, _ := one.(string)
		return !slices.Contains(current.Meta.GetFinalizers(), name)
	}) {
		return nil
	}
	return invalid(t.kind, t.name, "metadata.finalizers: no new finalizers can be added if the object is being deleted")
}

func (s *Server) written(object *Object, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	return respond(http.StatusOK, "application/json", object.json), nil
}

// keep gives the fields of an object their earlier values.
func keep(raw, earlier map[string]any, names ...string) {
	for _, name := range names {
		if value, has := earlier[name]; has {
			raw[name] = value
		} else {
			delete(raw, name)
		}
	}
}

// dropEmpty removes fields without content, which the API server does not write.
func dropEmpty(of map[string]any, names ...string) {
	for _, name := range names {
		entries, isMap := of[name].(map[string]any)
		list, isList := of[name].([]any)
		if isMap && len(entries) == 0 || isList && len(list) == 0 {
			delete(of, name)
		}
	}
}

// merge applies a JSON merge patch and changes neither of both.
// https://www.rfc-editor.org/rfc/rfc7396
func merge(into, patch any) any {
	fields, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	merged := map[string]any{}
	if before, had := into.(map[string]any); had {
		for name, value := range before {
			merged[name] = value
		}
	}
	for name, value := range fields {
		if value == nil {
			delete(merged, name)
			continue
		}
		merged[name] = merge(merged[name], value)
	}
	return merged
}

// deletion is what the model reads of DeleteOptions. Other fields are refused.
type deletion struct {
	Kind, APIVersion   string
	GracePeriodSeconds *int64
	Preconditions      *metav1.Preconditions
}

func (s *Server) delete(t target, body []byte) (*http.Response, error) {
	var options deletion
	if len(body) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&options); err != nil {
			s.Unknown("DeleteOptions " + string(body))
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	return s.remove(t, options)
}

func (s *Server) remove(t target, options deletion) (*http.Response, error) {
	conditions := map[string]any{}
	if wanted := options.Preconditions; wanted != nil {
		metadata := metadataOf(conditions)
		if wanted.UID != nil {
			metadata["uid"] = string(*wanted.UID)
		}
		if wanted.ResourceVersion != nil {
			metadata["resourceVersion"] = *wanted.ResourceVersion
		}
	}
	current, err := s.current(t, conditions)
	if err != nil {
		return nil, err
	}
	if held := s.store.Delete(current, options.GracePeriodSeconds); held != nil {
		return respond(http.StatusOK, "application/json", held.json), nil
	}
	return respond(http.StatusOK, "application/json",
		[]byte(success)), nil
}

// evict deletes a pod if its disruption budgets allow that.
func (s *Server) evict(t target, body []byte) (*http.Response, error) {
	var eviction policyv1.Eviction
	if err := json.Unmarshal(body, &eviction); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	current := s.store.Get(Pods, t.namespace, t.name)
	if current == nil {
		return nil, notFound(Pods, t.name)
	}
	options := deletion{}
	if given := eviction.DeleteOptions; given != nil {
		options.Preconditions, options.GracePeriodSeconds = given.Preconditions, given.GracePeriodSeconds
	}
	pod, _ := current.Typed.(*corev1.Pod)
	budget := BudgetOf(s.store, pod)
	switch {
	case budget == nil || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodPending:
	case budget.Status.ObservedGeneration < budget.Generation || budget.Status.DisruptionsAllowed <= 0:
		return nil, refusedEviction(budget)
	default:
		Update(s.store, Budgets, budget.Namespace, budget.Name, func(stored *policyv1.PodDisruptionBudget) bool {
			stored.Status.DisruptionsAllowed--
			return true
		})
	}
	if wanted := options.Preconditions; wanted == nil || wanted.UID == nil || *wanted.UID == pod.UID {
		if err := s.markEvicted(current); err != nil {
			return nil, err
		}
	}
	if _, err := s.remove(t, options); err != nil {
		return nil, err
	}
	return respond(http.StatusCreated, "application/json",
		[]byte(success)), nil
}

// bind gives a pod its node.
func (s *Server) bind(t target, body []byte) (*http.Response, error) {
	var binding corev1.Binding
	if err := json.Unmarshal(body, &binding); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	current, err := s.current(t, map[string]any{"metadata": map[string]any{
		"uid": string(binding.UID), "resourceVersion": binding.ResourceVersion,
	}})
	if err != nil {
		return nil, err
	}
	pod, _ := current.Typed.(*corev1.Pod)
	switch {
	case pod.DeletionTimestamp != nil:
		return nil, conflict(t.kind, t.name, "pod "+t.name+" is being deleted, cannot be assigned to a host")
	case pod.Spec.NodeName != "":
		return nil, conflict(t.kind, t.name, "pod "+t.name+" is already assigned to node "+strconv.Quote(pod.Spec.NodeName))
	}
	bound := map[string]any{
		"spec":   map[string]any{"nodeName": binding.Target.Name},
		"status": map[string]any{"nominatedNodeName": nil},
	}
	raw, _ := merge(current.raw, bound).(map[string]any)
	setCondition(raw, map[string]any{
		"type": string(corev1.PodScheduled), "status": "True",
		"lastTransitionTime": s.store.now().UTC().Format(time.RFC3339),
	})
	if _, err := s.store.replace(current, cloned(raw)); err != nil {
		return nil, err
	}
	return respond(http.StatusCreated, "application/json", []byte(success)), nil
}

// apply writes an object by server-side apply. The model merges the fields, and lets no manager own
// any: one who leaves a field out does not remove it.
func (s *Server) apply(t target, body []byte, manager string) (*http.Response, error) {
	raw, err := decode(body)
	if err != nil {
		return nil, err
	}
	metadataOf(raw)["managedFields"] = []any{map[string]any{"manager": manager, "operation": "Apply"}}
	if t.kind == Definitions {
		raw["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
	}
	current := s.store.Get(t.kind, t.namespace, t.name)
	if current == nil {
		s.place(t, raw)
		return s.written(s.store.create(t.kind, raw))
	}
	merged, _ := merge(current.raw, raw).(map[string]any)
	return s.written(s.store.replace(current, cloned(merged)))
}

// allowed is the answer to a review of access. The model refuses nobody.
const allowed = `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`

// success is the answer to a request without an object in its answer.
const success = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`

// markEvicted notes on a pod that it was evicted, as the API server does before it deletes the pod.
func (s *Server) markEvicted(current *Object) error {
	raw := cloned(current.raw)
	if setCondition(raw, map[string]any{
		"type": string(corev1.DisruptionTarget), "status": "True", "reason": "EvictionByEvictionAPI",
		"lastTransitionTime": s.store.now().UTC().Format(time.RFC3339),
	}) {
		return nil
	}
	_, err := s.store.replace(current, raw)
	return err
}

// setCondition gives a copy of a raw object a condition, and reports whether it had one of the type
// and the status. Then that one stays.
func setCondition(raw map[string]any, wanted map[string]any) (had bool) {
	status, _ := raw["status"].(map[string]any)
	before, _ := status["conditions"].([]any)
	conditions := []any{}
	for _, one := range before {
		fields, _ := one.(map[string]any)
		if fields["type"] != wanted["type"] {
			conditions = append(conditions, one)
		} else if fields["status"] == wanted["status"] {
			return true
		}
	}
	status = maps.Clone(status)
	if status == nil {
		status = map[string]any{}
	}
	status["conditions"] = append(conditions, wanted)
	raw["status"] = status
	return false
}

// BudgetOf returns the pod's disruption budget, or nil. The simulation gives a pod at most one.
func BudgetOf(store *Store, pod *corev1.Pod) *policyv1.PodDisruptionBudget {
	for _, budget := range List[policyv1.PodDisruptionBudget](store, Budgets) {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && budget.Namespace == pod.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			return budget
		}
	}
	return nil
}

// acceptsProtobuf reports whether the client prefers Protocol Buffers.
func acceptsProtobuf(accept string) bool {
	return strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf")
}
