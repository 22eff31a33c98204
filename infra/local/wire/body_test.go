package wire

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDecodeChunked(t *testing.T) {
	tests := []struct{ name, raw, want, problem string }{
		{
			"with signatures", "5;chunk-signature=abc\r\nhello\r\n3;chunk-signature=def\r\n!!!\r\n0;chunk-signature=0\r\n\r\n",
			"hello!!!", "",
		},
		{"unsigned with a trailing checksum", "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n", "hello", ""},
		{"empty", "0\r\n\r\n", "", ""},
		{"line breaks inside a chunk", "4\r\na\r\nb\r\n0\r\n\r\n", "a\r\nb", ""},
		{"cut short", "5\r\nhel", "", "cut short"},
		{"without an end", "5\r\nhello\r\n", "", "ends before its last chunk"},
		{"size that is no number", "xyz\r\nhello\r\n", "", "hexadecimal"},
		{"huge size", "7fffffff\r\nhello\r\n0\r\n\r\n", "", "longer than the whole body"},
		{"chunk longer than its size", "2\r\nhello\r\n0\r\n\r\n", "", "line break"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := decodeChunked([]byte(test.raw))
			if test.problem == "" {
				if err != nil || string(got) != test.want {
					t.Errorf("got %q, %v, want %q", got, err, test.want)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("got %q, %v, want an error with %q", got, err, test.problem)
			}
		})
	}
}

func TestReadBodyIsBounded(t *testing.T) {
	tooLong := io.MultiReader(bytes.NewReader(make([]byte, maxBody)), strings.NewReader("x"))
	_, _, err := readBody(httptest.NewRequest(http.MethodPost, "/", tooLong), "sqs")
	if err == nil || !strings.Contains(err.Error(), "RequestEntityTooLarge") {
		t.Errorf("got %v, want RequestEntityTooLarge", err)
	}
}

func FuzzDecodeChunked(f *testing.F) {
	f.Add([]byte("5;chunk-signature=abc\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte("-1\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if body, err := decodeChunked(raw); err == nil && len(body) > len(raw) {
			t.Errorf("%d bytes came out of %d", len(body), len(raw))
		}
	})
}
