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

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// userData is decoded user data.
type userData struct {
	text []byte
	// cluster finds the facts of a cluster that the node would ask eks:DescribeCluster for.
	cluster func(name string) (clusterFacts, bool)
}

// clusterFacts holds what DescribeCluster says about a cluster's control plane.
type clusterFacts struct {
	endpoint  string
	authority []byte
}

// readUserData reads base64 user data as the operating system of an image does. The result is
// complete; an error is one line that names the program that reads, the part and the field.
func readUserData(image ec2.Image, encoded string, cluster func(string) (clusterFacts, bool)) (*joining, error) {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("cloud-init: user data is not base64: %w", err)
	}
	data := userData{raw, cluster}
	family := image.Family
	if family == "" {
		family = data.family()
	}
	var j *joining
	program := "nodeadm"
	switch family {
	case ec2.FamilyAL2:
		program = "bootstrap.sh"
		j, err = data.bootstrapScript()
	case ec2.FamilyBottlerocket:
		program = "bottlerocket"
		j, err = data.bottlerocket()
	case ec2.FamilyWindows2019, ec2.FamilyWindows2022, ec2.FamilyWindows2025:
		program = "Start-EKSBootstrap.ps1"
		j, err = data.windows()
	default:
		j, err = data.nodeadm()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, oneLine(err))
	}
	j.program = program
	return j, nil
}

// oneLine keeps an error with several parts readable on a console.
func oneLine(err error) error {
	return errors.New(strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool {
		return r == '\n' || r == '\r'
	}), "; "))
}

// family guesses an unknown image's operating system from the form of its user data.
func (u userData) family() string {
	text := string(u.text)
	switch {
	case strings.Contains(text, "<powershell>"):
		return ec2.FamilyWindows2022
	case strings.Contains(text, mediaNodeConfig), strings.Contains(text, nodeConfigVersion):
		return ec2.FamilyAL2023
	case strings.Contains(text, bootstrapPath):
		return ec2.FamilyAL2
	case strings.Contains(text, "[settings"):
		return ec2.FamilyBottlerocket
	default:
		return ec2.FamilyAL2023
	}
}

// mediaMultipart is user data of several parts for cloud-init.
const mediaMultipart = "multipart/mixed"

// mimePart is one part of user data.
type mimePart struct {
	media string
	body  []byte
}

// mimeParts returns the parts of a MIME document; one that is not multipart has one part.
func mimeParts(raw []byte) ([]mimePart, error) {
	message, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("user data is no MIME document: %w", err)
	}
	media, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, fmt.Errorf("user data's Content-Type %q: %w", message.Header.Get("Content-Type"), err)
	}
	if media != mediaMultipart {
		body, err := io.ReadAll(message.Body)
		return []mimePart{{media, body}}, err
	}
	if parameters["boundary"] == "" {
		return nil, errors.New("user data's Content-Type names no boundary")
	}
	var found []mimePart
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for number := 1; ; number++ {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("user data's MIME part %d: %w", number, err)
		}
		read, err := readPart(part)
		if err != nil {
			return nil, fmt.Errorf("user data's MIME part %d: %w", number, err)
		}
		found = append(found, read)
	}
}

func readPart(part *multipart.Part) (mimePart, error) {
	header := part.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return mimePart{}, fmt.Errorf("Content-Type %q: %w", header, err)
	}
	var body io.Reader = part
	switch encoding := strings.ToLower(part.Header.Get("Content-Transfer-Encoding")); encoding {
	case "", "7bit", "8bit", "binary":
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, part)
	default:
		return mimePart{}, fmt.Errorf("Content-Transfer-Encoding %q is not one that cloud-init reads", encoding)
	}
	text, err := io.ReadAll(body)
	return mimePart{media, text}, err
}

// isMIME reports whether user data begins as a MIME document does.
func isMIME(raw []byte) bool {
	start := strings.ToLower(string(bytes.TrimLeft(raw[:min(len(raw), 200)], " \t\r\n")))
	return strings.HasPrefix(start, "mime-version:") || strings.HasPrefix(start, "content-type:")
}
