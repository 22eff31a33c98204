package catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/function"
)

func TestReadSettings(t *testing.T) {
	for _, test := range []struct {
		enis, overhead string
		want           catalog.Settings
		wantError      string
	}{
		{"", "", catalog.Settings{}, ""},
		{"1", "0.05", catalog.Settings{ReservedENIs: 1, VMMemoryOverheadPercent: aws.Float64(0.05)}, ""},
		{"0", "0", catalog.Settings{VMMemoryOverheadPercent: aws.Float64(0)}, ""},
		{"one", "", catalog.Settings{}, `RESERVED_ENIS is "one"`},
		{"-1", "", catalog.Settings{}, `RESERVED_ENIS is "-1"`},
		{"", "7.5", catalog.Settings{}, `VM_MEMORY_OVERHEAD_PERCENT is "7.5": write a fraction`},
		{"", "NaN", catalog.Settings{}, `VM_MEMORY_OVERHEAD_PERCENT is "NaN"`},
	} {
		settings := function.SettingsFrom(func(name string) string {
			return map[string]string{"RESERVED_ENIS": test.enis, "VM_MEMORY_OVERHEAD_PERCENT": test.overhead}[name]
		})
		got, err := readSettings(settings), settings.Err()
		if test.wantError != "" {
			if err == nil || !strings.Contains(err.Error(), test.wantError) {
				t.Errorf("error is %v, want %q", err, test.wantError)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%+v, %v, want %+v", got, err, test.want)
		}
	}
}
