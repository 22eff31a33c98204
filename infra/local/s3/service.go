package s3

import (
	"context"
	"encoding/xml"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

const namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

// Register makes the service answer at the server.
func (s *Service) Register(server *wire.Server) {
	server.Register("s3", wire.HandlerFunc(s.serve))
}

// address splits a request into bucket and key: path style, or virtual-host style where the host
// begins with a bucket's name.
func (s *Service) address(r *http.Request) (bucket, key string) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if net.ParseIP(host) == nil {
		// A bucket's name may have dots of its own: the longest beginning that is a bucket counts.
		for end := strings.LastIndexByte(host, '.'); end > 0; end = strings.LastIndexByte(host[:end], '.') {
			if _, err := s.bucket(host[:end]); err == nil {
				return host[:end], path
			}
		}
	}
	bucket, key, _ = strings.Cut(path, "/")
	return bucket, key
}

func (s *Service) serve(_ context.Context, c *wire.Call) (*wire.Response, error) {
	bucket, key := s.address(c.HTTP)
	query := c.HTTP.URL.Query()
	switch {
	case bucket == "":
		return s.serveAccount(c)
	case key == "":
		return s.serveBucket(c, bucket, query)
	default:
		return s.serveObject(c, bucket, key, query)
	}
}

func notImplemented(c *wire.Call) error {
	return wire.Errorf("NotImplemented", http.StatusNotImplemented, "the local AWS does not simulate s3 %s %s",
		c.HTTP.Method, c.HTTP.URL.RequestURI())
}

// answer writes a result below a root element.
func answer(root string, result any) (*wire.Response, error) {
	var out strings.Builder
	out.WriteString(xml.Header)
	encoder := xml.NewEncoder(&out)
	start := xml.StartElement{
		Name: xml.Name{Local: root}, Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: namespace}},
	}
	if err := encoder.EncodeElement(result, start); err != nil {
		return nil, err
	}
	return &wire.Response{Header: http.Header{"Content-Type": {"application/xml"}}, Body: []byte(out.String())}, nil
}

func (s *Service) serveAccount(c *wire.Call) (*wire.Response, error) {
	if c.HTTP.Method != http.MethodGet {
		return nil, notImplemented(c)
	}
	c.Action = "ListBuckets"
	type bucketXML struct {
		Name         string
		CreationDate time.Time
	}
	var result struct {
		Buckets []bucketXML `xml:"Buckets>Bucket"`
	}
	entries, err := os.ReadDir(s.directory)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && entry.IsDir() {
			result.Buckets = append(result.Buckets, bucketXML{entry.Name(), info.ModTime().UTC()})
		}
	}
	return answer("ListAllMyBucketsResult", result)
}

func (s *Service) serveBucket(c *wire.Call, bucket string, query url.Values) (*wire.Response, error) {
	switch c.HTTP.Method {
	case http.MethodPut:
		if len(query) == 0 {
			c.Action = "CreateBucket"
			return &wire.Response{Header: http.Header{"Location": {"/" + bucket}}}, s.CreateBucket(bucket)
		}
	case http.MethodHead:
		c.Action = "HeadBucket"
		if _, err := s.bucket(bucket); err != nil {
			return nil, err
		}
		return &wire.Response{Header: http.Header{"X-Amz-Bucket-Region": {s.region}}}, nil
	case http.MethodDelete:
		if len(query) == 0 {
			c.Action = "DeleteBucket"
			return s.deleteBucket(bucket)
		}
	case http.MethodGet:
		if _, err := s.bucket(bucket); err != nil {
			return nil, err
		}
		return s.aboutBucket(c, bucket, query)
	}
	return nil, notImplemented(c)
}

// aboutBucket answers GET requests about a bucket.
func (s *Service) aboutBucket(c *wire.Call, bucket string, query url.Values) (*wire.Response, error) {
	switch {
	case query.Has("location"):
		c.Action = "GetBucketLocation"
		region := s.region
		if region == "us-east-1" {
			region = "" // the classic region has no name here
		}
		return answer("LocationConstraint", region)
	case query.Has("encryption"):
		c.Action = "GetBucketEncryption"
		var result struct {
			Algorithm string `xml:"Rule>ApplyServerSideEncryptionByDefault>SSEAlgorithm"`
		}
		result.Algorithm = "AES256"
		return answer("ServerSideEncryptionConfiguration", result)
	case query.Has("versioning"):
		c.Action = "GetBucketVersioning"
		return answer("VersioningConfiguration", struct{}{})
	case query.Has("policy"), query.Has("tagging"), query.Has("lifecycle"), query.Has("uploads"), query.Has("versions"),
		query.Has("acl"):
		return nil, notImplemented(c)
	default:
		c.Action = "ListObjectsV2"
		if query.Get("list-type") != "2" {
			c.Action = "ListObjects"
		}
		return s.listObjects(bucket, query)
	}
}

func (s *Service) deleteBucket(bucket string) (*wire.Response, error) {
	objects, err := s.list(bucket)
	if err != nil {
		return nil, err
	}
	if len(objects) > 0 {
		return nil, wire.Errorf("BucketNotEmpty", http.StatusConflict,
			"The bucket you tried to delete is not empty: %s has %d objects", bucket, len(objects))
	}
	directory, err := s.bucket(bucket)
	if err != nil {
		return nil, err
	}
	return &wire.Response{Status: http.StatusNoContent}, os.Remove(directory)
}
