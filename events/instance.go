package events

import (
	"strings"
)

const instancePrefix = "i-"

// instanceID checks the id of an instance.
func instanceID(field, id string) (string, error) {
	switch {
	case id == "":
		return "", missing(field, "the id of an instance")
	case !isInstanceID(id):
		return "", wrong(field, id, "the id of an instance, which begins with i-")
	}
	return id, nil
}

// isInstanceID reports whether a text is i- followed by digits and small letters.
func isInstanceID(id string) bool {
	rest, ok := strings.CutPrefix(id, instancePrefix)
	return ok && rest != "" && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// instanceARN returns the ARN of an instance in the documented form of resources.
func instanceARN(account, region, id string) string {
	return "arn:aws:ec2:" + region + ":" + account + ":instance/" + id
}
