package lambda

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maximumLoop is the number of invocations of one function in one chain of events after which
// Lambda stops it: about 16. https://docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
const maximumLoop = 16

// The Lineage field of the tracing header carries the chain. The runtime hands it to the function,
// and AWS's SDKs send it on with each call. Here its entries are FUNCTION:COUNT separated by |,
// FUNCTION being a digest of the ARN. AWS does not document a batch whose messages come from
// several chains; here the longest chain counts for all calls of the invocation.

// lineageCount is the function's count in the chain of a tracing header.
func lineageCount(header, functionARN string) int { return lineage(header)[digest(functionARN)] }

// loops reports whether Lambda stops the chain of a tracing header before this function.
func (f *function) loops(header string) bool {
	return !f.settings().AllowsLoops && lineageCount(header, f.arn) >= maximumLoop
}

// traceHeader continues the chains of the headers that caused an invocation: the longest count of
// each function, and one more for this function.
func traceHeader(functionARN string, causes ...string) string {
	counts := map[string]int{}
	for _, cause := range causes {
		for function, count := range lineage(cause) {
			counts[function] = max(counts[function], count)
		}
	}
	counts[digest(functionARN)]++
	var entries []string
	for function, count := range counts {
		entries = append(entries, fmt.Sprintf("%s:%d", function, count))
	}
	root := randomHex(12)
	return fmt.Sprintf("Root=1-%s-%s;Parent=%s;Sampled=0;Lineage=%s", randomHex(4), root, randomHex(8),
		strings.Join(entries, "|"))
}

func lineage(header string) map[string]int {
	counts := map[string]int{}
	// SDKs percent-encode the header that they send on.
	if decoded, err := url.PathUnescape(header); err == nil {
		header = decoded
	}
	for field := range strings.SplitSeq(header, ";") {
		entries, ok := strings.CutPrefix(strings.TrimSpace(field), "Lineage=")
		if !ok {
			continue
		}
		for entry := range strings.SplitSeq(entries, "|") {
			function, text, _ := strings.Cut(entry, ":")
			if count, err := strconv.Atoi(text); err == nil && count > 0 {
				counts[function] = count
			}
		}
	}
	return counts
}

func digest(arn string) string {
	sum := sha256.Sum256([]byte(arn))
	return hex.EncodeToString(sum[:4])
}
