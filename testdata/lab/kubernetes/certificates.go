package kubernetes

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLifetime outlasts any state directory.
const certificateLifetime = 10 * 365 * 24 * time.Hour

// Files in the certificate directory. Keys are ECDSA P-256, made in a millisecond where RSA takes
// half a second.
const (
	authorityCertificate = "authority.crt"
	servingCertificate   = "serving.crt"
	servingKey           = "serving.key"
	adminCertificate     = "admin.crt"
	adminKey             = "admin.key"
	serviceAccountKey    = "service-account.key"
)

// ensureCertificates creates the directory with the control plane's keys and certificates, unless
// it exists. A restarted control plane keeps its authority, so its clients still trust it.
func ensureCertificates(directory string) error {
	if _, err := os.Stat(directory); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, err := createCertificates(time.Now())
	if err != nil {
		return err
	}
	// The directory is renamed when complete, so a killed process leaves no partial one.
	temporary, err := os.MkdirTemp(filepath.Dir(directory), "certificates-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(temporary, name), content, 0o600); err != nil {
			return err
		}
	}
	return os.Rename(temporary, directory)
}

// createCertificates returns the PEM files by name. The authority's own key is not among them:
// nothing is signed later.
func createCertificates(now time.Time) (map[string][]byte, error) {
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "kubernetes"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	serving := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "kube-apiserver"},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:     []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	admin := &x509.Certificate{
		SerialNumber: big.NewInt(3),
		// Members of system:masters pass every authorization check:
		// https://kubernetes.io/docs/reference/access-authn-authz/rbac/
		Subject:     pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}

	files := map[string][]byte{}
	signingKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the authority's key: %w", err)
	}
	for _, item := range []struct {
		template             *x509.Certificate
		certificate, keyFile string
	}{
		{authority, authorityCertificate, ""},
		{serving, servingCertificate, servingKey},
		{admin, adminCertificate, adminKey},
	} {
		key := signingKey
		if item.template != authority {
			if key, err = addKey(files, item.keyFile); err != nil {
				return nil, err
			}
		}
		item.template.NotBefore, item.template.NotAfter = now.Add(-time.Hour), now.Add(certificateLifetime)
		encoded, err := x509.CreateCertificate(rand.Reader, item.template, authority, key.Public(), signingKey)
		if err != nil {
			return nil, fmt.Errorf("signing %s: %w", item.certificate, err)
		}
		files[item.certificate] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encoded})
	}
	if _, err := addKey(files, serviceAccountKey); err != nil {
		return nil, err
	}
	return files, nil
}

// addKey makes a private key and adds it to files.
func addKey(files map[string][]byte, name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making %s: %w", name, err)
	}
	// The one form that kube-apiserver reads as a key pair from a private key's file.
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", name, err)
	}
	files[name] = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
	return key, nil
}
