package s3_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/whittle-dev/whittle/testdata/lab/s3"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
	"github.com/whittle-dev/whittle/testdata/lab/wire/wiretest"
)

const bucket = "cdk-hnb659fds-assets-123456789012-us-east-1"

func start(t *testing.T) (*sdk.Client, *s3.Service) {
	t.Helper()
	service, err := s3.New(t.TempDir(), s3.BootstrapBucket("hnb659fds", "123456789012", "us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer()
	server.VerifySignatures(func(string) (string, bool) { return "secret", true })
	return sdk.NewFromConfig(wiretest.Listen(t, server, service)), service
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

func TestObjectsArriveAsTheyAre(t *testing.T) {
	client, service := start(t)
	for _, key := range []string{"asset.zip", "with space/ü+?&=%2F", "../../escape"} {
		t.Run(key, func(t *testing.T) {
			listed := func() []types.Object {
				out, err := client.ListObjectsV2(t.Context(),
					&sdk.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: &key, MaxKeys: aws.Int32(1)})
				if err != nil {
					t.Fatal(err)
				}
				return out.Contents
			}
			_, err := service.Object(bucket, key)
			if found := listed(); len(found) != 0 || err == nil || !strings.Contains(err.Error(), "NoSuchKey") {
				t.Errorf("before its upload it is listed as %+v, and reading it gives %v", found, err)
			}
			put(t, client, key, "body of "+key)
			if found := listed(); len(found) != 1 || *found[0].Key != key || *found[0].Size != int64(len(key)+8) {
				t.Errorf("it is listed as %+v", found)
			}
			if body, err := service.Object(bucket, key); err != nil || string(body) != "body of "+key {
				t.Errorf("got %q, %v", body, err)
			}
		})
	}
}

func TestUploadInParts(t *testing.T) {
	client, service := start(t)
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
	client, _ := start(t)
	name := aws.String(bucket)
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
	_, err = client.GetBucketLocation(t.Context(), &sdk.GetBucketLocationInput{Bucket: aws.String("no-such-bucket")})
	wantCode(t, err, "NoSuchBucket")
	_, err = client.GetBucketAcl(t.Context(), &sdk.GetBucketAclInput{Bucket: name})
	wantCode(t, err, "NotImplemented")
	_, err = client.GetObject(t.Context(), &sdk.GetObjectInput{Bucket: name, Key: aws.String("k")})
	wantCode(t, err, "NotImplemented")
}
