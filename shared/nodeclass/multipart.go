package nodeclass

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"strings"
)

// boundary separates the parts of multipart user data. nodeadm and cloud-init accept any boundary;
// AWS's examples use this one.
const boundary = "//"

const (
	nodeConfigType = "application/node.eks.aws"
	scriptType     = "text/x-shellscript"
)

// userParts is a family's treatment of the user's own user data.
type userParts struct {
	// typeOf returns the content type of user data that is not a MIME document.
	typeOf func(own string) string
	// check returns the problem of a part, or nil.
	check func(contentType string, body []byte) error
	// edit returns what is written of a part. Without it, parts stay as they are.
	edit func(contentType string, body []byte) []byte
}

func (u userParts) edited(contentType string, body []byte) []byte {
	if u.edit == nil {
		return body
	}
	return u.edit(contentType, body)
}

// document writes a MIME document with the user's parts first and the cluster's part last.
func document(user userParts, own, contentType string, body []byte) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=%q\r\n\r\n", boundary)
	parts := multipart.NewWriter(&text)
	if err := parts.SetBoundary(boundary); err != nil {
		return "", err
	}
	if err := user.copy(parts, own); err != nil {
		return "", err
	}
	if err := writePart(parts, contentType, body); err != nil {
		return "", err
	}
	if err := parts.Close(); err != nil {
		return "", err
	}
	return text.String(), nil
}

// copy writes the user's own user data: the parts of a MIME document unchanged, and anything else
// as one part.
func (u userParts) copy(parts *multipart.Writer, own string) error {
	if strings.TrimSpace(own) == "" {
		return nil
	}
	message, err := mail.ReadMessage(strings.NewReader(strings.TrimLeft(own, " \t\r\n")))
	if err != nil || message.Header.Get("MIME-Version") == "" {
		if strings.HasPrefix(strings.TrimSpace(own), "MIME-Version:") {
			return fmt.Errorf("is not well-formed MIME: %w", errors.Join(err, errors.New("its headers cannot be read")))
		}
		contentType := u.typeOf(own)
		if err := errors.Join(checkBoundary(own), u.check(contentType, []byte(own))); err != nil {
			return err
		}
		return writePart(parts, contentType, u.edited(contentType, []byte(own)))
	}
	return u.copyParts(parts, message)
}

// copyParts writes the parts of the user's MIME document.
func (u userParts) copyParts(parts *multipart.Writer, message *mail.Message) error {
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") || parameters["boundary"] == "" {
		return fmt.Errorf(
			"is MIME, but its Content-Type %q is not multipart with a boundary", message.Header.Get("Content-Type"),
		)
	}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for count := 0; ; count++ {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) && count > 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("is MIME without a part: none begins with --%s", parameters["boundary"])
		}
		if err != nil {
			return fmt.Errorf("is not well-formed MIME: %w", err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return fmt.Errorf("is not well-formed MIME: %w", err)
		}
		if err := checkBoundary(string(body)); err != nil {
			return err
		}
		if body, err = u.readPart(part.Header, body); err != nil {
			return err
		}
		writer, err := parts.CreatePart(part.Header)
		if err != nil {
			return err
		}
		if _, err := writer.Write(body); err != nil {
			return err
		}
	}
}

// readPart checks a part of a MIME document as cloud-init reads it, and returns what is written.
func (u userParts) readPart(header textproto.MIMEHeader, body []byte) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil && header.Get("Content-Type") != "" {
		return nil, fmt.Errorf("has a part whose Content-Type is %q: %w", header.Get("Content-Type"), err)
	}
	if !strings.EqualFold(header.Get("Content-Transfer-Encoding"), "base64") {
		return u.edited(kind, body), u.check(kind, body)
	}
	text, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(body)))
	if err != nil {
		return nil, fmt.Errorf("has a part of type %s that is not the base64 that its header says: %w", kind, err)
	}
	if edited := u.edited(kind, text); !bytes.Equal(edited, text) {
		body = []byte(base64.StdEncoding.EncodeToString(edited) + "\r\n")
	}
	return body, u.check(kind, text)
}

// checkBoundary refuses a text that contains the boundary, because it could end the document before
// the cluster's part.
func checkBoundary(body string) error {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "--"+boundary) {
			return fmt.Errorf(
				"has a line that begins with --%s, which separates the parts of the whole: write it otherwise", boundary,
			)
		}
	}
	return nil
}

func writePart(parts *multipart.Writer, contentType string, body []byte) error {
	header := textproto.MIMEHeader{"Content-Type": []string{contentType + "; charset=\"us-ascii\""}}
	if contentType == nodeConfigType {
		header.Set("Content-Type", contentType)
	}
	writer, err := parts.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = writer.Write(body)
	return err
}
