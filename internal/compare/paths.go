package compare

// comparePaths orders paths by their text, with numbers by their value: nodes[2] is before nodes[10].
func comparePaths(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			if na != nb {
				return na - nb
			}
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits is how many digits text starts with.
func digits(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}
