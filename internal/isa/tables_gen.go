package isa

type layout struct {
	fields       [numField]place
	signedOffset bool
}

var (
	operandPool []Operand
	layouts     []layout
)
