package function

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type greeting struct {
	Name string `json:"name"`
}

func TestOneEventFromAFile(t *testing.T) {
	refused := errors.New("refused")
	handler := func(_ context.Context, in greeting) (string, error) {
		if in.Name == "" {
			return "", refused
		}
		return "hello " + in.Name, nil
	}
	for _, test := range []struct {
		name, content, want string
		is                  error
	}{
		{"handled", `{"name": "world"}`, "", nil},
		{"refused by the handler", `{}`, "", refused},
		{"not JSON", `name: world`, "is not the JSON that this function takes", nil},
		{"of another shape", `{"name": {"first": "w"}}`, "is not the JSON that this function takes", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "event.json")
			if err := os.WriteFile(file, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			answer := captured(t, func() {
				err := once(handler, file)
				switch {
				case test.is != nil && !errors.Is(err, test.is),
					test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)),
					test.is == nil && test.want == "" && err != nil:
					t.Errorf("error is %v", err)
				}
			})
			if test.name == "handled" && answer != "\"hello world\"\n" {
				t.Errorf("printed %q", answer)
			}
		})
	}
	if err := once(handler, filepath.Join(t.TempDir(), "nothing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// captured returns what is printed meanwhile.
func captured(t *testing.T, print func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	before := os.Stdout
	os.Stdout = file
	defer func() { os.Stdout = before }()
	print()
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
