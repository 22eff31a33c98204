package wire

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestReadBodyIsBounded(t *testing.T) {
	tooLong := io.MultiReader(bytes.NewReader(make([]byte, maxBody)), strings.NewReader("x"))
	_, err := readBody(httptest.NewRequest(http.MethodPost, "/", tooLong), "sqs")
	if err == nil || !strings.Contains(err.Error(), "RequestEntityTooLarge") {
		t.Errorf("got %v, want RequestEntityTooLarge", err)
	}
}
