package profile

import (
	"context"
	"testing"
)

func BenchmarkRecordNoTake(b *testing.B) {
	b.ReportAllocs()
	e := Event{Kind: KindWork, Device: "gpu", Lane: "COMPUTE:0", Name: "k"}
	for b.Loop() {
		Record(e)
	}
}

func BenchmarkSpanNoTake(b *testing.B) {
	b.ReportAllocs()
	ctx := context.Background()
	f := func(context.Context) error { return nil }
	for b.Loop() {
		_ = Span(ctx, "s", f)
	}
}

func BenchmarkRecordInTake(b *testing.B) {
	b.ReportAllocs()
	_, _ = Take(context.Background(), func(context.Context) error {
		e := Event{Kind: KindWork, Device: "gpu", Lane: "COMPUTE:0", Name: "k"}
		for b.Loop() {
			Record(e)
		}
		return nil
	})
}

func BenchmarkSpanInTake(b *testing.B) {
	b.ReportAllocs()
	_, _ = Take(context.Background(), func(ctx context.Context) error {
		f := func(context.Context) error { return nil }
		for b.Loop() {
			_ = Span(ctx, "s", f)
		}
		return nil
	})
}
