package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aead.dev/minisign"

	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

// passwordVariable has the password of a secret key. A key without one is not encrypted.
const passwordVariable = "WHITTLE_RELEASE_PASSWORD"

// newKey writes a new secret key into a file, its public key into the file with .pub, and prints the public
// key. It overwrites nothing.
func newKey(path string) error {
	public, secret, err := minisign.GenerateKey(nil)
	if err != nil {
		return fmt.Errorf("making a key: %w", err)
	}
	text, err := secret.MarshalText()
	if password := os.Getenv(passwordVariable); password != "" {
		text, err = minisign.EncryptKey(password, secret)
	}
	if err != nil {
		return fmt.Errorf("writing the secret key: %w", err)
	}
	shown, err := public.MarshalText()
	if err != nil {
		return fmt.Errorf("writing the public key: %w", err)
	}
	if err := writeNew(path, append(text, '\n'), 0o600); err != nil {
		return err
	}
	if err := writeNew(path+".pub", append(shown, '\n'), 0o644); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	fmt.Printf("%s\n", shown)
	if os.Getenv(passwordVariable) == "" {
		fmt.Fprintf(os.Stderr, "release: %s is not encrypted: %s was empty\n", path, passwordVariable)
	}
	return nil
}

// writeNew writes a file that does not exist yet.
func writeNew(path string, content []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("writing a key, which overwrites nothing: %w", err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("writing a key: %w", err), os.Remove(path))
	}
	return nil
}

// readKey reads a secret key.
func readKey(path string) (minisign.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return minisign.PrivateKey{}, fmt.Errorf("reading the secret key: %w", err)
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		if key, err = minisign.DecryptKey(os.Getenv(passwordVariable), text); err != nil {
			return key, fmt.Errorf("%s does not open with the password in %s: %w", path, passwordVariable, err)
		}
		return key, nil
	}
	if err := key.UnmarshalText(text); err != nil {
		return key, fmt.Errorf("%s is no secret key of minisign: %w", path, err)
	}
	return key, nil
}

// sign writes the signature of a release's sums.
func sign(folder string, sums []byte, key minisign.PrivateKey, from source) error {
	if err := from.unchanged(); err != nil {
		return err
	}
	text, err := signature.Sign(key, sums, signature.Source{Version: version.Version, Commit: from.commit})
	if err != nil {
		return fmt.Errorf("signing the sums: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, signature.Name), text, 0o644); err != nil {
		return fmt.Errorf("writing the signature: %w", err)
	}
	fmt.Printf("signed by the key %s\n", signature.ID(key.ID()))
	return nil
}
