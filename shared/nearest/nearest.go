// Package nearest finds the word that somebody may have meant, for messages about commands, flags
// and kinds.
package nearest

import "strings"

// To returns the word that is nearest to what was given; empty if none is near. At most a third of
// the letters, or one, may be wrong. Of several words the first counts.
func To(given string, words []string) string {
	best, least := "", max(1, len(given)/3)+1
	for _, word := range words {
		if d := Distance(given, word); d < least && d < len(given) {
			best, least = word, d
		}
	}
	return best
}

// Fold is To without regard to upper and lower case.
func Fold(given string, words []string) string {
	lower := make([]string, len(words))
	for i, word := range words {
		if lower[i] = strings.ToLower(word); strings.EqualFold(word, given) {
			return word
		}
	}
	best := To(strings.ToLower(given), lower)
	for i, word := range lower {
		if best != "" && word == best {
			return words[i]
		}
	}
	return ""
}

// Distance returns the number of bytes to add, remove or replace between two words. Two neighbours that
// change places count once.
func Distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
