package s3

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

func (s *Service) serveObject(c *wire.Call, bucket, key string, query url.Values) (*wire.Response, error) {
	switch c.HTTP.Method {
	case http.MethodGet, http.MethodHead:
		if hasAny(query, "uploadId", "tagging", "acl", "attributes") {
			return nil, notImplemented(c)
		}
		return s.getObject(c, bucket, key)
	case http.MethodPut:
		if c.HTTP.Header.Get("X-Amz-Copy-Source") != "" || hasAny(query, "tagging", "acl") {
			return nil, notImplemented(c)
		}
		if query.Has("uploadId") {
			return s.uploadPart(c, bucket, key, query)
		}
		return s.putObject(c, bucket, key)
	case http.MethodPost:
		switch {
		case query.Has("uploads"):
			return s.createUpload(c, bucket, key)
		case query.Has("uploadId"):
			return s.completeUpload(c, bucket, key, query)
		}
	case http.MethodDelete:
		if query.Has("uploadId") {
			return s.abortUpload(c, query)
		}
		c.Action = "DeleteObject"
		return &wire.Response{Status: http.StatusNoContent}, s.remove(bucket, key)
	}
	return nil, notImplemented(c)
}

func hasAny(query url.Values, names ...string) bool { return slices.ContainsFunc(names, query.Has) }

// kept reports whether readers get a header of the upload back.
func kept(name string) bool {
	switch name {
	case "Content-Type", "Cache-Control", "Content-Disposition", "Content-Language", "Expires",
		"X-Amz-Server-Side-Encryption":
		return true
	default:
		return strings.HasPrefix(name, "X-Amz-Meta-")
	}
}

// keptHeaders returns the object's headers of an upload.
func keptHeaders(r *http.Request) map[string]string {
	header := map[string]string{}
	for name := range r.Header {
		if kept(name) {
			header[name] = r.Header.Get(name)
		}
	}
	// aws-chunked describes the transfer and not the object.
	var encodings []string
	for _, encoding := range strings.Split(strings.Join(r.Header.Values("Content-Encoding"), ","), ",") {
		if encoding = strings.TrimSpace(encoding); encoding != "" && encoding != "aws-chunked" {
			encodings = append(encodings, encoding)
		}
	}
	if len(encodings) > 0 {
		header["Content-Encoding"] = strings.Join(encodings, ",")
	}
	return header
}

// verify compares the body with the checksum in a header, if there is one.
func verify(c *wire.Call) error {
	if sent := c.HTTP.Header.Get("X-Amz-Checksum-Crc32"); sent != "" && sent != checksum(c.Body) {
		return wire.Errorf("BadDigest", http.StatusBadRequest,
			"The CRC32 you specified did not match what we received: %s, not %s", checksum(c.Body), sent)
	}
	return nil
}

func (s *Service) putObject(c *wire.Call, bucket, key string) (*wire.Response, error) {
	c.Action = "PutObject"
	if err := verify(c); err != nil {
		return nil, err
	}
	o, err := s.put(bucket, key, c.Body, "", keptHeaders(c.HTTP))
	if err != nil {
		return nil, err
	}
	return &wire.Response{Header: http.Header{"Etag": {`"` + o.ETag + `"`}, "X-Amz-Server-Side-Encryption": {"AES256"}}},
		nil
}

func (s *Service) getObject(c *wire.Call, bucket, key string) (*wire.Response, error) {
	head := c.HTTP.Method == http.MethodHead
	c.Action = "GetObject"
	if head {
		c.Action = "HeadObject"
	}
	o, body, err := s.get(bucket, key, !head)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range maps.All(o.Header) {
		header.Set(name, value)
	}
	header.Set("ETag", `"`+o.ETag+`"`)
	header.Set("Last-Modified", o.Modified.Format(http.TimeFormat))
	header.Set("Accept-Ranges", "bytes")
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "binary/octet-stream")
	}
	response := &wire.Response{Header: header, Body: body}
	wanted := c.HTTP.Header.Get("Range")
	if wanted == "" {
		header.Set("Content-Length", strconv.FormatInt(o.Size, 10))
		if strings.EqualFold(c.HTTP.Header.Get("X-Amz-Checksum-Mode"), "ENABLED") {
			header.Set("X-Amz-Checksum-Crc32", o.CRC32)
			header.Set("X-Amz-Checksum-Type", "FULL_OBJECT")
		}
		return response, nil
	}
	first, last, err := byteRange(wanted, o.Size)
	if err != nil {
		return nil, err
	}
	response.Status = http.StatusPartialContent
	header.Set("Content-Length", strconv.FormatInt(last-first+1, 10))
	header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, o.Size))
	if !head {
		response.Body = body[first : last+1]
	}
	return response, nil
}

// byteRange reads "bytes=A-B", "bytes=A-" and "bytes=-N".
func byteRange(text string, size int64) (first, last int64, err error) {
	refused := wire.Errorf("InvalidRange", http.StatusRequestedRangeNotSatisfiable,
		"The requested range %q is not satisfiable for an object of %d bytes", text, size)
	spec, ok := strings.CutPrefix(text, "bytes=")
	from, to, dash := strings.Cut(spec, "-")
	if !ok || !dash {
		return 0, 0, refused
	}
	if from == "" {
		count, err := strconv.ParseInt(to, 10, 64)
		if err != nil || count <= 0 || size == 0 {
			return 0, 0, refused
		}
		return max(0, size-count), size - 1, nil
	}
	if first, err = strconv.ParseInt(from, 10, 64); err != nil || first < 0 || first >= size {
		return 0, 0, refused
	}
	last = size - 1
	if to != "" {
		if last, err = strconv.ParseInt(to, 10, 64); err != nil || last < first {
			return 0, 0, refused
		}
	}
	return first, min(last, size-1), nil
}
