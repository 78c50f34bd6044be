package jsonscan

// Space returns the offset of the first byte of data from i on that is not white space, or len(data).
func Space(data []byte, i int) int { return afterSpace(data, i) }

// String decodes the string whose opening quote is data[i] and returns it with the offset after it. The offset is -1 if
// data has no well-formed string there.
func String(data []byte, i int) (s string, end int) {
	if end = stringEnd(data, i); end < 0 {
		return "", -1
	}
	return string(unquote(data[i:end])), end
}

// Scalar decodes the string, number, boolean or null at data[i] as util/json does, and returns it with the offset after
// it. The offset is -1 if data has none of these there.
func Scalar(data []byte, i int) (value any, end int) {
	if data[i] == '"' {
		return String(data, i)
	}
	if scalarEnd(data, i) < 0 {
		return nil, -1
	}
	return build(data, i)
}
