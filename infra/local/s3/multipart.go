package s3

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// upload is an object that arrives in parts. Parts are held in memory until the upload is complete.
type upload struct {
	bucket, key string
	header      map[string]string
	parts       map[int][]byte
}

// maxParts is S3's limit of parts of one upload.
const maxParts = 10000

func (s *Service) createUpload(c *wire.Call, bucket, key string) (*wire.Response, error) {
	c.Action = "CreateMultipartUpload"
	if _, err := s.bucket(bucket); err != nil {
		return nil, err
	}
	id := strings.ToLower(rand.Text())
	s.mu.Lock()
	s.uploads[id] = &upload{bucket: bucket, key: key, header: keptHeaders(c.HTTP), parts: map[int][]byte{}}
	s.mu.Unlock()
	return answer("InitiateMultipartUploadResult", struct {
		Bucket, Key string
		UploadID    string `xml:"UploadId"`
	}{bucket, key, id})
}

// uploadOf finds an upload; the lock is held.
func (s *Service) uploadOf(id, bucket, key string) (*upload, error) {
	u, ok := s.uploads[id]
	if !ok || u.bucket != bucket || u.key != key {
		return nil, wire.Errorf("NoSuchUpload", http.StatusNotFound, "The specified upload does not exist: %s", id)
	}
	return u, nil
}

func (s *Service) uploadPart(c *wire.Call, bucket, key string, query url.Values) (*wire.Response, error) {
	c.Action = "UploadPart"
	if err := verify(c); err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(query.Get("partNumber"))
	if err != nil || number < 1 || number > maxParts {
		return nil, wire.Errorf("InvalidArgument", http.StatusBadRequest, "partNumber %q is not a number from 1 to %d",
			query.Get("partNumber"), maxParts)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.uploadOf(query.Get("uploadId"), bucket, key)
	if err != nil {
		return nil, err
	}
	u.parts[number] = c.Body
	digest := md5.Sum(c.Body)
	return &wire.Response{Header: http.Header{"Etag": {`"` + hex.EncodeToString(digest[:]) + `"`}}}, nil
}

func (s *Service) completeUpload(c *wire.Call, bucket, key string, query url.Values) (*wire.Response, error) {
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
	u, err := s.uploadOf(query.Get("uploadId"), bucket, key)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	var body []byte
	all := md5.New()
	for i, part := range in.Part {
		content, ok := u.parts[part.PartNumber]
		digest := md5.Sum(content)
		if !ok || strings.Trim(part.ETag, `"`) != hex.EncodeToString(digest[:]) || i > 0 &&
			in.Part[i-1].PartNumber >= part.PartNumber {
			s.mu.Unlock()
			return nil, wire.Errorf("InvalidPart", http.StatusBadRequest,
				"Part %d was not uploaded, has another ETag, or is out of order", part.PartNumber)
		}
		body = append(body, content...)
		all.Write(digest[:])
	}
	delete(s.uploads, query.Get("uploadId"))
	s.mu.Unlock()
	if len(in.Part) == 0 {
		return nil, wire.Errorf("MalformedXML", http.StatusBadRequest, "You must specify at least one part")
	}
	o, err := s.put(bucket, key, body, fmt.Sprintf("%x-%d", all.Sum(nil), len(in.Part)), u.header)
	if err != nil {
		return nil, err
	}
	return answer("CompleteMultipartUploadResult",
		struct{ Location, Bucket, Key, ETag string }{"/" + bucket + "/" + key, bucket, key, `"` + o.ETag + `"`})
}

func (s *Service) abortUpload(c *wire.Call, query url.Values) (*wire.Response, error) {
	c.Action = "AbortMultipartUpload"
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, query.Get("uploadId"))
	return &wire.Response{Status: http.StatusNoContent}, nil
}
