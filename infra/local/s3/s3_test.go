package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/infra/local/s3"
	"github.com/whittle-dev/whittle/infra/local/wire"
	"github.com/whittle-dev/whittle/infra/local/wire/wiretest"
)

const bucket = "cdk-hnb659fds-assets-123456789012-us-east-1"

func start(t *testing.T, directory string) (*sdk.Client, *s3.Service, string) {
	t.Helper()
	service, err := s3.New(directory, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := service.CreateBucket(s3.BootstrapBucket("hnb659fds", "123456789012", "us-east-1")); err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer()
	server.VerifySignatures(func(string) (string, bool) { return "secret", true })
	return sdk.NewFromConfig(wiretest.Listen(t, server, service)), service, server.URL()
}

func put(t *testing.T, client *sdk.Client, key, body string) {
	t.Helper()
	_, err := client.PutObject(t.Context(), &sdk.PutObjectInput{
		Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(body), ContentType: aws.String("application/zip"),
		Metadata: map[string]string{"made-by": "test"},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var answer smithy.APIError
	if !errors.As(err, &answer) || answer.ErrorCode() != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestObjectsComeBackAsTheyWere(t *testing.T) {
	directory := t.TempDir()
	client, _, _ := start(t, directory)
	for _, key := range []string{"asset.zip", "with space/ü+?&=%2F", "../../escape"} {
		t.Run(key, func(t *testing.T) {
			put(t, client, key, "body of "+key)
			// Another service on the same directory has the same objects.
			again, service, _ := start(t, directory)
			out, err := again.GetObject(t.Context(),
				&sdk.GetObjectInput{Bucket: aws.String(bucket), Key: &key, ChecksumMode: types.ChecksumModeEnabled})
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(out.Body)
			if err != nil || string(body) != "body of "+key {
				t.Errorf("got %q, %v", body, err)
			}
			if *out.ContentType != "application/zip" || out.Metadata["made-by"] != "test" ||
				*out.ContentLength != int64(len(body)) || out.ChecksumCRC32 == nil {
				t.Errorf("got %+v", out)
			}
			head, err := again.HeadObject(t.Context(), &sdk.HeadObjectInput{Bucket: aws.String(bucket), Key: &key})
			if err != nil || *head.ETag != *out.ETag || *head.ContentLength != int64(len(body)) {
				t.Errorf("got %+v, %v", head, err)
			}
			if direct, err := service.Object(bucket, key); err != nil || !bytes.Equal(direct, body) {
				t.Errorf("got %q, %v", direct, err)
			}
			if _, err := again.DeleteObject(t.Context(),
				&sdk.DeleteObjectInput{Bucket: aws.String(bucket), Key: &key}); err != nil {
				t.Error(err)
			}
			_, err = client.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
			wantCode(t, err, "NoSuchKey")
		})
	}
}

func TestRanges(t *testing.T) {
	client, _, _ := start(t, t.TempDir())
	put(t, client, "k", "0123456789")
	for wanted, want := range map[string]string{
		"bytes=0-3": "0123", "bytes=8-": "89", "bytes=-2": "89", "bytes=5-100": "56789", "bytes=10-": "", "bytes=3-1": "",
		"chunks=1-2": "",
	} {
		out, err := client.GetObject(t.Context(),
			&sdk.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Range: &wanted})
		if want == "" {
			wantCode(t, err, "InvalidRange")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(out.Body); string(body) != want || !strings.HasSuffix(*out.ContentRange, "/10") {
			t.Errorf("%s gave %q, %s", wanted, body, *out.ContentRange)
		}
	}
}

func TestListingInPages(t *testing.T) {
	client, _, _ := start(t, t.TempDir())
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprintf("a/%d", i))
		put(t, client, want[i], "x")
	}
	put(t, client, "b/1", "x")
	put(t, client, "b/2", "x")
	put(t, client, "c", "x")
	var got []string
	pages := sdk.NewListObjectsV2Paginator(client,
		&sdk.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: aws.String("a/"), MaxKeys: aws.Int32(3)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			got = append(got, *o.Key)
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got %v, want %v", got, want)
	}
	got = nil
	pages = sdk.NewListObjectsV2Paginator(client,
		&sdk.ListObjectsV2Input{Bucket: aws.String(bucket), Delimiter: aws.String("/"), MaxKeys: aws.Int32(1)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.CommonPrefixes {
			got = append(got, *p.Prefix)
		}
		for _, o := range page.Contents {
			got = append(got, *o.Key)
		}
	}
	if strings.Join(got, " ") != "a/ b/ c" {
		t.Errorf("got %v, want a/ b/ c", got)
	}
}

func TestUploadInParts(t *testing.T) {
	client, service, _ := start(t, t.TempDir())
	key := aws.String("big")
	made, err := client.CreateMultipartUpload(t.Context(),
		&sdk.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	var parts []types.CompletedPart
	for i, body := range []string{strings.Repeat("a", 6<<20), "end"} {
		number := aws.Int32(int32(i + 1))
		out, err := client.UploadPart(t.Context(),
			&sdk.UploadPartInput{
				Bucket: aws.String(bucket), Key: key, UploadId: made.UploadId, PartNumber: number, Body: strings.NewReader(body),
			})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, types.CompletedPart{ETag: out.ETag, PartNumber: number})
	}
	complete := func(parts ...types.CompletedPart) error {
		_, err := client.CompleteMultipartUpload(t.Context(),
			&sdk.CompleteMultipartUploadInput{
				Bucket: aws.String(bucket), Key: key, UploadId: made.UploadId,
				MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			})
		return err
	}
	wantCode(t, complete(parts[1], parts[0]), "InvalidPart")
	if err := complete(parts...); err != nil {
		t.Fatal(err)
	}
	body, err := service.Object(bucket, "big")
	if err != nil || len(body) != 6<<20+3 || !bytes.HasSuffix(body, []byte("aend")) {
		t.Errorf("got %d bytes, %v", len(body), err)
	}
	wantCode(t, complete(parts...), "NoSuchUpload")
}

func TestBucketSettingsForTheCommandLine(t *testing.T) {
	client, _, _ := start(t, t.TempDir())
	name := aws.String(bucket)
	if _, err := client.HeadBucket(t.Context(), &sdk.HeadBucketInput{Bucket: name}); err != nil {
		t.Error(err)
	}
	if out, err := client.GetBucketLocation(t.Context(), &sdk.GetBucketLocationInput{Bucket: name}); err != nil ||
		out.LocationConstraint != "" {
		t.Errorf("got %+v, %v", out, err)
	}
	encryption, err := client.GetBucketEncryption(t.Context(), &sdk.GetBucketEncryptionInput{Bucket: name})
	if err != nil {
		t.Fatal(err)
	}
	rule := encryption.ServerSideEncryptionConfiguration.Rules[0].ApplyServerSideEncryptionByDefault
	if rule.SSEAlgorithm != types.ServerSideEncryptionAes256 {
		t.Errorf("got %+v", rule)
	}
	if out, err := client.GetBucketVersioning(t.Context(), &sdk.GetBucketVersioningInput{Bucket: name}); err != nil ||
		out.Status != "" {
		t.Errorf("got %+v, %v", out, err)
	}
	if out, err := client.ListBuckets(t.Context(), nil); err != nil || len(out.Buckets) != 1 ||
		*out.Buckets[0].Name != bucket {
		t.Errorf("got %+v, %v", out, err)
	}
	_, err = client.GetBucketLocation(t.Context(), &sdk.GetBucketLocationInput{Bucket: aws.String("no-such-bucket")})
	wantCode(t, err, "NoSuchBucket")
	_, err = client.GetBucketAcl(t.Context(), &sdk.GetBucketAclInput{Bucket: name})
	wantCode(t, err, "NotImplemented")
	_, err = client.CreateBucket(t.Context(), &sdk.CreateBucketInput{Bucket: aws.String("..")})
	if err == nil {
		t.Error("a bucket named .. was made")
	}
}

func TestBucketInTheHost(t *testing.T) {
	client, _, address := start(t, t.TempDir())
	put(t, client, "deep/key", "here")
	host := bucket + ".s3.local"
	virtual := sdk.New(sdk.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://s3.local"),
		Credentials: credentials.NewStaticCredentialsProvider("AKIA", "secret", ""),
		HTTPClient:  toLoopback{strings.TrimPrefix(address, "http://"), host, t},
	})
	out, err := virtual.GetObject(t.Context(),
		&sdk.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String("deep/key")})
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(out.Body); string(body) != "here" {
		t.Errorf("got %q", body)
	}
}

// toLoopback sends requests for a host that has no address to the server of the test.
type toLoopback struct {
	address, wantHost string
	t                 *testing.T
}

func (l toLoopback) Do(r *http.Request) (*http.Response, error) {
	if r.URL.Host != l.wantHost {
		l.t.Errorf("the request is for host %s, want %s", r.URL.Host, l.wantHost)
	}
	r.Host, r.URL.Host = r.URL.Host, l.address
	return http.DefaultClient.Do(r)
}
