package policy

// redLine is a red line in words: what Facts.RedLine names.
type redLine struct{ why, hint string }

// redLines are the ones that package statement draws.
var redLines = map[string]redLine{
	"copy-file":                 {"it reads or writes files of the server", "Use COPY … TO STDOUT, or SELECT."},
	"copy-program":              {"it runs a program on the server", "Use COPY … TO STDOUT, or SELECT."},
	"set-role":                  {"it changes who the session is", "SET ROLE NONE and RESET ROLE are open."},
	"set-session-authorization": {"it changes who the session is", "SET SESSION AUTHORIZATION DEFAULT is open."},
	"alter-system":              {"it changes the server's configuration for everybody", ""},
	"load":                      {"it loads code into the server", ""},
	"role":                      {"roles are the floor under every policy", ""},
	"parameter":                 {"rights on configuration parameters are rights on the server", ""},
	"database":                  {"databases are not made or changed through the airlock", ""},
	"tablespace":                {"tablespaces are files of the server", ""},
	"extension":                 {"extensions bring code into the server", ""},
	"language":                  {"languages bring code into the server", ""},
	"event-trigger":             {"event triggers run code in everybody's statements", ""},
	"publication":               {"publications send changes to other servers", ""},
	"subscription":              {"subscriptions connect to other servers", ""},
	"foreign-data":              {"foreign servers are connections to elsewhere", ""},
}

// redLine judges what no policy can allow.
func (d *decider) redLine() {
	if d.facts.RedLine == "" {
		return
	}
	line, known := redLines[d.facts.RedLine]
	if !known {
		line.why = d.facts.RedLine
	}
	d.refuse(&refusal{rule: "red-line", state: stateDenied, hard: true, pos: -1,
		message: d.tag() + " is never open: " + line.why, hint: line.hint})
}
