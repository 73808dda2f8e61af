package proxy

import (
	"maps"
	"slices"
)

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
