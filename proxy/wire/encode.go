package wire

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Report is an error or notice in the server's form.
type Report struct {
	Severity string // ERROR, FATAL, WARNING, NOTICE
	SQLSTATE string
	Message  string
	Detail   string
	Hint     string
	Position int // in characters from 1; 0: none
}

// AppendReport appends r as an ErrorResponse, or as a NoticeResponse where its
// severity is below ERROR.
func AppendReport(dst []byte, r Report) []byte {
	kind := byte(NoticeResponse)
	if r.Severity == "ERROR" || r.Severity == "FATAL" {
		kind = ErrorResponse
	}
	dst, at := open(dst, kind)
	dst = appendField(dst, 'S', r.Severity)
	dst = appendField(dst, 'V', r.Severity)
	dst = appendField(dst, 'C', r.SQLSTATE)
	dst = appendField(dst, 'M', r.Message)
	if r.Detail != "" {
		dst = appendField(dst, 'D', r.Detail)
	}
	if r.Hint != "" {
		dst = appendField(dst, 'H', r.Hint)
	}
	if r.Position > 0 {
		dst = appendField(dst, 'P', strconv.Itoa(r.Position))
	}
	return shut(append(dst, 0), at)
}

// AppendParse appends a Parse without parameter types of its own, but with
// types as they were sent.
func AppendParse(dst []byte, name, text string, types []byte) []byte {
	dst, at := open(dst, Parse)
	dst = appendString(dst, name)
	dst = appendString(dst, text)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(types)/4))
	return shut(append(dst, types...), at)
}

// AppendQuery appends a Query.
func AppendQuery(dst []byte, text string) []byte {
	dst, at := open(dst, Query)
	return shut(appendString(dst, text), at)
}

// AppendBind appends a Bind without parameters and with results in text.
func AppendBind(dst []byte, portal, statement string) []byte {
	dst, at := open(dst, Bind)
	dst = appendString(dst, portal)
	dst = appendString(dst, statement)
	return shut(append(dst, 0, 0, 0, 0, 0, 0), at)
}

// AppendTarget appends a Describe or Close; what is 'S' or 'P'.
func AppendTarget(dst []byte, kind, what byte, name string) []byte {
	dst, at := open(dst, kind)
	return shut(appendString(append(dst, what), name), at)
}

// AppendExecute appends an Execute.
func AppendExecute(dst []byte, portal string, max uint32) []byte {
	dst, at := open(dst, Execute)
	dst = appendString(dst, portal)
	return shut(binary.BigEndian.AppendUint32(dst, max), at)
}

// AppendEmpty appends a message without a body: Sync, Flush, Terminate.
func AppendEmpty(dst []byte, kind byte) []byte { return append(dst, kind, 0, 0, 0, 4) }

// AppendComplete appends a CommandComplete.
func AppendComplete(dst []byte, tag string) []byte {
	dst, at := open(dst, CommandComplete)
	return shut(appendString(dst, tag), at)
}

// AppendSetting appends a ParameterStatus.
func AppendSetting(dst []byte, name, value string) []byte {
	dst, at := open(dst, ParameterStatus)
	return shut(appendString(appendString(dst, name), value), at)
}

// AppendReady appends a ReadyForQuery.
func AppendReady(dst []byte, status byte) []byte {
	return append(dst, ReadyForQuery, 0, 0, 0, 5, status)
}

// AppendMoved appends an ErrorResponse or NoticeResponse body as a message,
// with its position field passed through move.
func AppendMoved(dst []byte, kind byte, body []byte, move func(int) int) []byte {
	dst, at := open(dst, kind)
	c := read(body)
	for {
		k := c.byte()
		if !c.ok || k == 0 {
			break
		}
		v := c.string()
		if k == 'P' {
			if n, err := strconv.Atoi(string(v)); err == nil {
				dst = appendField(dst, 'P', strconv.Itoa(move(n)))
				continue
			}
		}
		dst = append(append(append(dst, k), v...), 0)
	}
	return shut(append(dst, 0), at)
}

// open starts a message; shut writes its length.
func open(dst []byte, kind byte) ([]byte, int) {
	return append(dst, kind, 0, 0, 0, 0), len(dst) + 1
}

func shut(dst []byte, at int) []byte {
	binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at))
	return dst
}

func appendField(dst []byte, code byte, value string) []byte {
	return appendString(append(dst, code), value)
}

// appendString appends a string of the protocol. It can hold no zero byte, and
// text that leaves the proxy is valid UTF-8.
func appendString(dst []byte, s string) []byte {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return append(append(dst, s...), 0)
	}
	clean := bytes.ReplaceAll(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")), []byte{0}, nil)
	return append(append(dst, clean...), 0)
}
