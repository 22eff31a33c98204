package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Limits of request bodies. S3's own is 5 GiB; a deployment only uploads zipped functions. The
// others are at least the services' own limits: 6 MB for a Lambda invocation, 1 MB for a
// CloudFormation template.
const (
	maxObjectBody = 512 << 20
	maxBody       = 16 << 20
)

// readBody reads a request's whole payload within the service's limit. raw is the payload as sent,
// body the same without the framing of aws-chunked.
func readBody(r *http.Request, service string) (raw, body []byte, err error) {
	limit := int64(maxBody)
	if service == "s3" {
		limit = maxObjectBody
	}
	raw, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, nil, Errorf("RequestTimeout", http.StatusBadRequest, "the body could not be read to its end: %v", err)
	}
	if int64(len(raw)) > limit {
		return nil, nil, Errorf("RequestEntityTooLarge", http.StatusRequestEntityTooLarge,
			"the body is larger than the %d bytes that the local AWS takes for %s", limit, service)
	}
	if !isChunked(r) {
		return raw, raw, nil
	}
	body, err = decodeChunked(raw)
	if err != nil {
		return nil, nil, Errorf("IncompleteBody", http.StatusBadRequest, "the aws-chunked body is malformed: %v", err)
	}
	return raw, body, nil
}

func isChunked(r *http.Request) bool {
	for _, encoding := range strings.Split(strings.Join(r.Header.Values("Content-Encoding"), ","), ",") {
		if strings.TrimSpace(encoding) == "aws-chunked" {
			return true
		}
	}
	return strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-")
}

// decodeChunked takes the framing off: chunks of "SIZE[;chunk-signature=...]\r\nDATA\r\n", the last
// one empty, then trailing headers such as a checksum. See
// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-streaming.html.
func decodeChunked(raw []byte) ([]byte, error) {
	in := bufio.NewReader(bytes.NewReader(raw))
	out := make([]byte, 0, len(raw))
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, errors.New("it ends before its last chunk")
		}
		size, _, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ";")
		length, err := strconv.ParseUint(size, 16, 31)
		if err != nil {
			return nil, fmt.Errorf("chunk size %.20q is not a hexadecimal number", size)
		}
		if length == 0 {
			return out, nil
		}
		if int(length) > len(raw) {
			return nil, fmt.Errorf("a chunk of %d bytes is longer than the whole body", length)
		}
		start := len(out)
		out = append(out, make([]byte, length)...)
		if _, err := io.ReadFull(in, out[start:]); err != nil {
			return nil, fmt.Errorf("a chunk of %d bytes is cut short", length)
		}
		if end, err := in.ReadString('\n'); err != nil || strings.TrimRight(end, "\r\n") != "" {
			return nil, errors.New("a chunk does not end with a line break")
		}
	}
}
