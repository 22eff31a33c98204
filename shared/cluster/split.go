package cluster

import "bytes"

// split cuts the items out of a list in JSON: rest is the list with no items. ok is false for what is no
// such list. split does not check the JSON of an item, and of the rest only its outline.
func split(body []byte) (rest []byte, items [][]byte, ok bool) {
	at := blank(body, 0)
	if at == len(body) || body[at] != '{' {
		return nil, nil, false
	}
	for at++; ; at++ {
		name := blank(body, at)
		colon := blank(body, value(body, name))
		if colon >= len(body) || body[colon] != ':' {
			return nil, nil, false
		}
		begins := blank(body, colon+1)
		if string(bytes.TrimSpace(body[name:colon])) == `"items"` {
			var ends int
			if items, ends = elements(body, begins); ends == len(body) {
				return nil, nil, false
			}
			return append(append(append(rest, body[:begins]...), "[]"...), body[ends:]...), items, true
		}
		if at = blank(body, value(body, begins)); at == len(body) || body[at] != ',' {
			return nil, nil, false
		}
	}
}

// elements are the values of the array that begins there, and where it ends; that is the end of the body
// for what is no array.
func elements(body []byte, at int) (values [][]byte, ends int) {
	if at == len(body) || body[at] != '[' {
		return nil, len(body)
	}
	if at = blank(body, at+1); at < len(body) && body[at] == ']' {
		return nil, at + 1
	}
	for {
		begins := blank(body, at)
		ends = value(body, begins)
		values = append(values, body[begins:ends])
		if at = blank(body, ends); at == len(body) {
			return nil, at
		}
		switch body[at] {
		case ',':
			at++
		case ']':
			return values, at + 1
		default:
			return nil, len(body)
		}
	}
}

// blank is where the white space that begins there ends.
func blank(body []byte, at int) int {
	for at < len(body) && (body[at] == ' ' || body[at] == '\n' || body[at] == '\t' || body[at] == '\r') {
		at++
	}
	return at
}

// value is where the value that begins there ends, or the end of the body.
func value(body []byte, at int) int {
	for depth := 0; at < len(body); at++ {
		switch body[at] {
		case '"':
			if at = text(body, at); depth == 0 {
				return min(at+1, len(body))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // of what the value is in
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return min(at, len(body)) // a string may not have ended
}

// text is where the last quotation mark of the string that begins there is, or the end of the body.
func text(body []byte, at int) int {
	for at++; at < len(body); at++ {
		switch body[at] {
		case '\\':
			at++
		case '"':
			return at
		}
	}
	return len(body)
}
