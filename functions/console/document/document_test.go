package document

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPath(t *testing.T) {
	for text, want := range map[string]Path{
		"spec.containers[0].resources":             {"spec", "containers", 0, "resources"},
		"spec.nodeSelector[kubernetes.io/arch]":    {"spec", "nodeSelector", "kubernetes.io/arch"},
		"spec.requirements[1].values[0]":           {"spec", "requirements", 1, "values", 0},
		"[2].offerings[0].Price":                   {2, "offerings", 0, "Price"},
		"spec.template.metadata.labels[a.b/c].[0]": nil,
		"metadata":         {"metadata"},
		"spec.limits.cpu":  {"spec", "limits", "cpu"},
		"nodePools.gpu[0]": {"nodePools", "gpu", 0},
		"spec.template.spec.requirements[3].operator": {"spec", "template", "spec", "requirements", 3, "operator"},
	} {
		if want == nil {
			ParsePath(text) // must end
			continue
		}
		if got := ParsePath(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
		if got := want.String(); got != text {
			t.Errorf("%v is %s, want %s", want, got, text)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		lines            []int
		json             []string
	}{
		{"one", "a.yaml", "a: 1\n", []int{1}, []string{`{"a":1}`}},
		{
			"several", "a.yaml", "# first\n\na: 1\n---\n# nothing\n---\nb: 2\n---   \n\nc: |\n  x\n", []int{3, 7, 10},
			[]string{`{"a":1}`, `{"b":2}`, `{"c":"x\n"}`},
		},
		{"separator first", "a.yaml", "---\na: 1\n---\n", []int{2}, []string{`{"a":1}`}},
		{
			"content beside the separator", "a.yaml", "--- {a: 1}\n--- # two\nb: 2", []int{1, 3}, []string{`{"a":1}`, `{"b":2}`},
		},
		{"comment before a separator", "a.yaml", "# licence\n---\na: 1\n", []int{3}, []string{`{"a":1}`}},
		{"windows line ends", "a.yaml", "a: 1\r\n---\r\nb: 2\r\n", []int{1, 3}, []string{`{"a":1}`, `{"b":2}`}},
		{"json", "a.json", "\n\n{\"a\": 1}", []int{3}, []string{`{"a": 1}`}},
		{"json stream", "a.json", "{\"a\":1}\n{\"b\":2}\n\n[3]\nnull", []int{1, 2, 4}, []string{`{"a":1}`, `{"b":2}`, `[3]`}},
		{"flow style that is no json", "a.yaml", "{a: 1}", []int{1}, []string{`{"a":1}`}},
		{"byte order mark", "a.json", "\xef\xbb\xbf{\"a\":1}", []int{1}, []string{`{"a":1}`}},
		{"nothing", "a.yaml", "# nothing\n", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			documents, err := Split(test.file, []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var lines []int
			var texts []string
			for _, d := range documents {
				lines, texts = append(lines, d.Line(nil)), append(texts, string(d.JSON))
			}
			if !slices.Equal(lines, test.lines) || !slices.Equal(texts, test.json) {
				t.Errorf("lines %v, json %q; want %v, %q", lines, texts, test.lines, test.json)
			}
		})
	}
}

func TestSplitSaysWhere(t *testing.T) {
	for _, test := range []struct{ name, file, text, want string }{
		{"yaml", "a.yaml", "a: 1\n---\nb: 2\nc: [1,\n", "a.yaml:4: not YAML: did not find expected node content"},
		{"tab", "a.yaml", "a:\n\tb: 1\n", "a.yaml:2: not YAML: found character that cannot start any token"},
		{"key twice", "a.yaml", "x: 1\n---\nb: 2\nb: 3\n", `a.yaml:4: not YAML: key "b" already set in map`},
		{"json", "a.json", "{\n \"a\": 1,\n \"b\" 2\n}", "a.json:3: not JSON: invalid character '2' after object key"},
		{"json cut off", "a.json", "{\n \"a\": 1,\n", "a.json:3: not JSON: unexpected EOF"},
		{
			"json stream", "a.json", "{}\n{]",
			"a.json:2: not JSON: invalid character ']' looking for beginning of object key string",
		},
		{"neither", "-", "{\n \"a\": 1,\n \"b\" 2\n}", "-:3: not JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Split(test.file, []byte(test.text))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error is %v, want %s", err, test.want)
			}
		})
	}
}

const yamlText = `# a pod
base: &base
  image: x
  ports:
    - 80
    - 81
pods:
  - <<: *base
    name: a
  - *base
"quoted/key": {flow: [1,
   2]}
`

func TestLine(t *testing.T) {
	yaml, err := Split("a.yaml", []byte("first: 1\n---\n"+yamlText))
	if err != nil {
		t.Fatal(err)
	}
	jsonText := "\n{\n \"a\": [\n  {\"b\": 1},\n\n  {\"c\":\n   {\"d\": [1,\n 2]}}\n ]\n}\n"
	json, err := Split("a.json", []byte(jsonText))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := Split("a.json", []byte("{}\n\n{\"a\":\n{\"b\": 1}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		d    *Document
		path string
		want int
	}{
		{yaml[1], "", 4}, {yaml[1], "base.ports[1]", 8}, {yaml[1], "pods[0].name", 11}, {yaml[1], "pods[0].image", 5},
		{yaml[1], "pods[1].ports[0]", 7},
		{yaml[1], "[quoted/key].flow[1]", 14}, {yaml[1], "pods[0].missing.more", 10}, {yaml[1], "pods[7]", 9},
		{yaml[1], "missing", 4},
		{yaml[1].Entry(nil, "pods", 0), "name", 11},
		{json[0], "", 2}, {json[0], "a", 3}, {json[0], "a[0].b", 4}, {json[0], "a[1]", 6}, {json[0], "a[1].c.d", 7},
		{json[0], "a[1].c.d[1]", 8},
		{json[0], "a[1].x", 6}, {json[0], "a[9]", 3}, {json[0], "x", 2}, {json[0].Entry(nil, "a", 1), "c", 6},
		{stream[1], "", 3}, {stream[1], "a.b", 4},
	} {
		if got := test.d.Line(ParsePath(test.path)); got != test.want {
			t.Errorf("%s: %q is on line %d, want %d", test.d.File, test.path, got, test.want)
		}
	}
}

func TestDecodeNamesEachField(t *testing.T) {
	documents, err := Split("pod.yaml", []byte(`kind: Pod
metadata:
  name: 5
  namespace: off
  labels: [a]
spec:
  hostNetwork: maybe
  nodeSelecter: {}
  priority: 99999999999
  containers:
    - name: a
      resources:
        requests:
          cpu: lots
          memory: 1Gi
      ports:
        - containerPort: "80"
          protocoll: TCP
    - text
`))
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	_, err = documents[0].Decode(&pod, `Pod "a"`)
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		`pod.yaml:5: Pod "a": metadata.labels: a list: want an object`,
		`pod.yaml:3: Pod "a": metadata.name: 5: want text: put it in quotes`,
		`pod.yaml:4: Pod "a": metadata.namespace: off, which YAML reads as false: want text: put it in quotes`,
		`pod.yaml:17: Pod "a": spec.containers[0].ports[0].containerPort: "80": want a whole number`,
		`pod.yaml:14: Pod "a": spec.containers[0].resources.requests.cpu: "lots": want a quantity, such as 500m, 2 or 8Gi`,
		`pod.yaml:19: Pod "a": spec.containers[1]: "text": want an object`,
		`pod.yaml:7: Pod "a": spec.hostNetwork: "maybe": want true or false`,
		`pod.yaml:9: Pod "a": spec.priority: 99999999999: want a smaller number`,
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	documents, err = Split("pod.yaml", []byte("kind: Pod\nspec:\n  nodeSelecter: {}\n  containers: [{nam: x}]"))
	if err != nil {
		t.Fatal(err)
	}
	unknown, err := documents[0].Decode(&pod, "Pod")
	if err != nil || len(unknown) != 2 || unknown[0].Path.String() != "spec.containers[0].nam" ||
		unknown[1].Path.String() != "spec.nodeSelecter" {
		t.Errorf("unknown are %v, %v", unknown, err)
	}
}

// FuzzFields compares the scanner with encoding/json.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, ` { "a" : [1, "]", {"b": "}"}] , "c\"d": null } `, `{"a":"\\","b":"\"","":""}`, `[1,2 ,"a,b",[],{}]`,
		`[]`, "[\n1\n]", `{"ä":-1.5e3}`, `[true,false,null]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		Fields([]byte(text))(func(string, []byte) bool { return true }) // must end, whatever the text
		Entries([]byte(text))(func(int, []byte) bool { return true })
		if !json.Valid([]byte(text)) {
			return
		}
		var object map[string]json.RawMessage
		if !IsList([]byte(text)) && json.Unmarshal([]byte(text), &object) == nil && object != nil {
			found := map[string]json.RawMessage{}
			for key, value := range Fields([]byte(text)) {
				found[key] = value
			}
			if !equal(found, object) {
				t.Errorf("fields of %q are %q, want %q", text, found, object)
			}
		}
		var list []json.RawMessage
		if IsList([]byte(text)) && json.Unmarshal([]byte(text), &list) == nil {
			found := []json.RawMessage{}
			for _, value := range Entries([]byte(text)) {
				found = append(found, value)
			}
			if !slices.EqualFunc(found, list, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
				t.Errorf("entries of %q are %q, want %q", text, found, list)
			}
		}
	})
}

func equal(a, b map[string]json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for key := range a {
		if string(a[key]) != string(b[key]) {
			return false
		}
	}
	return true
}
