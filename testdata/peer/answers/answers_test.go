package answers

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
)

// repository is the folder of the whole repository.
const repository = "../../.."

// answer is what Whittle makes of the named parts. One of the texts is set.
type answer struct {
	Honoured    string   `json:"honoured"`
	Refused     string   `json:"refused"`
	Meaningless string   `json:"meaningless"`
	Absent      string   `json:"absent"`
	Names       []string `json:"names"`
}

type answers struct {
	Fields                                    map[string][]answer `json:"fields"`
	Keys, Conditions, Events, Settings, Gates []answer
}

// TestEveryPartOfKarpentersInterfaceHasAnAnswer reads Karpenter's own modules. A new field, key,
// condition, event, setting or gate of a later version fails it, and so does one that is gone.
func TestEveryPartOfKarpentersInterfaceHasAnAnswer(t *testing.T) {
	given := read(t)
	core, aws := module(t, "sigs.k8s.io/karpenter"), module(t, "github.com/aws/karpenter-provider-aws")
	crds := fields(t, filepath.Join(aws, "pkg", "apis", "crds"))
	for _, name := range slices.Sorted(maps.Keys(given.Fields)) {
		if _, known := crds[name]; !known {
			t.Errorf("%s: Karpenter has no such definition", name)
		}
	}
	for name, want := range crds {
		compare(t, "the fields of "+name, given.Fields[name], want)
	}
	compare(t, "the keys", given.Keys, keys(t, core, aws))
	compare(t, "the conditions", given.Conditions, matches(t, `ConditionType\w+\s*= "(\w+)"$`,
		filepath.Join(core, "pkg", "apis"), filepath.Join(aws, "pkg", "apis")))
	compare(t, "the events", given.Events, events(t, core, aws))
	options := []string{
		filepath.Join(core, "pkg", "operator", "options"), filepath.Join(aws, "pkg", "operator", "options"),
	}
	compare(t, "the settings", given.Settings, matches(t, `"([A-Z]+(?:_[A-Z]+)+)"`, options...))
	compare(t, "the gates", given.Gates, matches(t, `(?:^\s+Name:\s+|gateMap\[)"(\w+)"`, options...))
}

// TestEveryAnswerIsOne checks that an answer names a test or reason that exists, or gives a reason.
func TestEveryAnswerIsOne(t *testing.T) {
	given := read(t)
	all := slices.Concat(given.Keys, given.Conditions, given.Events, given.Settings, given.Gates)
	for _, list := range given.Fields {
		all = append(all, list...)
	}
	for _, a := range all {
		texts := 0
		for _, text := range []string{a.Honoured, a.Refused, a.Meaningless, a.Absent} {
			if text != "" {
				texts++
			}
		}
		if texts != 1 {
			t.Errorf("%v have %d answers, want one", a.Names, texts)
		}
		if a.Honoured != "" && !isTest(t, a.Honoured) {
			t.Errorf("%v: there is no test %s", a.Names, a.Honoured)
		}
		if a.Refused != "" && !isReason(a.Refused) {
			t.Errorf("%v: there is no condition with the reason %s", a.Names, a.Refused)
		}
		if why := a.Meaningless + a.Absent; why != "" && !strings.HasSuffix(why, ".") {
			t.Errorf("%v: %q is no sentence", a.Names, why)
		}
	}
}

// TestNothingThatIsThereIsCalledAbsent compares the answers with what the installation applies and with
// the settings, whose texts name the gates of Karpenter that they stand for.
func TestNothingThatIsThereIsCalledAbsent(t *testing.T) {
	given := read(t)
	for definition, list := range given.Fields {
		plural, group, _ := strings.Cut(definition, ".")
		applied := filepath.Join(repository, "functions", "install", "manifests", "crds", group+"_"+plural+".yaml")
		if _, err := os.Stat(applied); err != nil {
			t.Errorf("%s: the installation applies no such definition: %v", definition, err)
			continue
		}
		for _, a := range list {
			if a.Absent != "" {
				t.Errorf("%s: %v are called absent, and the installation applies the definition", definition, a.Names)
			}
		}
	}
	settings, err := os.ReadFile(filepath.Join(repository, "infra", "settings.go"))
	if err != nil {
		t.Fatal(err)
	}
	gates := map[string]bool{}
	for _, match := range regexp.MustCompile(`gate (\w+)`).FindAllStringSubmatch(string(settings), -1) {
		gates[match[1]] = true
	}
	if len(gates) < 4 {
		t.Errorf("the settings name the gates %v: does the test still find them?", gates)
	}
	for _, a := range given.Gates {
		for _, name := range a.Names {
			if a.Absent != "" && gates[name] {
				t.Errorf("the gate %s is called absent, and a setting stands for it", name)
			}
		}
	}
}

func read(t *testing.T) answers {
	t.Helper()
	text, err := os.ReadFile("answers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var given answers
	if err := yaml.UnmarshalStrict(text, &given); err != nil {
		t.Fatal(err)
	}
	return given
}

// compare reports names without an answer, with several, and those that Karpenter does not have.
func compare(t *testing.T, what string, given []answer, want map[string]bool) {
	t.Helper()
	if len(want) == 0 {
		t.Errorf("%s: none found in Karpenter's module", what)
	}
	times := map[string]int{}
	for _, a := range given {
		for _, name := range a.Names {
			times[name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if times[name] != 1 {
			t.Errorf("%s: %s has %d answers in answers.yaml, want one", what, name, times[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(times)) {
		if !want[name] {
			t.Errorf("%s: Karpenter has no %s", what, name)
		}
	}
}

// module is the folder of a module that this module requires.
func module(t *testing.T, path string) string {
	t.Helper()
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatalf("finding %s: %v", path, err)
	}
	return strings.TrimSpace(string(listed))
}

// fields are the fields without further fields of each definition in the folder, by its name.
func fields(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found[crd.Name] = map[string]bool{}
		for _, version := range crd.Spec.Versions {
			leaves(version.Schema.OpenAPIV3Schema, "", found[crd.Name])
		}
	}
	return found
}

// leaves adds the fields of a schema that have no further fields.
func leaves(schema *apiextensionsv1.JSONSchemaProps, path string, into map[string]bool) {
	within := false
	for name, property := range schema.Properties {
		within = true
		leaves(&property, strings.TrimPrefix(path+"."+name, "."), into)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		within = true
		leaves(schema.Items.Schema, path+"[]", into)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		within = true
		leaves(schema.AdditionalProperties.Schema, path+"{}", into)
	}
	if !within {
		into[path] = true
	}
}

// keys are the labels, annotations, taints, finalizers and tags of Karpenter's groups.
func keys(t *testing.T, core, aws string) map[string]bool {
	t.Helper()
	const constant = `= (\w*apis\.\w*Group) \+ "(/[^"]+)"`
	found := map[string]bool{}
	for folder, group := range map[string]string{core: api.Group, aws: api.AWSGroup} {
		walk(t, filepath.Join(folder, "pkg", "apis"), func(line string) {
			match := regexp.MustCompile(constant).FindStringSubmatch(line)
			if match == nil {
				return
			}
			of := group
			switch match[1] {
			case "coreapis.Group":
				of = api.Group
			case "apis.CompatibilityGroup":
				of = "compatibility." + group
			}
			found[of+match[2]] = true
		})
	}
	return found
}

// events are the reasons of Karpenter's events.
func events(t *testing.T, core, aws string) map[string]bool {
	t.Helper()
	found := matches(t, `^\s+\w+\s*= "([A-Z]\w+)"$`, filepath.Join(core, "pkg", "events"))
	for _, folder := range []string{core, aws} {
		err := filepath.WalkDir(filepath.Join(folder, "pkg"), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "events.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range regexp.MustCompile(`Reason:\s+"(\w+)"`).FindAllSubmatch(text, -1) {
				found[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// matches are the texts of the pattern's group in the lines of the folders' Go files.
func matches(t *testing.T, pattern string, folders ...string) map[string]bool {
	t.Helper()
	expression, found := regexp.MustCompile(pattern), map[string]bool{}
	for _, folder := range folders {
		walk(t, folder, func(line string) {
			if code, _, _ := strings.Cut(line, "//"); expression.MatchString(code) {
				found[expression.FindStringSubmatch(code)[1]] = true
			}
		})
	}
	return found
}

// walk calls a function with each line of the folder's Go files, without tests.
func walk(t *testing.T, folder string, line func(string)) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for of := range strings.Lines(string(text)) {
			line(strings.TrimRight(of, "\n"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isTest reports whether a test exists, given as folder and name.
func isTest(t *testing.T, text string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(text, " ")
	files, err := filepath.Glob(filepath.Join(repository, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

func isReason(reason string) bool {
	return slices.ContainsFunc(api.ConditionTypes(), func(c api.ConditionType) bool {
		return slices.Contains(c.Reasons, reason)
	})
}
