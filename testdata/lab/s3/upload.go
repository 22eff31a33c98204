package s3

import (
	"crypto/rand"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// upload is an object that arrives in parts. Parts are held in memory until the upload is complete.
type upload struct {
	key   string
	parts map[int][]byte
}

func (s *Service) createUpload(c *wire.Call, key string) (*wire.Response, error) {
	c.Action = "CreateMultipartUpload"
	id := strings.ToLower(rand.Text())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads[id] = &upload{key: key, parts: map[int][]byte{}}
	return answer("InitiateMultipartUploadResult", struct {
		Bucket, Key string
		UploadID    string `xml:"UploadId"`
	}{s.bucket, key, id})
}

func (s *Service) uploadPart(c *wire.Call, query url.Values) (*wire.Response, error) {
	c.Action = "UploadPart"
	if err := verify(c); err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(query.Get("partNumber"))
	if err != nil {
		return nil, wire.Errorf("InvalidArgument", http.StatusBadRequest, "partNumber %q is not a number",
			query.Get("partNumber"))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.uploads[query.Get("uploadId")]
	if !ok {
		return nil, noSuchUpload(query)
	}
	u.parts[number] = c.Body
	return &wire.Response{Header: etag(c.Body)}, nil
}

func noSuchUpload(query url.Values) error {
	return wire.Errorf("NoSuchUpload", http.StatusNotFound, "The specified upload does not exist: %s",
		query.Get("uploadId"))
}

func (s *Service) completeUpload(c *wire.Call, key string, query url.Values) (*wire.Response, error) {
	c.Action = "CompleteMultipartUpload"
	var in struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(c.Body, &in); err != nil {
		return nil, wire.Errorf("MalformedXML", http.StatusBadRequest, "The XML you provided was not well-formed: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.uploads[query.Get("uploadId")]
	if !ok || u.key != key {
		return nil, noSuchUpload(query)
	}
	var body []byte
	for i, part := range in.Part {
		content, ok := u.parts[part.PartNumber]
		if !ok || part.ETag != etag(content).Get("Etag") || i > 0 && in.Part[i-1].PartNumber >= part.PartNumber {
			return nil, wire.Errorf("InvalidPart", http.StatusBadRequest,
				"Part %d was not uploaded, has another ETag, or is out of order", part.PartNumber)
		}
		body = append(body, content...)
	}
	delete(s.uploads, query.Get("uploadId"))
	if err := s.Put(s.bucket, key, body); err != nil {
		return nil, err
	}
	return answer("CompleteMultipartUploadResult",
		struct{ Location, Bucket, Key, ETag string }{"/" + s.bucket + "/" + key, s.bucket, key, etag(body).Get("Etag")})
}
