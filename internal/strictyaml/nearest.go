package strictyaml

// Nearest finds the candidate with the smallest edit distance to name, for
// "did you mean": at most a third of the longer one's letters may differ. Among
// equals the first in alphabetical order wins. package policy uses it for the
// names of tables and columns too.
func Nearest(name string, candidates []string) (string, bool) {
	best, bestDist := "", -1
	for _, c := range candidates {
		limit := max(len(name), len(c), 3) / 3
		if bestDist >= 0 {
			limit = min(limit, bestDist)
		}
		d := distance(name, c, limit)
		if d <= limit && (bestDist < 0 || d < bestDist || c < best) {
			best, bestDist = c, d
		}
	}
	return best, bestDist >= 0
}

// distance is the number of bytes to insert, delete, replace or swap with their
// neighbour to make b of a. It stops early, with some number above limit, when
// there is no way to stay within it.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
			least = min(least, cur[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
