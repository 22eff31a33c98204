// Package nearest finds the word that somebody may have meant, for messages about commands, flags
// and kinds.
package nearest

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

// Distance returns the number of bytes to add, remove or replace between two words.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
