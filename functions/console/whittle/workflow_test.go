package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is the part of a workflow of GitHub Actions that the test runs.
type workflow struct {
	Jobs map[string]struct {
		Steps []struct {
			Name, If, Run string
			Env           map[string]string
		}
	}
}

// pageWorkflow is the workflow that the page shows.
func pageWorkflow(t *testing.T) workflow {
	t.Helper()
	_, text, found := strings.Cut(pages(t)["functions/console/whittle/README.md"], "```yaml\n# .github/workflows/")
	text, _, _ = strings.Cut(text, "```")
	var read workflow
	if err := yaml.Unmarshal([]byte("# "+text), &read); !found || err != nil {
		t.Fatalf("the page's workflow: %v", err)
	}
	return read
}

// TestTheWorkflowOfThePageComments runs the steps of the page's workflow in a repository whose branch changes
// a Deployment. gh is a program that keeps what it is asked.
func TestTheWorkflowOfThePageComments(t *testing.T) {
	steps := map[string]string{}
	for _, step := range pageWorkflow(t).Jobs["plan"].Steps {
		steps[step.Name] = step.Run
		if step.Name == "comment" && step.If != "${{ !cancelled() }}" {
			t.Errorf("a failed plan has no comment: %q", step.If)
		}
	}
	if steps["plan"] == "" || steps["comment"] == "" {
		t.Fatalf("the workflow has the steps %v", steps)
	}
	for name, test := range map[string]struct {
		after string // the Deployment
		code  int
		parts []string
	}{
		"fewer pods": {strings.Replace(deployment, "replicas: 5", "replicas: 2", 1), 0,
			[]string{"### Nodes: ", "| new nodes | 1 | 1 | +0 |", "<summary>3 pods removed</summary>"}},
		"a pod without a place": {strings.Replace(deployment, "cpu: 600m", "cpu: 60", 1), codeUnplaced,
			[]string{"2 pods without a place now:** `shop/web-0`", "requires cpu 60",
				"3 pods without a place before and after"}},
		"a wrong file": {strings.Replace(deployment, "replicas: 5", "replicas: many", 1), 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkplace(t, test.after)
			code := w.run(t, steps["plan"])
			if code != test.code {
				t.Errorf("the plan ends with %d, want %d", code, test.code)
			}
			if code := w.run(t, steps["comment"]); code != 0 {
				t.Errorf("the comment ends with %d", code)
			}
			asked, _ := os.ReadFile(filepath.Join(w.temp, "asked"))
			summary, _ := os.ReadFile(filepath.Join(w.temp, "summary"))
			if test.parts == nil {
				if len(asked)+len(summary) > 0 {
					t.Errorf("a wrong file is commented: %s", asked)
				}
				return
			}
			if !strings.HasPrefix(string(asked), "pr comment 7 --edit-last --create-if-none --body-file nodes.md\n") {
				t.Errorf("gh is asked %s", asked)
			}
			for _, part := range test.parts {
				if !strings.Contains(string(asked), part) || !strings.Contains(string(summary), part) {
					t.Errorf("lacks %q:\n%s", part, asked)
				}
			}
		})
	}
}

// workplace is a clone in which a workflow runs.
type workplace struct {
	clone, temp string
	environment []string
}

func newWorkplace(t *testing.T, after string) *workplace {
	t.Helper()
	w := &workplace{clone: filepath.Join(t.TempDir(), "clone"), temp: t.TempDir()}
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	gh := "#!/bin/sh\n{ echo \"$@\"; cat nodes.md; } > \"$RUNNER_TEMP/asked\"\n"
	if err := errors.Join(
		os.Symlink(itself, filepath.Join(w.temp, "whittle")),
		os.WriteFile(filepath.Join(w.temp, "gh"), []byte(gh), 0o700), //nolint:gosec // a program
		os.MkdirAll(filepath.Join(w.clone, "deploy"), 0o755),
		os.WriteFile(filepath.Join(w.clone, "deploy", "shop.yaml"), []byte(deployment), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	w.environment = append(os.Environ(),
		"PATH="+w.temp+string(filepath.ListSeparator)+os.Getenv("PATH"), "RUNNER_TEMP="+w.temp, "GITHUB_BASE_REF=main",
		"GITHUB_STEP_SUMMARY="+filepath.Join(w.temp, "summary"), "GH_TOKEN=token", "NUMBER=7", asProgram+"=yes",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
	)
	setUp := "git init -q -b main . && git add . && git commit -qm before && git update-ref refs/remotes/origin/main " +
		"HEAD && " +
		"git checkout -qb change"
	if code := w.run(t, setUp); code != 0 {
		t.Fatalf("git ends with %d", code)
	}
	if err := os.WriteFile(filepath.Join(w.clone, "deploy", "shop.yaml"), []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// run runs a step as GitHub's runner does, and returns its exit code.
func (w *workplace) run(t *testing.T, script string) int {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	command.Dir, command.Env = w.clone, w.environment
	text, err := command.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Logf("%s", text)
	return command.ProcessState.ExitCode()
}
