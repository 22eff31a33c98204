package apiserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// peerSeeds is how many random histories the two servers go through, and peerSteps their length.
	peerSeeds, peerSteps = 12, 150
	// clockSlack is how far the servers' clocks may differ.
	clockSlack = 5 * time.Second
)

// answer is what a server says.
type answer struct {
	code int
	body map[string]any
}

// sender sends a request and returns the answer.
type sender func(method, target, body string, headers map[string]string) (answer, error)

// peer is one of two servers that get the same requests.
type peer struct {
	send sender
	// versions and uids are those of objects as this server last showed them, and lists the versions of
	// its lists, the oldest first.
	versions, uids map[string]string
	lists          []string
}

func newPeer(send sender) *peer {
	return &peer{send: send, versions: map[string]string{}, uids: map[string]string{}}
}

// unknown is a placeholder for an object that the server has not shown.
var unknown = regexp.MustCompile(`(VERSION|UID)\([^)]*\)`)

// note remembers the object of an answer.
func (p *peer) note(object map[string]any, kind string) {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if version, _ := metadata["resourceVersion"].(string); name != "" && kind != "Status" {
		p.versions[kind+"/"+name] = version
		p.uids[kind+"/"+name], _ = metadata["uid"].(string)
	}
}

// step is a request. The text of its body may have VERSION(Kind/name) and UID(Kind/name), its query
// LIST(n): each server puts in its own.
type step struct {
	method, path string
	query        url.Values
	body         string
	headers      map[string]string
}

func (s step) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s?%s %s", s.method, s.path, s.query.Encode(), s.body))
}

// ask sends the step.
func (p *peer) ask(s step) (answer, error) {
	var pairs []string
	for key, version := range p.versions {
		pairs = append(pairs, "VERSION("+key+")", version, "UID("+key+")", p.uids[key])
	}
	query := s.query.Encode()
	if asked := s.query.Get("resourceVersion"); strings.HasPrefix(asked, "LIST") && len(p.lists) > 0 {
		own := url.Values{}
		for key, values := range s.query {
			own[key] = values
		}
		own.Set("resourceVersion", p.lists[len(asked)%len(p.lists)])
		query = own.Encode()
	}
	body := unknown.ReplaceAllString(strings.NewReplacer(pairs...).Replace(s.body), "1")
	given, err := p.send(s.method, s.path+"?"+query, body, s.headers)
	if err != nil {
		return answer{}, err
	}
	kind, _ := given.body["kind"].(string)
	p.note(given.body, kind)
	items, _ := given.body["items"].([]any)
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			p.note(object, strings.TrimSuffix(kind, "List"))
		}
	}
	if metadata, _ := given.body["metadata"].(map[string]any); given.body["items"] != nil {
		version, _ := metadata["resourceVersion"].(string)
		p.lists = append(p.lists, version)
	}
	return given, nil
}

// shape says where and how objects of a kind are written.
type shape struct {
	kind, path string
	// make returns a new object of the name, and patches are what may be merged into one.
	make    func(name, seed string, random *rand.Rand) string
	patches []string
	// status are patches of the subresource; nil for a kind without one.
	status []string
}

func labelled(name, seed string) string {
	return fmt.Sprintf(`{"name":%q,"labels":{"seed":%q}}`, name, seed)
}

func shapes() []shape {
	metadata := []string{
		`{"metadata":{"labels":{"color":"red"}}}`, `{"metadata":{"labels":{"color":null}}}`,
		`{"metadata":{"annotations":{"note":"1"}}}`, `{"metadata":{"annotations":null}}`,
		`{"metadata":{"finalizers":["example.com/hold"]}}`, `{"metadata":{"finalizers":null}}`,
		`{"metadata":{"finalizers":["example.com/other"]}}`, `{}`,
	}
	return []shape{
		{
			kind: "ConfigMap", path: "/api/v1/namespaces/default/configmaps", patches: append([]string{
				`{"data":{"a":"1"}}`, `{"data":{"a":null}}`, `{"data":null}`,
			}, metadata...),
			make: func(name, seed string, _ *rand.Rand) string {
				return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":%s,"data":{"a":"0"}}`, labelled(name, seed))
			},
		},
		{
			kind: "NodeClaim", path: "/apis/karpenter.sh/v1/nodeclaims", patches: append([]string{
				`{"status":{"providerID":"ignored"}}`, `{"metadata":{"annotations":{"whittle.dev/a":"b"}},"status":{"imageID":"x"}}`,
			}, metadata...),
			status: []string{
				`{"status":{"providerID":"aws:///us-east-1a/i-1"}}`, `{"status":{"imageID":"ami-1"}}`,
				`{"status":{"capacity":{"cpu":"2"}},"metadata":{"labels":{"ignored":"yes"}}}`, `{"status":{"imageID":null}}`,
				`{"status":{"conditions":[{"type":"Launched","status":"True","reason":"Launched","message":"",` +
					`"lastTransitionTime":"2026-03-01T12:00:00Z"}]}}`,
			},
			make: func(name, seed string, random *rand.Rand) string {
				text := fmt.Sprintf(`{"apiVersion":"karpenter.sh/v1","kind":"NodeClaim","metadata":%s,"spec":{"nodeClassRef":`+
					`{"group":"karpenter.k8s.aws","kind":"EC2NodeClass","name":"default"},"requirements":[{"key":`+
					`"kubernetes.io/arch","operator":"In","values":["amd64"]}]},"status":{"providerID":"ignored"}}`, labelled(name, seed))
				if random.IntN(2) == 0 {
					text = strings.Replace(text, `"labels"`, `"finalizers":["karpenter.sh/termination"],"labels"`, 1)
				}
				return text
			},
		},
		{
			kind: "Pod", path: "/api/v1/namespaces/default/pods", patches: metadata,
			status: []string{`{"status":{"phase":"Running"}}`, `{"status":{"phase":"Succeeded"}}`,
				`{"status":{"nominatedNodeName":"node-1"}}`, `{"status":{"nominatedNodeName":null}}`},
			make: func(name, seed string, random *rand.Rand) string {
				node := ""
				if random.IntN(2) == 0 {
					node = `,"nodeName":"nowhere","terminationGracePeriodSeconds":7`
				}
				// The real scheduler must not touch it.
				return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":%s,"spec":{"schedulerName":"nobody","containers":`+
					`[{"name":"c","image":"i"}]%s}}`, labelled(name, seed), node)
			},
		},
		{
			kind: "Lease", path: "/apis/coordination.k8s.io/v1/namespaces/default/leases", patches: append([]string{
				`{"spec":{"holderIdentity":"one"}}`, `{"spec":{"holderIdentity":null}}`,
			}, metadata...),
			make: func(name, seed string, _ *rand.Rand) string {
				return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":%s,"spec":{"leaseDurationSeconds":9}}`,
					labelled(name, seed))
			},
		},
	}
}

// nextStep draws a request about one of a few objects.
func nextStep(random *rand.Rand, seed string) step {
	all := shapes()
	of := all[random.IntN(len(all))]
	name := fmt.Sprintf("%s-%c", seed, 'a'+random.IntN(3))
	key, object := of.kind+"/"+name, of.path+"/"+name
	one := func(list []string) string { return list[random.IntN(len(list))] }
	merge := map[string]string{"Content-Type": "application/merge-patch+json"}
	withVersion := func(body string) string {
		if random.IntN(3) > 0 {
			return body
		}
		var content map[string]any
		_ = json.Unmarshal([]byte(body), &content) // the patches above
		metadata, _ := content["metadata"].(map[string]any)
		if metadata == nil {
			metadata = map[string]any{}
			content["metadata"] = metadata
		}
		metadata["resourceVersion"] = one([]string{"VERSION(" + key + ")", "VERSION(" + key + ")", "1"})
		text, _ := json.Marshal(content)
		return string(text)
	}
	switch drawn := random.IntN(20); {
	case drawn < 5:
		return step{method: http.MethodPost, path: of.path, body: of.make(name, seed, random)}
	case drawn < 10:
		return step{method: http.MethodPatch, path: object, body: withVersion(one(of.patches)), headers: merge}
	case drawn < 13 && of.status != nil:
		return step{method: http.MethodPatch, path: object + "/status", body: withVersion(one(of.status)), headers: merge}
	case drawn < 14:
		version := one([]string{`"resourceVersion":"VERSION(` + key + `)",`, `"resourceVersion":"1",`, ""})
		if of.kind == "Pod" {
			break // no function replaces a pod
		}
		body := strings.Replace(of.make(name, seed, random), `"metadata":{`, `"metadata":{`+version, 1)
		return step{method: http.MethodPut, path: object, body: body}
	case drawn < 17:
		conditions := one([]string{``, ``, `,"preconditions":{"uid":"UID(` + key + `)"}`,
			`,"preconditions":{"uid":"00000000-0000-4000-8000-00000000ffff"}`,
			`,"preconditions":{"resourceVersion":"VERSION(` + key + `)"}`, `,"preconditions":{"resourceVersion":"1"}`,
			`,"gracePeriodSeconds":0`, `,"gracePeriodSeconds":3`})
		return step{method: http.MethodDelete, path: object, body: `{"apiVersion":"v1","kind":"DeleteOptions"` + conditions + `}`}
	case drawn < 18 && of.kind == "Pod" && random.IntN(2) == 0:
		return step{method: http.MethodPost, path: object + "/binding", body: fmt.Sprintf(
			`{"apiVersion":"v1","kind":"Binding","metadata":{"name":%q%s},"target":{"kind":"Node","name":"nowhere"}}`,
			name, one([]string{``, `,"uid":"UID(` + key + `)"`, `,"uid":"00000000-0000-4000-8000-00000000ffff"`}))}
	case drawn < 18 && of.kind == "Pod":
		return step{method: http.MethodPost, path: object + "/eviction", body: fmt.Sprintf(
			`{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":%q,"namespace":"default"}%s}`, name, one([]string{
				``, `,"deleteOptions":{"preconditions":{"uid":"UID(` + key + `)"}}`}))}
	case drawn < 19:
		return step{method: http.MethodGet, path: object}
	}
	query := url.Values{"labelSelector": {"seed=" + seed + one([]string{"", ",color=red", ",color!=red", ",!color"})}}
	headers := map[string]string{}
	switch random.IntN(4) {
	case 0:
		query.Set("limit", "1")
	case 1:
		query.Set("resourceVersion", "LIST"+strings.Repeat("x", random.IntN(5)))
		query.Set("resourceVersionMatch", "Exact")
	case 2:
		headers["Accept"] = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	case 3:
		query.Set("fieldSelector", "metadata.name="+name)
	}
	return step{method: http.MethodGet, path: of.path, query: query, headers: headers}
}

// differences lists what the model says and Kubernetes does not. Kubernetes may say more: defaults, and who
// manages which field. Of a few fields of the metadata the model must say all.
func differences(model, real any, path string) []string {
	switch of := model.(type) {
	case map[string]any:
		other, ok := real.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, and in Kubernetes %v", path, model, real)}
		}
		var found []string
		for name, value := range of {
			if name != "status" || !collected(other) {
				found = append(found, differences(value, other[name], path+"."+name)...)
			}
		}
		if strings.HasSuffix(path, "metadata") {
			for _, name := range []string{"finalizers", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "labels"} {
				if _, said := of[name]; !said && other[name] != nil {
					found = append(found, fmt.Sprintf("%s.%s is missing, and in Kubernetes %v", path, name, other[name]))
				}
			}
		}
		return found
	case []any:
		other, ok := real.([]any)
		if !ok || len(of) != len(other) {
			return []string{fmt.Sprintf("%s is %v, and in Kubernetes %v", path, model, real)}
		}
		var found []string
		for i := range of {
			found = append(found, differences(of[i], other[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return found
	}
	if isOwn(path) && real != nil || sameTime(model, real) || reflect.DeepEqual(model, real) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %v, and in Kubernetes %v", path, model, real)}
}

// collected reports whether Kubernetes' garbage collector of pods has marked the object, which is a
// pod that was deleted before it had a node. It looks three times a minute.
func collected(pod map[string]any) bool {
	metadata, _ := pod["metadata"].(map[string]any)
	spec, _ := pod["spec"].(map[string]any)
	status, _ := pod["status"].(map[string]any)
	return metadata["deletionTimestamp"] != nil && spec["nodeName"] == nil && status["phase"] == "Failed"
}

// isOwn reports whether each server has values of its own for the field.
func isOwn(path string) bool {
	return slices.ContainsFunc([]string{".uid", ".resourceVersion", ".continue"}, func(end string) bool {
		return strings.HasSuffix(path, end)
	})
}

// sameTime reports whether both are times, and apart by no more than the servers' clocks.
func sameTime(one, other any) bool {
	text, _ := one.(string)
	second, _ := other.(string)
	a, bad := time.Parse(time.RFC3339, text)
	b, wrong := time.Parse(time.RFC3339, second)
	return bad == nil && wrong == nil && a.Sub(b).Abs() <= clockSlack
}

// TestTheModelAnswersLikeKubernetes sends random histories of requests to the model and to a real
// kube-apiserver, and compares the answers and what a watch reports.
func TestTheModelAnswersLikeKubernetes(t *testing.T) {
	plane := startPlane(t)
	real := realServer(t, plane)
	for seed := range peerSeeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			compareHistory(t, real, uint64(seed))
		})
	}
}

func compareHistory(t *testing.T, send sender, number uint64) {
	t.Helper()
	random, seed := rand.New(rand.NewPCG(number, 20)), fmt.Sprint("s", number)
	store := apiserver.NewStore(time.Now)
	server := apiserver.NewServer(store, func() time.Duration { return 0 })
	server.Unknown = func(what string) { t.Errorf("the model does not know: %s", what) }
	real, model := newPeer(send), newPeer(modelServer(server))
	// The watches begin here.
	begin := step{method: http.MethodGet, path: claims, query: url.Values{"labelSelector": {"seed=" + seed + ",color=red"}}}
	for _, side := range []*peer{real, model} {
		if _, err := side.ask(begin); err != nil {
			t.Fatal(err)
		}
	}
	var history []string
	for range peerSteps {
		next := nextStep(random, seed)
		want, err := real.ask(next)
		if err != nil {
			t.Fatalf("%s: %v", next, err)
		}
		got, err := model.ask(next)
		if err != nil {
			t.Fatalf("%s: %v", next, err)
		}
		history = append(history, fmt.Sprintf("%d %s", got.code, next))
		if problems := compareAnswers(next, got, want); len(problems) > 0 {
			history = slices.DeleteFunc(history, func(line string) bool { return !strings.Contains(line, path.Base(next.path)) })
			t.Fatalf("after\n%s\n%s", strings.Join(history, "\n"), strings.Join(problems, "\n"))
		}
	}
	query := begin.query
	query.Set("watch", "true")
	query.Set("timeoutSeconds", "1")
	query.Set("resourceVersion", real.lists[0])
	want := watched(t, send, query)
	query.Set("resourceVersion", model.lists[0])
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, claims+"?"+query.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_, past, err := server.Watch(request)
	if err != nil {
		t.Fatal(err)
	}
	if got := eventsOf(t, bytes.Join(past, nil)); !slices.Equal(got, want) {
		t.Errorf("the model's watch reports\n%s\nand Kubernetes'\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// compareAnswers compares codes, the reasons of refusals, and what functions read of the rest. They read
// nothing of the answer to a deletion, an eviction or a binding.
func compareAnswers(of step, got, want answer) []string {
	if got.code != want.code || got.code >= http.StatusBadRequest && got.body["reason"] != want.body["reason"] {
		return []string{fmt.Sprintf("the model answers %d %v %v\nKubernetes answers %d %v %v", got.code, got.body["reason"],
			got.body["message"], want.code, want.body["reason"], want.body["message"])}
	}
	if got.code >= http.StatusBadRequest || of.method == http.MethodDelete || strings.HasSuffix(of.path, "/eviction") || strings.HasSuffix(of.path, "/binding") {
		return nil
	}
	return differences(got.body, want.body, "")
}

func startPlane(t *testing.T) *kubernetes.ControlPlane {
	t.Helper()
	binary, err := kubernetes.Build(t.Context(), filepath.Join("..", "..", "..", ".."), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	plane, err := kubernetes.Start(t.Context(), kubernetes.Options{Binary: binary, Directory: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := (&clustertest.ControlPlane{ControlPlane: plane}).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plane
}

// realServer sends requests to the real API server. It waits until pods may be created there.
func realServer(t *testing.T, plane *kubernetes.ControlPlane) sender {
	t.Helper()
	client, err := rest.HTTPClientFor(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, target, body string, headers map[string]string) (answer, error) {
		request, err := http.NewRequestWithContext(t.Context(), method, plane.Endpoint+target, strings.NewReader(body))
		if err != nil {
			return answer{}, err
		}
		request.Header.Set("Content-Type", "application/json")
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response, err := client.Do(request)
		if err != nil {
			return answer{}, err
		}
		defer func() { _ = response.Body.Close() }()
		return read(response)
	}
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		account, err := send(http.MethodGet, "/api/v1/namespaces/default/serviceaccounts/default", "", nil)
		served, also := send(http.MethodGet, claims, "", nil)
		if err == nil && also == nil && account.code == http.StatusOK && served.code == http.StatusOK {
			break
		}
		select {
		case <-limit.Done():
			t.Fatal("the service account of pods does not come")
		case <-time.After(50 * time.Millisecond):
		}
	}
	// Kubernetes ends pods whose node does not exist.
	made, err := send(http.MethodPost, "/api/v1/nodes", `{"apiVersion":"v1","kind":"Node","metadata":{"name":"nowhere"}}`, nil)
	if err != nil || made.code != http.StatusCreated {
		t.Fatalf("%+v, %v", made, err)
	}
	return send
}

// modelServer sends requests to the model.
func modelServer(server *apiserver.Server) sender {
	return func(method, target, body string, headers map[string]string) (answer, error) {
		request, err := http.NewRequest(method, target, http.NoBody)
		if err != nil {
			return answer{}, err
		}
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		response := server.Serve(request, []byte(body))
		defer func() { _ = response.Body.Close() }()
		return read(response)
	}
}

func read(response *http.Response) (answer, error) {
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	given := answer{code: response.StatusCode}
	if rest, binary := bytes.CutPrefix(content, []byte("k8s\x00")); binary {
		given.body, err = metadataOf(rest)
		return given, err
	}
	if response.StatusCode == http.StatusOK && bytes.Contains(content, []byte(`"type":`)) && bytes.Contains(content, []byte("\n{")) {
		given.body = map[string]any{"stream": string(content)}
		return given, nil
	}
	if err := json.Unmarshal(content, &given.body); err != nil {
		given.body = map[string]any{"stream": string(content)}
	}
	return given, nil
}

// metadataOf reads a list of metadata in Protocol Buffers.
func metadataOf(encoded []byte) (map[string]any, error) {
	var whole runtime.Unknown
	if err := whole.Unmarshal(encoded); err != nil {
		return nil, err
	}
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: whole.APIVersion, Kind: whole.Kind}}
	if err := list.Unmarshal(whole.Raw); err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(&list)
}

// watched returns the events of the real server's watch.
func watched(t *testing.T, send sender, query url.Values) []string {
	t.Helper()
	given, err := send(http.MethodGet, claims+"?"+query.Encode(), "", nil)
	if err != nil || given.code != http.StatusOK {
		t.Fatalf("%+v, %v", given, err)
	}
	stream, several := given.body["stream"].(string)
	if !several {
		text, _ := json.Marshal(given.body)
		stream = string(text)
	}
	return eventsOf(t, []byte(stream))
}

// eventsOf are the types, names and states of a stream's events.
func eventsOf(t *testing.T, stream []byte) []string {
	t.Helper()
	var events []string
	decoder := json.NewDecoder(bytes.NewReader(stream))
	for decoder.More() {
		var event struct {
			Type   string
			Object struct {
				Metadata struct {
					Name              string
					Labels            map[string]string
					Finalizers        []string
					DeletionTimestamp *time.Time
					Generation        int
				}
				Status map[string]any
			}
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		metadata := event.Object.Metadata
		events = append(events, fmt.Sprint(event.Type, " ", metadata.Name, " ", metadata.Labels, metadata.Finalizers,
			metadata.DeletionTimestamp != nil, metadata.Generation, event.Object.Status["imageID"]))
	}
	return events
}
