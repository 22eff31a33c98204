package formats

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/awslabs/amazon-eks-ami/nodeadm/api/v1alpha1"
	"sigs.k8s.io/yaml"
)

// TestNodeadmReadsTheUserData gives the user data of AL2023 to nodeadm itself, as its instance does.
// Package nodeclass compares what it writes with these files.
func TestNodeadmReadsTheUserData(t *testing.T) {
	nodeadm := filepath.Join(t.TempDir(), "nodeadm")
	built := exec.CommandContext(t.Context(), "go", "build", "-o", nodeadm,
		"github.com/awslabs/amazon-eks-ami/nodeadm/cmd/nodeadm")
	if output, err := built.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	for _, file := range userData(t) {
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if output, err := check(t, nodeadm, string(written)); err != nil {
			t.Errorf("%s: %v: %s", filepath.Base(file), err, output)
		}
		// Without this the check might accept anything.
		broken := strings.Replace(string(written), "apiServerEndpoint: ", "apiServerEndpoint: {is: x} # ", 1)
		if output, err := check(t, nodeadm, broken); err == nil {
			t.Errorf("%s: nodeadm accepts an endpoint that is no text: %s", filepath.Base(file), output)
		}
	}
}

// userData returns the files.
func userData(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../shared/nodeclass/testdata/userdata/al2023-*")
	if err != nil || len(files) < 4 {
		t.Fatalf("user data %q, %v", files, err)
	}
	return files
}

// check serves the user data as instance metadata, and runs nodeadm's own check.
func check(t *testing.T, nodeadm, userData string) (output string, err error) {
	t.Helper()
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
			_, _ = w.Write([]byte("token"))
		case "/latest/user-data":
			_, _ = w.Write([]byte(userData))
		default:
			t.Errorf("nodeadm asks for %s", r.URL.Path)
		}
	}))
	defer metadata.Close()
	command := exec.CommandContext(t.Context(), nodeadm, "config", "check", "-c", "imds://user-data")
	command.Env = append(os.Environ(), "AWS_EC2_METADATA_SERVICE_ENDPOINT="+metadata.URL)
	text, err := command.CombinedOutput()
	return string(text), err
}

// TestTheNodeConfigIsNodeadms holds that the cluster's NodeConfig has no field that nodeadm ignores,
// and every field that nodeadm requires.
func TestTheNodeConfigIsNodeadms(t *testing.T) {
	for _, file := range userData(t) {
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var config v1alpha1.NodeConfig
		if err := yaml.UnmarshalStrict(lastPart(t, written), &config); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		cluster := config.Spec.Cluster
		if config.GroupVersionKind() != v1alpha1.GroupVersion.WithKind("NodeConfig") || cluster.Name == "" ||
			cluster.APIServerEndpoint == "" || len(cluster.CertificateAuthority) == 0 || cluster.CIDR == "" {
			t.Errorf("%s: the cluster is %+v", filepath.Base(file), cluster)
		}
		if storage := config.Spec.Instance.LocalStorage.Strategy; storage != "" && storage != v1alpha1.LocalStorageRAID0 {
			t.Errorf("%s: local storage is %q", filepath.Base(file), storage)
		}
	}
}

// lastPart returns the NodeConfig that nodeadm merges last.
func lastPart(t *testing.T, userData []byte) []byte {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(userData))
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	var last []byte
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return last
		}
		if err == nil {
			last, err = io.ReadAll(part)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
