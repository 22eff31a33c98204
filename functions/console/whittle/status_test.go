package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// output runs a command line and returns its output.
func output(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	var out, problems bytes.Buffer
	err := run(t.Context(), arguments, strings.NewReader(""), &out, &problems)
	if problems.Len() > 0 {
		t.Errorf("%q complains: %s", arguments, problems.String())
	}
	return out.String(), err
}

// want checks that the error contains all of the parts.
func want(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error is %v, want one that says %q", err, part)
		}
	}
}

func TestStatusNamesWhatIsWrongWithTheKubeconfig(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	unreachable := httptest.NewServer(http.NotFoundHandler())
	unreachable.Close()
	over := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(over)
	foreign := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(foreign.Close)
	foreign.Config.ErrorLog = log.New(io.Discard, "", 0)
	write := func(content string) string {
		file := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	configured := fmt.Sprintf(`{"current-context": "a",
		"contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}},
			{"name": "b", "context": {"cluster": "a", "user": "a"}}],
		"clusters": [{"name": "a", "cluster": {"server": %q}}],
		"users": [{"name": "a", "user": {"token": "x"}}]}`, unreachable.URL)
	config := write(configured)
	// A plugin's credentials are not sent without TLS.
	https := strings.Replace(configured, unreachable.URL, foreign.URL, 1)
	for _, test := range []struct {
		name      string
		arguments []string
		want      string
	}{
		{"none", nil, "no kubeconfig: run `aws eks update-kubeconfig"},
		{"no such file", []string{"-kubeconfig", "/nowhere/config"}, `"/nowhere/config"`},
		{"malformed", []string{"-kubeconfig", write("{")}, "write another with `aws eks update-kubeconfig"},
		{"no such context", []string{"-kubeconfig", config, "-context", "c"},
			`no context "c": pass -context with one of a, b`},
		{"no current context", []string{"-kubeconfig", write(strings.Replace(configured, `"a"`, `""`, 1))},
			"pass -context with one of a, b"},
		{"slow", []string{"-kubeconfig", write(strings.Replace(configured, unreachable.URL, slow.URL, 1)),
			"-request-timeout", "300ms"}, "answers slowly, or not at all: wait longer with -request-timeout"},
		{"unreachable", []string{"-kubeconfig", config, "-context", "b"},
			`the cluster of context "b" at ` + unreachable.URL + " does not answer: is it running"},
		{"unknown address", []string{"-kubeconfig", write(strings.Replace(configured, unreachable.URL,
			"https://cluster.invalid", 1))}, `nothing has the address of the cluster of context "a"`},
		{"foreign certificate", []string{"-kubeconfig", write(https)},
			"is not the one that the kubeconfig expects"},
		{"no plugin", []string{"-kubeconfig", write(strings.Replace(https, `"token": "x"`, `"exec": {"command":
			"no-such-plugin", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}`, 1))},
			`signs in with "no-such-plugin", which is not installed`},
		{"a plugin that fails", []string{"-kubeconfig", write(strings.Replace(https, `"token": "x"`, `"exec":
			{"command": "false", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}`, 1))},
			`the program with which context "a" signs in has failed`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := output(t, append([]string{"status"}, test.arguments...)...)
			want(t, err, test.want)
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		err       error
		problem   string
	}{
		{nil, errUsage, "whittle status"},
		{[]string{"statsu"}, errUsage, `no command "statsu"`},
		{[]string{"status", "everything"}, errUsage, `["everything"]`},
		{[]string{"status", "-output", "xml"}, errUsage, "want table, wide, json, yaml, name, jsonpath="},
		{[]string{"status", "-outputs", "json"}, errUsage, "-outputs"},
		{[]string{"status", "-h"}, flag.ErrHelp, "-kubeconfig"},
	} {
		var out, problems bytes.Buffer
		err := run(t.Context(), test.arguments, strings.NewReader(""), &out, &problems)
		if !errors.Is(err, test.err) || !strings.Contains(problems.String(), test.problem) || out.Len() > 0 {
			t.Errorf("%q: %v, %q, out %q", test.arguments, err, problems.String(), out.String())
		}
	}
	var out, problems bytes.Buffer
	err := run(t.Context(), []string{"help"}, strings.NewReader(""), &out, &problems)
	if err != nil || !strings.Contains(out.String(), "whittle status") {
		t.Errorf("help: %v, %q", err, out.String())
	}
}
