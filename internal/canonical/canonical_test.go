package canonical

import "testing"

func TestQuantity(t *testing.T) {
	for _, row := range []struct{ a, b any }{
		{"1Gi", "1024Mi"}, {"1.50", "1500m"}, {"0", "0.0"}, {"100", "100.0"}, {int64(2), "2"}, {1.5, "1500m"}, {"1k", "1000"},
	} {
		if Quantity(row.a) != Quantity(row.b) {
			t.Errorf("%v is %v, %v is %v: want one form", row.a, Quantity(row.a), row.b, Quantity(row.b))
		}
	}
	if Quantity("1Gi") == Quantity("1G") || Quantity("10") == Quantity("1") {
		t.Error("different quantities have one form")
	}
	for _, v := range []any{"many", "", true, nil} {
		if got := Quantity(v); got != v {
			t.Errorf("%v became %v", v, got)
		}
	}
}
