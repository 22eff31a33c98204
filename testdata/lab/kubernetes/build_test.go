package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// smallModule stands for the control plane's module. It requires a k8s.io/kubernetes of its own and
// prints the version from the linker, in a second instead of minutes.
func smallModule(t *testing.T) (source string) {
	t.Helper()
	source = t.TempDir()
	for path, content := range map[string]string{
		"go.mod": "module example.com/controlplane\n\ngo 1.26\n\n" +
			"require (\n\tk8s.io/component-base v0.36.3\n\tk8s.io/kubernetes v1.36.3\n)\n\n" +
			"replace (\n\tk8s.io/component-base => ./base\n\tk8s.io/kubernetes => ./kubernetes\n)\n",
		"go.sum": "",
		"main.go": "package main\n\nimport \"k8s.io/component-base/version\"\n\nfunc main() { " +
			"print(version.Text()) }\n",
		"kubernetes/go.mod": "module k8s.io/kubernetes\n",
		"base/go.mod":       "module k8s.io/component-base\n",
		"base/version/version.go": "package version\n\nvar gitVersion, gitMajor, gitMinor string\n\nfunc Text() string { " +
			"return gitVersion + \" \" + gitMajor + \" \" + gitMinor }\n",
	} {
		writeSource(t, source, path, content)
	}
	return source
}

func writeSource(t *testing.T, source, path, content string) {
	t.Helper()
	path = filepath.Join(source, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestBuildIsDoneOnce(t *testing.T) {
	source, cache := smallModule(t), t.TempDir()
	// Cross-compiling the functions must not reach the control plane, which runs here.
	t.Setenv("GOARCH", "riscv64")
	var builds sync.WaitGroup
	var progress [2]bytes.Buffer
	var binaries [2]string
	for i := range progress {
		builds.Go(func() {
			binary, err := build(t.Context(), source, "go.mod", cache, &progress[i])
			if err != nil {
				t.Error(err)
			}
			binaries[i] = binary
		})
	}
	builds.Wait()
	if t.Failed() {
		t.FailNow()
	}
	if binaries[0] != binaries[1] {
		t.Errorf("two builds of the same gave %q and %q", binaries[0], binaries[1])
	}
	if told := progress[0].String() + progress[1].String(); strings.Count(told, "built ") != 1 {
		t.Errorf("two at the same time should build once:\n%s", told)
	}
	output, err := exec.Command(binaries[0]).CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	if string(output) != "v1.36.3 1 36" {
		t.Errorf("the binary says it is %q", output)
	}

	var again bytes.Buffer
	binary, err := build(t.Context(), source, "go.mod", cache, &again)
	if err != nil {
		t.Fatal(err)
	}
	if binary != binaries[0] || again.Len() > 0 {
		t.Errorf("an unchanged module was built again, to %q: %s", binary, again.String())
	}
	writeSource(t, source, "main_test.go", "package main\n")
	if binary, err = build(t.Context(), source, "go.mod", cache, &again); err != nil || binary != binaries[0] {
		t.Errorf("a test file changed the build: %q, %v", binary, err)
	}
	writeSource(t, source, "more.go", "package main\n")
	if binary, err = build(t.Context(), source, "go.mod", cache, &again); err != nil || binary == binaries[0] {
		t.Errorf("a source file did not change the build: %q, %v", binary, err)
	}
}

func TestBuildReportsErrors(t *testing.T) {
	for name, test := range map[string]struct{ path, content, want string }{
		"source that does not compile": {"main.go", "package main\n\nfunc main() { undefined() }\n", "undefined: undefined"},
		"module without Kubernetes": {
			"go.mod", "module example.com/controlplane\n\ngo 1.26\n", "does not require k8s.io/kubernetes",
		},
		"module that is broken": {"go.mod", "modul\n", "go.mod"},
	} {
		t.Run(name, func(t *testing.T) {
			source, cache := smallModule(t), t.TempDir()
			writeSource(t, source, test.path, test.content)
			binary, err := build(t.Context(), source, "go.mod", cache, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error should contain %q: %v (binary %q)", test.want, err, binary)
			}
		})
	}
	t.Run("no module", func(t *testing.T) {
		root := t.TempDir()
		if _, err := Build(t.Context(), root, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), root) {
			t.Errorf("the error should name %q: %v", root, err)
		}
	})
	t.Run("no such version", func(t *testing.T) {
		source := smallModule(t)
		writeSource(t, source, "go-1.35.mod", "module example.com/controlplane\n")
		if name, err := moduleFile(source, "1.35"); name != "go-1.35.mod" || err != nil {
			t.Errorf("1.35 is in %q: %v", name, err)
		}
		if name, err := moduleFile(source, "1.2"); err == nil || !strings.Contains(err.Error(), "only 1.35;") {
			t.Errorf("the error should name the versions: %v (%q)", err, name)
		}
	})
	t.Run("no time", func(t *testing.T) {
		source, cache := smallModule(t), t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := build(ctx, source, "go.mod", cache, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
			t.Errorf("the error should say that it was cancelled: %v", err)
		}
	})
}
