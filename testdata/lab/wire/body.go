package wire

import (
	"io"
	"net/http"
	"strings"
)

// Limits of request bodies. S3's own is 5 GiB; a deployment only uploads zipped functions. The
// others are at least the services' own limits: 6 MB for a Lambda invocation, 1 MB for a
// CloudFormation template.
const (
	maxObjectBody = 512 << 20
	maxBody       = 16 << 20
)

// readBody reads a request's whole payload within the service's limit.
func readBody(r *http.Request, service string) (body []byte, err error) {
	limit := int64(maxBody)
	if service == "s3" {
		limit = maxObjectBody
	}
	body, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, Errorf("RequestTimeout", http.StatusBadRequest, "the body could not be read to its end: %v", err)
	}
	if int64(len(body)) > limit {
		return nil, Errorf("RequestEntityTooLarge", http.StatusRequestEntityTooLarge,
			"the body is larger than the %d bytes that the local AWS takes for %s", limit, service)
	}
	if isChunked(r) {
		return nil, Errorf("NotImplemented", http.StatusNotImplemented, "the local AWS takes no aws-chunked bodies")
	}
	return body, nil
}

func isChunked(r *http.Request) bool {
	for _, encoding := range strings.Split(strings.Join(r.Header.Values("Content-Encoding"), ","), ",") {
		if strings.TrimSpace(encoding) == "aws-chunked" {
			return true
		}
	}
	return strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-")
}
