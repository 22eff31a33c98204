package wire

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// limit is what a service accepts as a text: a pattern, or a length in characters.
type limit struct {
	pattern     *regexp.Regexp
	least, most int
	code        string // of the refusal
}

func text(pattern, code string) limit { return limit{pattern: regexp.MustCompile(pattern), code: code} }

// limits are those of the texts in the calls of functions, by service and name of the field, as the services'
// models and documents have them. Services that refuse more do so themselves.
// https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateInstanceProfile.html
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatchRequestEntry.html
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEventsRequestEntry.html
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameters.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Tag.html
var limits = map[string]map[string]limit{
	"iam": {
		"InstanceProfileName": text(`^[\w+=,.@-]{1,128}$`, "ValidationError"),
		"RoleName":            text(`^[\w+=,.@-]{1,64}$`, "ValidationError"),
		"Path":                text(`^(/|/[!-~]+/)$`, "ValidationError"),
		"Key":                 text(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,128}$`, "ValidationError"),
		"Value":               text(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]{0,256}$`, "ValidationError"),
	},
	"ec2": {
		"Key": {least: 1, most: 128, code: "InvalidParameterValue"}, "LaunchTemplateName": {
			pattern: regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`), code: "InvalidLaunchTemplateName.MalformedException",
		},
	},
	"sqs": {
		"Id": text(`^[A-Za-z0-9_-]{1,80}$`, "AWS.SimpleQueueService.InvalidBatchEntryId"),
	},
	"events": {
		"EventBusName": text(`^(arn:aws[\w-]*:events:[a-z]+-[a-z]+-[\w-]+:[0-9]{12}:event-bus/)?[/.\-_A-Za-z0-9]{1,256}$`,
			"ValidationException"),
		"DetailType": {least: 1, most: 128, code: "ValidationException"},
	},
	"ssm": {
		"Names": {least: 1, most: 2048, code: "ValidationException"},
		"Name":  {least: 1, most: 2048, code: "ValidationException"},
	},
}

// checkTexts refuses a call with a text that its service does not accept.
func checkTexts(c *Call) error {
	known := limits[c.Service]
	if known == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c.Form)) {
		if of, ok := known[fieldName(key)]; ok {
			for _, value := range c.Form[key] {
				if err := of.check(key, value); err != nil {
					return err
				}
			}
		}
	}
	if len(c.Form) > 0 || len(c.Body) == 0 {
		return nil
	}
	var body any
	if json.Unmarshal(c.Body, &body) != nil {
		return nil // the handler says so
	}
	return checkJSON(known, "", body)
}

// fieldName is the name of a field of the query protocol, whose lists have numbers: Tags.member.1.Key.
func fieldName(key string) string {
	parts := strings.Split(key, ".")
	for _, part := range slices.Backward(parts) {
		if strings.Trim(part, "0123456789") != "" && part != "member" {
			return part
		}
	}
	return key
}

func checkJSON(known map[string]limit, field string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if err := checkJSON(known, key, value[key]); err != nil {
				return err
			}
		}
	case []any:
		for i := range value {
			if err := checkJSON(known, field, value[i]); err != nil {
				return err
			}
		}
	case string:
		if of, ok := known[field]; ok {
			return of.check(field, value)
		}
	}
	return nil
}

func (l limit) check(field, value string) error {
	length := utf8.RuneCountInString(value)
	if l.pattern != nil && l.pattern.MatchString(value) || l.pattern == nil && length >= l.least && length <= l.most {
		return nil
	}
	what := "failed to satisfy constraint: Member must have length from the least to the most"
	if l.pattern != nil {
		what = "failed to satisfy constraint: Member must satisfy regular expression pattern: " + l.pattern.String()
	}
	return Errorf(l.code, http.StatusBadRequest, "1 validation error detected: Value %q at '%s' %s", value, field, what)
}
