package pgcatalog

// SplitPath splits the setting search_path into its schemas, in order, with
// "$user" replaced by role. Whether they exist is left open: the server skips
// those that don't or that the role may not use.
func SplitPath(setting, role string) []string {
	names := identifiers(setting)
	for i, name := range names {
		if name == "$user" {
			names[i] = role
		}
	}
	return names
}
