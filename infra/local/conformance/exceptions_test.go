//go:build conformance

package conformance

import "strings"

// notHere are elements that moto answers and the local AWS does not, by action and path or the beginning of it, with the reason.
func notHere() map[string]string {
	return map[string]string{}
}

// reasonFor is why an element may be missing; empty if it may not.
func reasonFor(path string) string {
	for beginning, reason := range notHere() {
		if path == beginning || strings.HasPrefix(path, beginning+"/") {
			return reason
		}
	}
	return ""
}

// otherCodes are calls that moto refuses with a code that EC2 does not use, or not at all.
func otherCodes() map[string]string { return map[string]string{} }

// otherWords are elements whose words the model does not have and EC2 uses.
func otherWords() map[string]string { return map[string]string{} }

// motoFails are calls that moto does not hold.
func motoFails() map[string]string { return map[string]string{} }
