package kubernetes

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCertificates(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "certificates")
	if err := ensureCertificates(directory); err != nil {
		t.Fatal(err)
	}
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(directory, name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(read(authorityCertificate)) {
		t.Fatal("the authority's certificate cannot be read")
	}
	parse := func(certificate, key string) *x509.Certificate {
		pair, err := tls.X509KeyPair(read(certificate), read(key))
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}

	serving := parse(servingCertificate, servingKey)
	for _, name := range []string{"127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"} {
		options := x509.VerifyOptions{
			Roots: authority, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		if _, err := serving.Verify(options); err != nil {
			t.Errorf("serving %s: %v", name, err)
		}
	}
	if _, err := serving.Verify(x509.VerifyOptions{
		Roots: authority, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err == nil {
		t.Error("the serving certificate would pass as a client's")
	}
	admin := parse(adminCertificate, adminKey)
	if _, err := admin.Verify(x509.VerifyOptions{
		Roots: authority, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		t.Error(err)
	}
	if !slices.Contains(admin.Subject.Organization, "system:masters") {
		t.Errorf("the admin's groups are %q", admin.Subject.Organization)
	}
	block, _ := pem.Decode(read(serviceAccountKey))
	if block == nil {
		t.Fatal("the service account key is not PEM")
	}
	if _, err := x509.ParseECPrivateKey(block.Bytes); err != nil {
		t.Error(err)
	}

	before := read(authorityCertificate)
	if err := ensureCertificates(directory); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, read(authorityCertificate)) {
		t.Error("certificates that are there were made anew")
	}
	entries, err := os.ReadDir(filepath.Dir(directory))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("something is left beside the directory: %v", entries)
	}
}
