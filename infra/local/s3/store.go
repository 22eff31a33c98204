package s3

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/infra/local/wire"
)

// Service is the simulated S3 of one account. Everything it holds lies below one directory, and is
// there again when a service is made on the same directory.
type Service struct {
	directory string
	region    string

	mu      sync.Mutex
	uploads map[string]*upload
}

// object has an object's metadata, which is stored as JSON beside its bytes.
type object struct {
	Key      string
	Size     int64
	ETag     string // without quotes
	CRC32    string // base64, as in x-amz-checksum-crc32
	Modified time.Time
	// Header holds the headers that a reader gets back: Content-Type, Cache-Control, x-amz-meta-...
	// and so on.
	Header map[string]string
}

// New makes an S3 that keeps its objects below a directory, which is made if it is missing.
func New(directory, region string) (*Service, error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the local S3: %w", err)
	}
	return &Service{directory: directory, region: region, uploads: map[string]*upload{}}, nil
}

// BootstrapBucket is the name of the bucket that `cdk bootstrap` makes for a qualifier, "hnb659fds"
// unless changed.
func BootstrapBucket(qualifier, accountID, region string) string {
	return fmt.Sprintf("cdk-%s-assets-%s-%s", qualifier, accountID, region)
}

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// CreateBucket makes a bucket; one that exists already is left as it is.
func (s *Service) CreateBucket(name string) error {
	if !bucketPattern.MatchString(name) || strings.Contains(name, "..") {
		return wire.Errorf("InvalidBucketName", http.StatusBadRequest,
			"the bucket name %q must be 3 to 63 lower case letters, digits, dots and hyphens", name)
	}
	if err := os.MkdirAll(filepath.Join(s.directory, name), 0o700); err != nil {
		return fmt.Errorf("making bucket %s: %w", name, err)
	}
	return nil
}

// bucket returns the directory of a bucket.
func (s *Service) bucket(name string) (string, error) {
	directory := filepath.Join(s.directory, name)
	if bucketPattern.MatchString(name) && !strings.Contains(name, "..") {
		if info, err := os.Stat(directory); err == nil && info.IsDir() {
			return directory, nil
		}
	}
	return "", wire.Errorf("NoSuchBucket", http.StatusNotFound, "The specified bucket does not exist: %s", name)
}

// file returns where an object's bytes lie; names of files are hashes, since keys may hold
// anything.
func file(bucket, key string) string {
	digest := sha256.Sum256([]byte(key))
	return filepath.Join(bucket, hex.EncodeToString(digest[:]))
}

// Put stores an object.
func (s *Service) Put(bucket, key string, body []byte) error {
	_, err := s.put(bucket, key, body, "", nil)
	return err
}

// put stores an object. etag is that of a multipart upload, otherwise empty.
func (s *Service) put(bucket, key string, body []byte, etag string, header map[string]string) (*object, error) {
	directory, err := s.bucket(bucket)
	if err != nil {
		return nil, err
	}
	if key == "" || len(key) > 1024 {
		return nil, wire.Errorf("KeyTooLongError", http.StatusBadRequest, "a key has 1 to 1024 bytes, not %d", len(key))
	}
	if etag == "" {
		digest := md5.Sum(body)
		etag = hex.EncodeToString(digest[:])
	}
	o := &object{
		Key: key, Size: int64(len(body)), ETag: etag, CRC32: checksum(body), Modified: time.Now().UTC().Truncate(time.Second),
		Header: header,
	}
	description, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("storing object %s: %w", key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := file(directory, key)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		return nil, fmt.Errorf("storing object %s: %w", key, err)
	}
	if err := os.WriteFile(path+".json", description, 0o600); err != nil {
		return nil, fmt.Errorf("storing object %s: %w", key, err)
	}
	return o, nil
}

// checksum is the CRC32 of a body as S3 writes it.
func checksum(body []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)))
}

// Object returns the bytes of an object. Errors: NoSuchBucket, NoSuchKey.
func (s *Service) Object(bucket, key string) ([]byte, error) {
	_, body, err := s.get(bucket, key, true)
	return body, err
}

// get finds an object, with its bytes if they are wanted.
func (s *Service) get(bucket, key string, wantBody bool) (*object, []byte, error) {
	directory, err := s.bucket(bucket)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := file(directory, key)
	o, err := describe(path + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, wire.Errorf("NoSuchKey", http.StatusNotFound, "The specified key does not exist: %s in bucket %s",
			key, bucket)
	}
	if err != nil {
		return nil, nil, err
	}
	if !wantBody {
		return o, nil, nil
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading object %s: %w", key, err)
	}
	return o, body, nil
}

func describe(path string) (*object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o := &object{}
	if err := json.Unmarshal(text, o); err != nil {
		return nil, fmt.Errorf("reading the description of an object: %w", err)
	}
	return o, nil
}

// remove deletes an object. It succeeds for one that does not exist.
func (s *Service) remove(bucket, key string) error {
	directory, err := s.bucket(bucket)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := file(directory, key)
	for _, name := range []string{path + ".json", path} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting object %s: %w", key, err)
		}
	}
	return nil
}

// list returns the objects of a bucket in the order of their keys.
func (s *Service) list(bucket string) ([]*object, error) {
	directory, err := s.bucket(bucket)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := filepath.Glob(filepath.Join(directory, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("listing bucket %s: %w", bucket, err)
	}
	found := map[string]*object{}
	for _, name := range names {
		o, err := describe(name)
		if err != nil {
			return nil, fmt.Errorf("listing bucket %s: %w", bucket, err)
		}
		found[o.Key] = o
	}
	var objects []*object
	for _, key := range slices.Sorted(maps.Keys(found)) {
		objects = append(objects, found[key])
	}
	return objects, nil
}
