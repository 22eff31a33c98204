package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/whittle-dev/whittle/functions/console/administrator"
	"github.com/whittle-dev/whittle/infra/cfntemplate"
	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

// smallRelease is the folder of a release with one function and a small template.
func smallRelease(t *testing.T) string {
	t.Helper()
	bundle := &cfntemplate.Bundle{
		Version: "0.9.0", Functions: []string{"install"},
		Settings: []cfntemplate.Setting{
			{Key: "architecture", Pattern: "arm64|x86_64", Default: "arm64", Example: "x86_64"},
			{Key: "interval", Pattern: "[0-9]+s", Default: "10s", Placeholder: "INTERVAL", Duration: true, Example: "5s"},
		},
		Templates: map[string]json.RawMessage{"": json.RawMessage(`{"Bucket":"` + cfntemplate.CodeBucket +
			`","Key":"` + cfntemplate.CodeKey + `install","Interval":"INTERVAL","Hash":"` + cfntemplate.ManifestHash + `"}`)},
	}
	packed, err := bundle.Write()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	var sums strings.Builder
	for name, content := range map[string]string{
		cfntemplate.Name: string(packed), "functions/arm64/install.zip": "zip", "functions/x86_64/install.zip": "another",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		overwrite(t, path, content)
		sum := sha256.Sum256([]byte(content))
		sums.WriteString(hex.EncodeToString(sum[:]) + "  " + name + "\n")
	}
	if err := os.WriteFile(filepath.Join(folder, "SHA256SUMS"), []byte(sums.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestInstallPrintsATemplate checks the template and the commands, which have to agree about the code.
func TestInstallPrintsATemplate(t *testing.T) {
	release := smallRelease(t)
	text, problems, err := runPlan(t, "", "install", "-cluster", "a_b", "-release", release, "-bucket", "zips", "-prefix",
		"/team/whittle/", "-set", "interval=5s", "-print")
	if err != nil {
		t.Fatal(err)
	}
	var made map[string]string
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	folder, isKey := strings.CutSuffix(made["Key"], "/install.zip")
	sum := sha256.Sum256([]byte("zip"))
	if made["Bucket"] != "zips" || made["Interval"] != "5s" || made["Hash"] != hex.EncodeToString(sum[:]) || !isKey ||
		!strings.HasPrefix(folder, "team/whittle/0.9.0-") || !strings.HasSuffix(folder, "/arm64") {
		t.Errorf("the template is %v", made)
	}
	stack := cfntemplate.NamesOf("a_b").Stack
	for _, part := range []string{
		"aws s3 cp --recursive " + release + "/functions/arm64 s3://zips/" + folder + "\n",
		"aws cloudformation deploy --stack-name " + stack + " --template-file " + stack + ".template.json \\\n  --s3-bucket zips",
		"--capabilities CAPABILITY_NAMED_IAM",
	} {
		if !strings.Contains(problems, part) {
			t.Errorf("the commands lack %q:\n%s", part, problems)
		}
	}
}

// TestInstallRefuses checks that each message names the flag and a remedy.
func TestInstallRefuses(t *testing.T) {
	release := smallRelease(t)
	for name, test := range map[string]struct {
		change func(t *testing.T, release string)
		flags  string
		want   []string
		usage  bool
	}{
		"no cluster":         {nil, "-release DIR -bucket zips", []string{"-cluster is missing", "EKS cluster"}, true},
		"no release":         {nil, "-cluster prod -bucket zips", []string{"-release is missing", "unpacked release"}, true},
		"no bucket":          {nil, "-cluster prod -release DIR", []string{`-bucket ""`, "region"}, true},
		"a bucket's address": {nil, "-cluster prod -release DIR -bucket s3://zips", []string{`-bucket "s3://zips"`}, true},
		"a prefix with a space": {nil, "-cluster prod -release DIR -bucket zips -prefix a?b", []string{
			`-prefix "a?b"`, "team/whittle",
		}, true},
		"a cluster's ARN": {nil, "-cluster arn:aws -release DIR -bucket zips", []string{"-cluster: ", "list-clusters"}, true},
		"a word too many": {nil, "-cluster prod -release DIR -bucket zips interval=5s", []string{"-set key=value"}, true},
		"a setting without a value": {nil, "-cluster prod -release DIR -bucket zips -set interval", []string{
			"-set interval=5s",
		}, true},
		"an unknown setting": {nil, "-cluster prod -release DIR -bucket zips -set intervall=5s", []string{
			"-set intervall: ", "did you mean interval?",
		}, false},
		"a wrong value": {nil, "-cluster prod -release DIR -bucket zips -set interval=fast", []string{
			`-set interval: "fast"`, "interval=5s",
		}, false},
		"a wrong key": {nil, "-cluster prod -release DIR -bucket zips -release-key x", []string{"-release-key: "}, false},
		"a changed zip": {func(t *testing.T, release string) {
			overwrite(t, filepath.Join(release, "functions", "arm64", "install.zip"), "changed")
		}, "-cluster prod -release DIR -bucket zips", []string{
			"-release: functions/arm64/install.zip", "was changed after the release",
		}, false},
		"changed templates": {func(t *testing.T, release string) {
			overwrite(t, filepath.Join(release, cfntemplate.Name), "changed")
		}, "-cluster prod -release DIR -bucket zips", []string{"-release: " + cfntemplate.Name, "was changed"}, false},
		"no folder of a release": {func(t *testing.T, release string) {
			if err := os.Remove(filepath.Join(release, "SHA256SUMS")); err != nil {
				t.Fatal(err)
			}
		}, "-cluster prod -release DIR -bucket zips", []string{"-release: SHA256SUMS is not in"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := release
			if test.change != nil {
				folder = smallRelease(t)
				test.change(t, folder)
			}
			arguments := strings.Fields(strings.ReplaceAll(test.flags, "DIR", folder))
			_, problems, err := runPlan(t, "", append([]string{"install", "-print"}, arguments...)...)
			if err == nil || errors.Is(err, errUsage) != test.usage {
				t.Fatalf("%v", err)
			}
			for _, part := range test.want {
				if !strings.Contains(problems+err.Error(), part) {
					t.Errorf("%s%v: it lacks %q", problems, err, part)
				}
			}
		})
	}
}

// TestInstallChecksTheSignature has releases of this version, of another one, and without a signature.
func TestInstallChecksTheSignature(t *testing.T) {
	release := smallRelease(t)
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(release, signature.SumsName))
	if err != nil {
		t.Fatal(err)
	}
	try := func(flags ...string) (string, error) {
		_, problems, err := runPlan(t, "", append([]string{
			"install", "-cluster", "prod", "-release", release, "-bucket", "zips", "-print",
		}, flags...)...)
		return problems, err
	}
	if _, err := try("-release-key", public.String()); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("an unsigned release: %v", err)
	}
	for of, want := range map[string]string{version.Version: "", "0.0.1": "the signed release is 0.0.1"} {
		signed, err := signature.Sign(secret, sums, signature.Source{Version: of, Commit: strings.Repeat("a", 40)})
		if err != nil {
			t.Fatal(err)
		}
		overwrite(t, filepath.Join(release, signature.Name), string(signed))
		problems, err := try("-release-key", public.String())
		if want == "" && (err != nil || !strings.Contains(problems, "is signed by the key")) ||
			want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a release of %s: %v\n%s", of, err, problems)
		}
	}
	if problems, err := try(); err != nil || !strings.Contains(problems, "give the key that made it as -release-key") {
		t.Errorf("a signed release without a key: %v\n%s", err, problems)
	}
}

func overwrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// noted notes what is asked of it, and answers with an error.
type noted struct {
	did   []string
	first error // the answer to Grant
}

func (n *noted) Grant(context.Context) (string, error) {
	n.did = append(n.did, "grant")
	return "", n.first
}

func (n *noted) Revoke(context.Context) (string, error) {
	n.did = append(n.did, "revoke")
	return "", nil
}

// TestTheRightLastsForTheDeployment holds the order of the steps, and what a failed one leaves.
func TestTheRightLastsForTheDeployment(t *testing.T) {
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		when         string
		grant, apply error
		want         string
		err          error
	}{
		"always":               {when: "always", want: "deploy"},
		"for the deployment":   {when: "deployment", want: "grant deploy revoke"},
		"the first deployment": {when: "deployment", grant: administrator.ErrNotInstalled, want: "grant deploy revoke"},
		"nobody may grant":     {when: "deployment", grant: failed, want: "grant", err: failed},
		"a failed deployment":  {when: "deployment", apply: failed, want: "grant deploy", err: failed},
	} {
		t.Run(name, func(t *testing.T) {
			of := &noted{first: test.grant}
			made := &installation{options: installOptions{administrator: test.when}}
			err := made.within(t.Context(), of, func() error {
				of.did = append(of.did, "deploy")
				return test.apply
			})
			if got := strings.Join(of.did, " "); got != test.want || !errors.Is(err, test.err) {
				t.Errorf("did %q with %v, want %q with %v", got, err, test.want, test.err)
			}
		})
	}
}
