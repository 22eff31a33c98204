package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

func queryCall(t *testing.T, form string) *Call {
	t.Helper()
	values, err := url.ParseQuery(form)
	if err != nil {
		t.Fatal(err)
	}
	return &Call{Service: "ec2", Action: "Test", Form: values, HTTP: httptest.NewRequest(http.MethodPost, "/", nil)}
}

type filter struct {
	Name  string
	Value []string
}

type everything struct {
	Name     string
	Renamed  string `query:"Other"`
	Ignored  string `query:"-"`
	Flag     bool
	Optional *bool
	Count    int32
	Small    uint8
	Price    float64
	At       time.Time
	Data     []byte
	Filter   []filter
	Members  []string
	Nested   struct {
		Inner struct{ Deep []int }
	}
}

func TestDecodeQuery(t *testing.T) {
	yes := true
	tests := []struct {
		name, form string
		want       everything
	}{
		{"nothing", "", everything{}},
		{
			"scalars", "Name=a&Other=b&Ignored=c&Flag=true&Count=-7&Small=255&Price=0.25",
			everything{Name: "a", Renamed: "b", Flag: true, Count: -7, Small: 255, Price: 0.25},
		},
		{"pointer", "Optional=True", everything{Optional: &yes}},
		{"time in ISO 8601", "At=2026-11-21T10:00:00Z", everything{At: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}},
		{"time without a zone", "At=2026-11-21T10:00:00.5", everything{At: time.Date(2026, 11, 21, 10, 0, 0, 5e8, time.UTC)}},
		{"time in seconds", "At=0", everything{At: time.Unix(0, 0).UTC()}},
		{"base64", "Data=aGk%3D", everything{Data: []byte("hi")}},
		{
			"EC2 list of structures", "Filter.1.Name=x&Filter.1.Value.1=1&Filter.1.Value.2=2&Filter.2.Name=y",
			everything{Filter: []filter{{"x", []string{"1", "2"}}, {Name: "y"}}},
		},
		{
			"list in the order of its numbers, with gaps", "Members.10=c&Members.2=b&Members.1=a",
			everything{Members: []string{"a", "b", "c"}},
		},
		{"member list", "Members.member.1=a&Members.member.2=b", everything{Members: []string{"a", "b"}}},
		{"empty list", "Members=", everything{Members: []string{}}},
		{"unknown parameters are left alone", "Version=2016-11-15&Action=Test&Name=a", everything{Name: "a"}},
	}
	nested := everything{}
	nested.Nested.Inner.Deep = []int{5}
	tests = append(tests, struct {
		name, form string
		want       everything
	}{"nested", "Nested.Inner.Deep.1=5", nested})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got everything
			if err := queryCall(t, test.form).DecodeQuery(&got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestDecodeQueryNamesTheFault(t *testing.T) {
	for form, want := range map[string]string{
		"Flag=maybe":                    `"maybe" of parameter Flag is invalid: it takes true or false`,
		"Count=99999999999":             "parameter Count is invalid: it takes a whole number",
		"Small=-1":                      "of at least 0",
		"Price=x":                       "a number",
		"At=yesterday":                  "parameter At is invalid: it takes a time",
		"Data=%25":                      "base64",
		"Name.1=x":                      "parameter Name takes one value",
		"Filter.1.Name.x=1":             "parameter Filter.1.Name takes one value",
		"Nested.Inner.Deep.3=x":         "parameter Nested.Inner.Deep.3",
		strings.Repeat("A.", 30) + "=1": "nested more than 24 deep",
	} {
		t.Run(form, func(t *testing.T) {
			err := queryCall(t, form).DecodeQuery(&everything{})
			var answer *Error
			if !errors.As(err, &answer) || answer.Code != "InvalidParameterValue" || !strings.Contains(answer.Message, want) {
				t.Errorf("got %v, want InvalidParameterValue with %q", err, want)
			}
		})
	}
	if err := queryCall(t, "").DecodeQuery(everything{}); err == nil {
		t.Error("a target that is no pointer was accepted")
	}
}

func TestDecodeQueryOfEmbeddedStructures(t *testing.T) {
	type common struct{ Name string }
	var got struct {
		common
		Count int
	}
	if err := queryCall(t, "Name=a&Count=2").DecodeQuery(&got); err != nil || got.Name != "a" || got.Count != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzDecodeQuery(f *testing.F) {
	for _, seed := range []string{
		"Filter.1.Name=x&Filter.1.Value.1=1", "A.....=1", "Filter.-1=2&Filter.99999999999999999999=3",
		"At=1e300", "Members.member.member.1=2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, form string) {
		values, err := url.ParseQuery(form)
		if err != nil {
			return
		}
		c := &Call{Service: "ec2", Action: "Test", Form: values, HTTP: httptest.NewRequest(http.MethodPost, "/", nil)}
		err = c.DecodeQuery(&everything{})
		var answer *Error
		if err != nil && !errors.As(err, &answer) {
			t.Errorf("parameters %q gave %v, which is no answer to the caller", form, err)
		}
	})
}
