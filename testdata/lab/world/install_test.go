package world_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/whittle-dev/whittle/testdata/lab/s3"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// TestInstallFromARelease installs a release with the command line alone, updates it and removes it.
func TestInstallFromARelease(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	release, sums := releaseFolder(t, root)
	program := commandLine(t)
	w, err := world.Start(t.Context(), world.Options{
		Root: root, Directory: t.TempDir(), Cluster: "released", Interval: 5 * time.Second, Bare: true, Progress: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	install := func(settings ...string) string {
		t.Helper()
		arguments := []string{
			"install", "-cluster", "released", "-release", release, "-prefix", "team/whittle",
			"-bucket", s3.BootstrapBucket("hnb659fds", world.AccountID, world.Region),
			"-set", "architecture=" + world.Architecture(),
		}
		for _, setting := range settings {
			arguments = append(arguments, "-set", setting)
		}
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Env = append(os.Environ(), w.Environment()...)
		text, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return string(text)
	}

	printed := install("interval=15s")
	status, installed, err := w.Stack()
	if err != nil || status != "CREATE_COMPLETE" || len(installed) < 80 {
		t.Fatalf("the stack is %s with %d resources, %v:\n%s", status, len(installed), err, printed)
	}
	for _, line := range []string{
		"Add     AWS::Lambda::Function", "CREATE_COMPLETE Custom::WhittleInstall", "bin/whittle status",
	} {
		if !strings.Contains(printed, line) {
			t.Errorf("the output lacks %q:\n%s", line, printed)
		}
	}
	hasItsCode(t, w, sums)
	begins(t, w, program)
	if got := environment(t, w, "ticker")["TICK_INTERVAL"]; got != "15s" {
		t.Errorf("the interval is %q", got)
	}

	t.Run("to earlier versions and back", func(t *testing.T) {
		upgraded(t, w, root, func() { install("interval=15s") })
	})
	if _, installed, err = w.Stack(); err != nil {
		t.Fatal(err)
	}

	printed = install("interval=15s", "dryRun=true", "terminationProtection=false")
	status, updated, err := w.Stack()
	if err != nil || status != "UPDATE_COMPLETE" || environment(t, w, "provision")["DRY_RUN"] != "true" {
		t.Errorf("after an update the stack is %s, %v, provision has %v:\n%s", status, err, environment(t, w, "provision"),
			printed)
	}
	// A dry run has no test of events.
	maps.DeleteFunc(installed, func(id, _ string) bool { return strings.Contains(id, "Delivery") })
	if !maps.Equal(installed, updated) {
		t.Errorf("resources were replaced: %v before, %v after", installed, updated)
	}
	printed = install("interval=15s", "dryRun=true", "terminationProtection=false")
	if !strings.Contains(printed, "nothing changes") {
		t.Errorf("a repetition prints\n%s", printed)
	}
	remove(t, w)
}

// begins prints the first objects for the stack, with the role that the stack has made.
func begins(t *testing.T, w *world.World, program string) {
	t.Helper()
	role, err := w.NodeRole()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, "init", "-cluster", "released")
	command.Env = append(os.Environ(), w.Environment()...)
	text, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, part := range []string{
		"role: " + role + "\n", "karpenter.sh/discovery: released", "values: [us-east-1a, us-east-1b, us-east-1c]",
		"alias: al2023@v2026", "nodes: 10%",
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("init lacks %q:\n%s", part, text)
		}
	}
}

// releaseFolder makes a release of the functions that `make local` has built, and returns their sums.
func releaseFolder(t *testing.T, root string) (folder string, sums []string) {
	t.Helper()
	folder = t.TempDir()
	architecture := world.Architecture()
	var lines strings.Builder
	add := func(name string, content []byte) string {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		lines.WriteString(hex.EncodeToString(sum[:]) + "  " + name + "\n")
		return hex.EncodeToString(sum[:])
	}
	built, err := filepath.Glob(filepath.Join(root, "build", "functions", architecture, "*", "bootstrap"))
	if err != nil || len(built) != 9 {
		t.Fatalf("%d functions are built, want 9: run `make local` (%v)", len(built), err)
	}
	for _, path := range built {
		name := "functions/" + architecture + "/" + filepath.Base(filepath.Dir(path)) + ".zip"
		sums = append(sums, add(name, zipped(t, path)))
	}
	file := filepath.Join(t.TempDir(), "templates")
	synthesis := exec.CommandContext(t.Context(), "go", "run", "./infra/templates", "-shapes",
		architecture+","+architecture+"+dryRun", file)
	synthesis.Dir = root
	if text, err := synthesis.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	templates, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	add("templates.json.gz", templates)
	add("SHA256SUMS", []byte(lines.String()))
	return folder, sums
}

// zipped packs an executable as Lambda wants it.
func zipped(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := writer.CreateHeader(header)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// hasItsCode looks for the unpacked zip of each function, and for the answer of install, which ran.
func hasItsCode(t *testing.T, w *world.World, sums []string) {
	t.Helper()
	for _, sum := range sums {
		path := filepath.Join(w.Directory(), "lambda", "code", sum[:32], "bootstrap")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o111 == 0 {
			t.Errorf("Lambda has not unpacked the zip with the sum %s: %v", sum, err)
		}
	}
	unpacked, err := os.ReadDir(filepath.Join(w.Directory(), "lambda", "code"))
	if err != nil || len(unpacked) != len(sums) {
		t.Errorf("Lambda has unpacked %d zips, want %d: %v", len(unpacked), len(sums), err)
	}
}

// environment returns the variables of a function.
func environment(t *testing.T, w *world.World, function string) map[string]string {
	t.Helper()
	configuration, err := w.Lambda.Configuration("whittle-released-" + function)
	if err != nil {
		t.Fatal(err)
	}
	return configuration.Environment
}

// remove deletes the stack, as `aws cloudformation delete-stack` does.
func remove(t *testing.T, w *world.World) {
	t.Helper()
	client := cloudFormation(w)
	name := aws.String("Whittle-released")
	found, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: name})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: name}); err != nil {
		t.Fatal(err)
	}
	waiter := cloudformation.NewStackDeleteCompleteWaiter(client)
	err = waiter.Wait(t.Context(), &cloudformation.DescribeStacksInput{StackName: found.Stacks[0].StackId}, patience)
	if err != nil {
		t.Errorf("the stack is not removed: %v", err)
	}
	if _, err := w.Lambda.Configuration("whittle-released-ticker"); err == nil {
		t.Error("the ticker is still there")
	}
}
