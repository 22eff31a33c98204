package machine

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
)

// Media types of user data that AL2023 knows. cloud-init runs the others; nodeadm reads its own.
const (
	mediaNodeConfig = "application/node.eks.aws"
	mediaMultipart  = "multipart/mixed"
)

// parseUserData reads base64 user data as nodeadm on AL2023 does: a NodeConfig, alone or as parts of type application/node.eks.aws in a MIME
// multipart document, of which the later win over the earlier. The result is complete; an error names the part and the field.
func parseUserData(encoded string) (*nodeConfig, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("user data is not base64: %w", err)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, errors.New("user data is empty: a node needs a NodeConfig with the cluster's name, apiServerEndpoint, certificateAuthority and cidr")
	}
	documents, err := nodeConfigs(raw)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("user data has no part of type %s, so that nodeadm knows no cluster to join", mediaNodeConfig)
	}
	config, err := mergeNodeConfigs(documents)
	if err != nil {
		return nil, err
	}
	return config, config.validate()
}

// nodeConfigs gives the NodeConfig documents in their order.
func nodeConfigs(raw []byte) ([][]byte, error) {
	if trimmed := bytes.TrimSpace(raw); bytes.HasPrefix(trimmed, []byte("apiVersion:")) || bytes.HasPrefix(trimmed, []byte("---")) || bytes.HasPrefix(trimmed, []byte("kind:")) {
		return [][]byte{raw}, nil
	}
	if bytes.HasPrefix(raw, []byte("#!")) || bytes.HasPrefix(raw, []byte("#cloud-config")) {
		return nil, nil // cloud-init's business
	}
	message, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("user data is neither a NodeConfig nor a MIME document: %w", err)
	}
	media, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("user data's Content-Type %q: %w", message.Header.Get("Content-Type"), err)
	}
	switch {
	case media == mediaNodeConfig:
		body, err := io.ReadAll(message.Body)
		return [][]byte{body}, err
	case media != mediaMultipart:
		return nil, fmt.Errorf("user data's Content-Type is %q: want %s or %s", media, mediaMultipart, mediaNodeConfig)
	case parameters["boundary"] == "":
		return nil, errors.New("user data's Content-Type names no boundary")
	}
	var documents [][]byte
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for number := 1; ; number++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, fmt.Errorf("user data's MIME part %d: %w", number, err)
		}
		body, err := readPart(part)
		if err != nil {
			return nil, fmt.Errorf("user data's MIME part %d: %w", number, err)
		}
		if body != nil {
			documents = append(documents, body)
		}
	}
}

// readPart gives a part's text if it is a NodeConfig.
func readPart(part *multipart.Part) ([]byte, error) {
	header := part.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return nil, fmt.Errorf("Content-Type %q: %w", header, err)
	}
	if media != mediaNodeConfig {
		return nil, nil
	}
	var body io.Reader = part
	switch encoding := strings.ToLower(part.Header.Get("Content-Transfer-Encoding")); encoding {
	case "", "7bit", "8bit", "binary":
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, part)
	default:
		return nil, fmt.Errorf("Content-Transfer-Encoding %q is not one that nodeadm reads", encoding)
	}
	return io.ReadAll(body)
}
