package witness

import (
	"regexp"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
)

// texts returns about limit strings for s, the simplest first, that keep its format, pattern and lengths where that is
// possible.
func texts(s *spec.Schema, limit int) []string {
	least, most := 0, longest
	if s.MinLength != nil {
		least = int(min(*s.MinLength, longest))
	}
	if s.MaxLength != nil {
		most = int(min(*s.MaxLength, longest))
	}
	var found []string
	seen := map[string]bool{}
	add := func(text string) {
		if n := len([]rune(text)); n >= least && n <= most && !seen[text] {
			seen[text] = true
			found = append(found, text)
		}
	}
	if s.Pattern != "" {
		for _, text := range matching(s.Pattern, least, limit) {
			add(text)
		}
	}
	for _, text := range formatted[s.Format] {
		add(text)
	}
	if s.Pattern == "" && (s.Format == "" || formatted[s.Format] == nil) {
		for _, text := range []string{"a", "b", "c"} {
			if pad := least - len(text); pad > 0 {
				text += strings.Repeat(text, pad)
			}
			add(text)
		}
		if least == 0 {
			add("")
		}
	}
	if s.Pattern == "" || len(found) >= limit {
		return found
	}
	// A pattern together with a format, or one of which no string of the right length was written: a usual form may fit.
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return found
	}
	for _, text := range usual {
		if pattern.MatchString(text) {
			add(text)
		}
	}
	return found
}

// formatted has strings for the formats that the API server checks.
var formatted = map[string][]string{
	"date-time":    {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
	"datetime":     {"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
	"date":         {"2024-01-01", "2025-01-01"},
	"duration":     {"1s", "2s", "1h"},
	"byte":         {"YQ==", "Yg=="},
	"uri":          {"https://a.example", "https://b.example"},
	"uuid":         {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"uuid3":        {"00000000-0000-3000-8000-000000000000", "00000000-0000-3000-8000-000000000001"},
	"uuid4":        {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"uuid5":        {"00000000-0000-5000-8000-000000000000", "00000000-0000-5000-8000-000000000001"},
	"ipv4":         {"10.0.0.1", "10.0.0.2"},
	"ipv6":         {"2001:db8::1", "2001:db8::2"},
	"cidr":         {"10.0.0.0/8", "10.0.0.0/16"},
	"mac":          {"00:00:5e:00:53:01", "00:00:5e:00:53:02"},
	"email":        {"a@example.com", "b@example.com"},
	"hostname":     {"a.example", "b.example"},
	"bsonobjectid": {"507f1f77bcf86cd799439011", "507f1f77bcf86cd799439012"},
	"isbn":         {"9780306406157", "0306406152"},
	"isbn10":       {"0306406152", "0198526636"},
	"isbn13":       {"9780306406157", "9780198526636"},
	"creditcard":   {"4111111111111111", "5555555555554444"},
	"ssn":          {"111-11-1111", "222-22-2222"},
	"hexcolor":     {"#000000", "#ffffff"},
	"rgbcolor":     {"rgb(0,0,0)", "rgb(1,1,1)"},

	"k8s-short-name":                    {"a", "b"},
	"k8s-long-name":                     {"a.example", "b.example"},
	"k8s-label-value":                   {"a", "b"},
	"k8s-uuid":                          {"00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"},
	"k8s-resource-fully-qualified-name": {"a.example/a", "b.example/b"},
}

// usual are strings of the forms that rules most often ask for.
var usual = []string{
	"1", "0", "1Gi", "2Gi", "100m", "1s", "10m", "1h", "v1", "1.0.0", "v1.0.0", "v1.30.0", "a/b", "*", "Always", "example.com", "a.example.com", "https://a.example", "http://a.example",
	"oci://a.example/b", "10.0.0.1", "10.0.0.0/8", "192.168.0.0/16", "2001:db8::1", "2001:db8::/32", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z",
	"arn:aws:iam::123456789012:role/a", "ami-0123456789abcdef0", "00000000-0000-4000-8000-000000000000", "aGVsbG8=", "a@example.com", "example.com/a", "50%",
}
