package nodeclass

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"strings"
)

// boundary separates the parts of the multipart user data. nodeadm and
// cloud-init take any; this is the one that AWS's own examples use.
const boundary = "//"

const (
	nodeConfigType = "application/node.eks.aws"
	scriptType     = "text/x-shellscript"
)

// document writes a MIME document of the user's own parts, and the cluster's one
// behind them. ownType tells what user data is that is no MIME document.
func document(own string, ownType func(string) string, contentType string, body []byte) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=%q\r\n\r\n", boundary)
	parts := multipart.NewWriter(&text)
	if err := parts.SetBoundary(boundary); err != nil {
		return "", err
	}
	if err := copyOwn(parts, own, ownType); err != nil {
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

// copyOwn writes the user's own user data as parts: those of a MIME document as
// they are, anything else as one.
func copyOwn(parts *multipart.Writer, own string, ownType func(string) string) error {
	if strings.TrimSpace(own) == "" {
		return nil
	}
	message, err := mail.ReadMessage(strings.NewReader(strings.TrimLeft(own, " \t\r\n")))
	if err != nil || message.Header.Get("MIME-Version") == "" {
		if strings.HasPrefix(strings.TrimSpace(own), "MIME-Version:") {
			return fmt.Errorf("is not well-formed MIME: %w", errors.Join(err, errors.New("its headers cannot be read")))
		}
		if err := checkBoundary(own); err != nil {
			return err
		}
		return writePart(parts, ownType(own), []byte(own))
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") || parameters["boundary"] == "" {
		return fmt.Errorf("is MIME, but its Content-Type %q is not multipart with a boundary", message.Header.Get("Content-Type"))
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
		writer, err := parts.CreatePart(part.Header)
		if err != nil {
			return err
		}
		if _, err := writer.Write(body); err != nil {
			return err
		}
	}
}

// checkBoundary refuses a text that would end its part, and might end the
// document before the cluster's own part.
func checkBoundary(body string) error {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "--"+boundary) {
			return fmt.Errorf("has a line that begins with --%s, which separates the parts of the whole: write it otherwise", boundary)
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
