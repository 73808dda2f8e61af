package pgcatalog

import (
	"slices"
	"strings"
)

// searchPath turns the setting search_path into what current_schemas(false) of
// a session says: "$user" replaced, schemas that are missing or not usable left
// out, each once.
func searchPath(setting, role string, usable []string) []string {
	var path []string
	for _, name := range identifiers(setting) {
		if name == "$user" {
			name = role
		}
		if _, found := slices.BinarySearch(usable, name); found && !slices.Contains(path, name) {
			path = append(path, name)
		}
	}
	return path
}

// identifiers splits a comma-separated list of identifiers as the server does:
// quoted ones keep their case and have "" for ", others are folded to lower case.
func identifiers(list string) []string {
	var names []string
	for rest := strings.TrimSpace(list); rest != ""; {
		var name strings.Builder
		if rest[0] == '"' {
			rest = rest[1:]
			for {
				part, after, _ := strings.Cut(rest, `"`)
				name.WriteString(part)
				rest = after
				if !strings.HasPrefix(rest, `"`) {
					break
				}
				name.WriteByte('"')
				rest = rest[1:]
			}
			_, rest, _ = strings.Cut(rest, ",")
		} else {
			var part string
			part, rest, _ = strings.Cut(rest, ",")
			name.WriteString(strings.Map(lower, strings.TrimSpace(part)))
		}
		names = append(names, name.String())
		rest = strings.TrimSpace(rest)
	}
	return names
}

// lower folds A to Z only, as the server does in UTF-8.
func lower(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + 'a' - 'A'
	}
	return r
}
