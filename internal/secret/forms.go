package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// minPart is how long a part of a value (a line of it, the middle of its
// base64 text) has to be to stand for the value.
const minPart = 8

// forms are the ways in which value may turn up in text: as it is, and as the
// encodings write it that messages, URLs, statements and headers use. Forms
// shorter than MinLength are not among them.
func forms(value string) []string {
	if len(value) < MinLength {
		return nil
	}
	list := []string{value}
	list = append(list, escaped(value)...)
	list = append(list, encoded(value)...)
	return append(list, lines(value)...)
}

// escaped are the forms that differ from value only where it has special
// characters.
func escaped(value string) []string {
	query, path := url.QueryEscape(value), url.PathEscape(value)
	list := []string{
		query, lowerPercent(query),
		path, lowerPercent(path),
		userinfo(value), lowerPercent(userinfo(value)),
		strings.ReplaceAll(value, `'`, `''`),                     // SQL literal
		strings.ReplaceAll(value, `"`, `""`),                     // SQL identifier
		strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value), // connection string, E''
		strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value), // E'' with doubled quotes
	}
	goQuoted := strconv.Quote(value)
	list = append(list, goQuoted[1:len(goQuoted)-1])
	// Marshal can't fail on a string.
	if quoted, err := json.Marshal(value); err == nil {
		html := string(quoted[1 : len(quoted)-1])
		list = append(list, html, strings.NewReplacer(`\u003c`, `<`, `\u003e`, `>`, `\u0026`, `&`).Replace(html))
	}
	return list
}

// userinfo is value as the password of a URL.
func userinfo(value string) string {
	_, password, _ := strings.Cut(url.UserPassword("", value).String(), ":")
	return password
}

// lowerPercent writes the digits of percent escapes in lower case.
func lowerPercent(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}

// encoded are base64 and hexadecimal forms. A value inside of a longer encoded
// text ("user:password" in a Basic header) begins at one of three positions of
// a base64 group; what doesn't depend on its neighbours is a form of its own.
func encoded(value string) []string {
	lower := hex.EncodeToString([]byte(value))
	list := []string{lower, strings.ToUpper(lower)}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		list = append(list, enc.EncodeToString([]byte(value)))
		for before := range 3 {
			text := enc.EncodeToString([]byte("\x00\x00"[:before] + value))
			start := []int{0, 2, 3}[before]               // characters that share bits with what comes before
			end := (before + len(value)) * 8 / 6          // whole characters only
			if end-start >= minPart && end <= len(text) { // fewer would be any word
				list = append(list, text[start:end])
			}
		}
	}
	return list
}

// lines are the lines of a value that has several (a key in PEM), since logs
// are written and searched by line. Its BEGIN and END lines are no secret.
func lines(value string) []string {
	if !strings.Contains(value, "\n") {
		return nil
	}
	var list []string
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if len(line) >= minPart && !strings.HasPrefix(line, "-----") {
			list = append(list, line)
		}
	}
	return list
}
