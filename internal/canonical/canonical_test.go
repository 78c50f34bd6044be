package canonical

import "testing"

func TestQuantity(t *testing.T) {
	for _, row := range []struct{ a, b any }{
		{"1Gi", "1024Mi"}, {"1.50", "1500m"}, {"0", "0.0"}, {"100", "100.0"}, {int64(2), "2"}, {1.5, "1500m"}, {"1k", "1000"}, {"1e+003", "1k"}, {"1e0000003", "1k"}, {"1e-999", "1n"}, {"1E", "1e18"},
	} {
		if Quantity(row.a) != Quantity(row.b) {
			t.Errorf("%v is %v, %v is %v: want one form", row.a, Quantity(row.a), row.b, Quantity(row.b))
		}
	}
	if Quantity("1Gi") == Quantity("1G") || Quantity("10") == Quantity("1") {
		t.Error("different quantities have one form")
	}
	// The last five are texts of amounts that would have a billion digits.
	for _, v := range []any{"many", "", true, nil, "1e999999999", "1E-999999999", "0.1e+00999999999", "-1e1000", "1e9999999999999999999"} {
		if got := Quantity(v); got != v {
			t.Errorf("%v became %v", v, got)
		}
	}
}

// TestVast: only whole amounts count, since a commit's hash may look like the end of one.
func TestVast(t *testing.T) {
	for text, want := range map[string]bool{
		"1e999999999": true, "-0.5E-9999999": true, "1e+0009999999": true,
		"1e999999": false, "1e0000000003": false, "x1e999999999": false, "1e999999999 ": false, "": false, "12e4567": false,
	} {
		object := map[string]any{"a": "b", "l": []any{int64(1), map[string]any{"c": text}}}
		if got := Vast(object) == text && text != ""; got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
