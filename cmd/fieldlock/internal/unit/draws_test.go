package unit

import "testing"

// TestDrawsIn: templates that print something else each time are found; values are templates, too, where a chart calls
// tpl.
func TestDrawsIn(t *testing.T) {
	for text, want := range map[string]bool{
		"a: {{ randAlphaNum 5 | quote }}":              true,
		"a: {{- $ca := genCA \"a\" 365 -}}":            true,
		"a: {{ now | date \"2006\" }}":                 true,
		"a: {{ (include \"x\" .) | default (uuidv4)}}": true,
		"{{ range keys .Values.a }}{{ . }}{{ end }}":   true,
		"{{ $x | values | first }}":                    true,
		"{{- if .a }}\n{{htpasswd .u .p}}{{ end }}":    true,
		"a: {{ .Values.now }}":                         false,
		"# now: {{ .Values.a }} keys":                  false,
		"a: {{ .Values.keys }}":                        false,
		"now values keys":                              false,
		"":                                             false,
	} {
		if got := drawsIn([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
