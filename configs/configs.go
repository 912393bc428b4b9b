// Package configs embeds the data that the program carries: GPU models, counters and derived metrics. Each table's head
// says where its facts are from.
package configs

import _ "embed"

// GPUs is the table of GPU models.
//
//go:embed gpus.tsv
var GPUs string
