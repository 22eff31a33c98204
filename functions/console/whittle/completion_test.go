package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// asProgram is a variable with which the program of the tests is the command.
const asProgram = "WHITTLE_TESTS_ARE_THE_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// namesServer answers as an API server does that is asked for tables. Each path has its names.
func namesServer(t *testing.T, names map[string][]string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept"), "as=Table") || names[r.URL.Path] == nil {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind": "Status", "status": "Failure", "code": 403}`)
			return
		}
		fmt.Fprint(w, `{"kind": "Table", "columnDefinitions": [{"name": "Age"}, {"name": "Name", "format": "name"}], `+
			`"rows": [`)
		for i, name := range names[r.URL.Path] {
			fmt.Fprintf(w, `%s{"cells": ["1d", %q]}`, strings.Repeat(",", min(i, 1)), name)
		}
		fmt.Fprint(w, "]}")
	}))
	t.Cleanup(server.Close)
	return kubeconfigOf(t, server.URL)
}

func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["one"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["prod"] = &clientcmdapi.Context{Cluster: "one"}
	config.Contexts["arn:aws:eks:eu-west-1:123456789012:cluster/staging"] = &clientcmdapi.Context{Cluster: "one"}
	config.CurrentContext = "prod"
	file := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCandidates asks the hidden command what may stand at the last word.
func TestCandidates(t *testing.T) {
	t.Setenv("KUBECONFIG", namesServer(t, map[string][]string{
		"/api/v1/namespaces": {"default", "shop"}, "/api/v1/namespaces/default/pods": {"web-0", "web-1", "db-0"},
		"/api/v1/namespaces/shop/pods": {"cart-0"}, "/api/v1/nodes": {"ip-10-0-1-2"},
		"/apis/karpenter.sh/v1/nodepools": {"default", "gpu"}, "/apis/apps/v1/namespaces/shop/deployments": {"cart"},
	}))
	for _, test := range []struct {
		words string
		want  string
	}{
		{"pl", "plan"}, {"version -o y", "yaml"}, {"help ev", "events"}, {"completion z", "zsh"}, {"nonsense ", ""},
		{"plan -policy ", "Respect Ignore"}, {"plan --policy=I", "Ignore"}, {"plan -prices ", "built-in aws"},
		{"status -o ", "table wide json yaml name jsonpath= jsonpath-as-json= jsonpath-file= custom-columns= " +
			"custom-columns-file="},
		{"check -authentication-mode ", "API CONFIG_MAP"}, {"plan --exi", "--exit-code"}, {"plan -exi", "-exit-code"},
		{"status -context ", "arn:aws:eks:eu-west-1:123456789012:cluster/staging prod"},
		{"status -n ", "default shop"}, {"events --namespace=s", "shop"},
		{"explain nodep", "nodepool"}, {"explain pod ", "web-0 web-1 db-0"}, {"explain pods web", "web-0 web-1"},
		{"explain -n shop pod ", "cart-0"}, {"explain pod shop/", "shop/cart-0"}, {"explain pod/web-1", "pod/web-1"},
		{"explain pod/shop/c", "pod/shop/cart-0"}, {"explain deploy ca -n shop ", ""},
		{"explain deploy/ -n shop deploy/", ""},
		{"explain -n shop deploy/", "deploy/cart"}, {"explain no ", "ip-10-0-1-2"}, {"explain nodepool g", "gpu"},
		{"explain nodeclaim ", ""}, // the server forbids it
		{"explain -f testdata/plan/pods.yaml pod web", "web-0 web-1"},
		{"explain -f testdata/consolidate nodeclaim default-b", "default-busy"},
		{"plan -max-price ", ""}, {"plan -consolidate ", ""},
	} {
		text, problems, err := runPlan(t, "", append([]string{completeCommand}, strings.Split(test.words, " ")...)...)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		var got []string
		for _, line := range lines[:len(lines)-1] {
			word, _, _ := strings.Cut(line, "\t")
			got = append(got, word)
		}
		if err != nil || problems != "" || strings.Join(got, " ") != test.want {
			t.Errorf("%q: %v, %q, %q, want %q", test.words, err, problems, got, test.want)
		}
		if last := lines[len(lines)-1]; !slices.Contains([]string{":4", ":6"}, last) {
			t.Errorf("%q ends with %q", test.words, last)
		}
	}
	for _, words := range []string{"plan -f ", "plan -f=", "plan -f a.yaml ", "status -kubeconfig "} {
		text, _, err := runPlan(t, "", append([]string{completeCommand}, strings.Split(words, " ")...)...)
		if err != nil || text != ":0\n" {
			t.Errorf("%q asks for files: %v, %q", words, err, text)
		}
	}
}

// TestEachFlagWithAChoiceIsCompleted finds flags whose help lists values in the form A|B.
func TestEachFlagWithAChoiceIsCompleted(t *testing.T) {
	found := 0
	for _, c := range commands() {
		flags := flagsOf(c)
		for _, line := range strings.Split(helpOf(t, c.name), "\n") {
			fields := strings.Fields(line)
			if !strings.HasPrefix(line, "  -") || len(fields) != 2 || !strings.Contains(fields[1], "|") {
				continue
			}
			found++
			of := (&typed{flags: flags}).values(t.Context(), strings.TrimPrefix(fields[0], "-"))
			if strings.Join(of.words, "|") != fields[1] {
				t.Errorf("%s %s completes to %q", c.name, line, of.words)
			}
		}
	}
	if found < 6 {
		t.Errorf("only %d flags have values: does the test still find them?", found)
	}
}

func helpOf(t *testing.T, command string) string {
	t.Helper()
	text, _, _ := runPlan(t, "", "help", command)
	return text
}

// TestCompletionIsSilent asks clusters that nobody can ask.
func TestCompletionIsSilent(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	silent := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-silent }))
	defer hangs.Close()
	defer close(silent)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, test := range map[string]struct {
		ctx        context.Context
		kubeconfig string
	}{
		"no kubeconfig": {t.Context(), filepath.Join(t.TempDir(), "none")},
		"no server":     {t.Context(), kubeconfigOf(t, gone.URL)},
		"no answer":     {ended, kubeconfigOf(t, hangs.URL)}, "no kind": {t.Context(), namesServer(t, nil)},
	} {
		var out, problems strings.Builder
		words := []string{completeCommand, "explain", "-kubeconfig", test.kubeconfig, "pod", ""}
		err := run(test.ctx, words, strings.NewReader(""), &out, &problems)
		if err != nil || out.String() != ":4\n" || problems.Len() > 0 {
			t.Errorf("%s: %v, %q, %q", name, err, out.String(), problems.String())
		}
	}
}

// TestCompletionInShells asks real shells, and kubectl. Only bash has to be there.
func TestCompletionInShells(t *testing.T) {
	folder := t.TempDir()
	itself, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"whittle", "kubectl-whittle", "kubectl_complete-whittle"} {
		if err := os.Symlink(itself, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(asProgram, "yes")
	t.Setenv("PATH", folder+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("KUBECONFIG", kubeconfigOf(t, "http://127.0.0.1:1"))
	asked := func(t *testing.T, program string, arguments ...string) string {
		t.Helper()
		if _, err := exec.LookPath(program); err != nil && program != "bash" {
			t.Skipf("no %s here", program)
		}
		text, err := exec.CommandContext(t.Context(), program, arguments...).Output()
		if err != nil {
			t.Fatalf("%s %q: %v", program, arguments, err)
		}
		return strings.TrimSpace(string(text))
	}
	t.Run("bash", func(t *testing.T) {
		// Readline splits words at = and at colons.
		for words, want := range map[string]string{
			"whittle pl": "plan", "kubectl-whittle pl": "plan", "whittle explain sta": "statefulset",
			"whittle plan --policy =": "Respect Ignore", "whittle plan --policy = R": "Respect",
			"whittle plan --policy R":            "Respect",
			"whittle plan -o jsonpath-a":         "jsonpath-as-json=",
			"whittle status -context arn : aws":  "aws:eks:eu-west-1:123456789012:cluster/staging",
			"whittle status -context = arn : aw": "aws:eks:eu-west-1:123456789012:cluster/staging",
			"whittle plan -f ''":                 "", "whittle nonsense ''": "",
		} {
			script := "source <(whittle completion bash); COMP_WORDS=(" + words + "); " +
				"COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _whittle; echo \"${COMPREPLY[@]}\""
			if got := asked(t, "bash", "--norc", "-c", script); got != want {
				t.Errorf("%s: %q, want %q", words, got, want)
			}
		}
	})
	t.Run("fish", func(t *testing.T) {
		for line, want := range map[string]string{
			"whittle explain sta": "statefulset", "whittle plan --policy=R": "--policy=Respect", "whittle completion z": "zsh",
		} {
			got := asked(t, "fish", "--no-config", "-c", "whittle completion fish | source; complete -C '"+line+"'")
			if got != want {
				t.Errorf("%s: %q, want %q", line, got, want)
			}
		}
	})
	t.Run("zsh", func(t *testing.T) {
		if got := asked(t, "zsh", "-f", "-c", "whittle completion zsh | zsh -n; whittle completion zsh | head -1"); got !=
			"#compdef whittle kubectl-whittle" {
			t.Errorf("zsh says %q", got)
		}
	})
	t.Run("kubectl", func(t *testing.T) {
		for _, word := range []string{"sta", "pod/"} {
			want := map[string]string{"sta": "statefulset\n:4", "pod/": ":4"}[word]
			if got := asked(t, "kubectl", "__complete", "whittle", "explain", word); got != want {
				t.Errorf("%s: %q, want %q", word, got, want)
			}
		}
	})
	t.Run("the script for kubectl", func(t *testing.T) {
		script := asked(t, "bash", "-c", "whittle completion kubectl")
		if got := asked(t, "bash", "-c", script, "sh", "explain", "sta"); got != "statefulset\n:4" {
			t.Errorf("it prints %q", got)
		}
	})
}
