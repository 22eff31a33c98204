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

// isInstanceID reports whether a text is i- and then digits and small letters.
func isInstanceID(id string) bool {
	rest, ok := strings.CutPrefix(id, instancePrefix)
	return ok && rest != "" && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// instanceARN is the name of an instance in resources, in the form of its documents.
func instanceARN(account, region, id string) string {
	return "arn:aws:ec2:" + region + ":" + account + ":instance/" + id
}
