package s3

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// Service is the simulated S3 of one account. Its objects are files of one directory.
type Service struct {
	directory string
	bucket    string

	mu      sync.Mutex
	uploads map[string]*upload
}

// New makes an S3 with one bucket, whose objects lie in a directory, which is made if it is missing.
func New(directory, bucket string) (*Service, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the local S3: %w", err)
	}
	return &Service{directory: directory, bucket: bucket, uploads: map[string]*upload{}}, nil
}

// BootstrapBucket is the name of the bucket that `cdk bootstrap` makes for a qualifier, "hnb659fds"
// unless changed.
func BootstrapBucket(qualifier, accountID, region string) string {
	return fmt.Sprintf("cdk-%s-assets-%s-%s", qualifier, accountID, region)
}

// Register makes the service answer at the server.
func (s *Service) Register(server *wire.Server) {
	server.Register("s3", wire.HandlerFunc(s.serve))
}

func (s *Service) serve(_ context.Context, c *wire.Call) (*wire.Response, error) {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(c.HTTP.URL.Path, "/"), "/")
	query := c.HTTP.URL.Query()
	if bucket == "" {
		return nil, notImplemented(c)
	}
	if err := s.check(bucket); err != nil {
		return nil, err
	}
	if key == "" {
		return s.serveBucket(c, query)
	}
	switch method := c.HTTP.Method; {
	case c.HTTP.Header.Get("X-Amz-Copy-Source") != "":
	case method == http.MethodPut && query.Has("uploadId"):
		return s.uploadPart(c, query)
	case method == http.MethodPut && !query.Has("tagging") && !query.Has("acl"):
		c.Action = "PutObject"
		if err := verify(c); err != nil {
			return nil, err
		}
		return &wire.Response{Header: etag(c.Body)}, s.Put(bucket, key, c.Body)
	case method == http.MethodPost && query.Has("uploads"):
		return s.createUpload(c, key)
	case method == http.MethodPost && query.Has("uploadId"):
		return s.completeUpload(c, key, query)
	}
	return nil, notImplemented(c)
}

func notImplemented(c *wire.Call) error {
	return wire.Errorf("NotImplemented", http.StatusNotImplemented, "the local AWS does not simulate s3 %s %s",
		c.HTTP.Method, c.HTTP.URL.RequestURI())
}

func (s *Service) check(bucket string) error {
	if bucket != s.bucket {
		return wire.Errorf("NoSuchBucket", http.StatusNotFound, "The specified bucket does not exist: %s", bucket)
	}
	return nil
}

// serveBucket answers what the cdk command line asks about its bucket.
func (s *Service) serveBucket(c *wire.Call, query url.Values) (*wire.Response, error) {
	switch {
	case c.HTTP.Method != http.MethodGet:
	case query.Has("location"):
		c.Action = "GetBucketLocation"
		return answer("LocationConstraint", "") // us-east-1 has no name here
	case query.Has("encryption"):
		c.Action = "GetBucketEncryption"
		var result struct {
			Algorithm string `xml:"Rule>ApplyServerSideEncryptionByDefault>SSEAlgorithm"`
		}
		result.Algorithm = "AES256"
		return answer("ServerSideEncryptionConfiguration", result)
	case query.Get("list-type") == "2" && query.Get("max-keys") == "1" && query.Get("prefix") != "":
		c.Action = "ListObjectsV2"
		return s.find(query.Get("prefix"))
	}
	return nil, notImplemented(c)
}

// find answers a listing that asks for one object by its whole key.
func (s *Service) find(key string) (*wire.Response, error) {
	type content struct {
		Key  string
		Size int64
	}
	var result struct {
		Name     string
		Contents []content
	}
	result.Name = s.bucket
	info, err := os.Stat(s.file(key))
	switch {
	case err == nil:
		result.Contents = []content{{key, info.Size()}}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("looking for object %s: %w", key, err)
	}
	return answer("ListBucketResult", result)
}

// file returns where an object's bytes lie; names of files are hashes, since keys may hold
// anything.
func (s *Service) file(key string) string {
	digest := sha256.Sum256([]byte(key))
	return filepath.Join(s.directory, hex.EncodeToString(digest[:]))
}

// Put stores an object.
func (s *Service) Put(bucket, key string, body []byte) error {
	if err := s.check(bucket); err != nil {
		return err
	}
	if err := os.WriteFile(s.file(key), body, 0o600); err != nil {
		return fmt.Errorf("storing object %s: %w", key, err)
	}
	return nil
}

// Object returns the bytes of an object. Errors: NoSuchBucket, NoSuchKey.
func (s *Service) Object(bucket, key string) ([]byte, error) {
	if err := s.check(bucket); err != nil {
		return nil, err
	}
	body, err := os.ReadFile(s.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, wire.Errorf("NoSuchKey", http.StatusNotFound, "The specified key does not exist: %s in bucket %s", key,
			bucket)
	}
	return body, err
}

// etag is the header of a stored body.
func etag(body []byte) http.Header {
	digest := md5.Sum(body)
	return http.Header{"Etag": {`"` + hex.EncodeToString(digest[:]) + `"`}}
}

// verify compares the body with the checksum in a header, if there is one.
func verify(c *wire.Call) error {
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(c.Body)))
	if sent := c.HTTP.Header.Get("X-Amz-Checksum-Crc32"); sent != "" && sent != sum {
		return wire.Errorf("BadDigest", http.StatusBadRequest,
			"The CRC32 you specified did not match what we received: %s, not %s", sum, sent)
	}
	return nil
}

// answer writes a result below a root element.
func answer(root string, result any) (*wire.Response, error) {
	var out strings.Builder
	out.WriteString(xml.Header)
	start := xml.StartElement{
		Name: xml.Name{Local: root}, Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: namespace}},
	}
	if err := xml.NewEncoder(&out).EncodeElement(result, start); err != nil {
		return nil, err
	}
	return &wire.Response{Header: http.Header{"Content-Type": {"application/xml"}}, Body: []byte(out.String())}, nil
}
